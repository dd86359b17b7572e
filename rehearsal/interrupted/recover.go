package interrupted

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Pulumi runs a pulumi command on the stack and answers what it prints.
type Pulumi func(ctx context.Context, args ...string) ([]byte, error)

// Mended is what became of what broke off.
type Mended struct {
	// Adopted are the URNs of what may have been created, and was looked for.
	Adopted []string
	// Dropped are the URNs of what an update has to create again.
	Dropped []string
	// Struck are the records of Helm that no longer hold up its releases.
	Struck []string
}

// Recover cancels the update that the engine died in, adopts what it was about to
// create, and has Helm forget what it was about to do; nothing else may be using
// the stack.
func Recover(ctx context.Context, pulumi Pulumi) (mended Mended, err error) {
	// A backend may say that there is nothing to cancel. If there is, what follows fails.
	out, cancelErr := pulumi(ctx, "cancel", "--yes")
	if cancelErr != nil {
		cancelErr = fmt.Errorf("cancelling the update that was broken off: %w\n%s", cancelErr, out)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, cancelErr)
		}
	}()
	// Helm first: its releases are found among the operations that are struck out next.
	if mended.Struck, err = strikeOut(ctx, pulumi); err != nil {
		return mended, err
	}
	export, err := pulumi(ctx, "stack", "export")
	if err != nil {
		return mended, fmt.Errorf("reading the stack's state: %w\n%s", err, export)
	}
	edited, adopted, dropped, err := Adopt(export)
	if err != nil || bytes.Equal(edited, export) {
		return mended, err
	}
	if err := write(ctx, pulumi, edited); err != nil {
		return mended, err
	}
	mended.Dropped = dropped
	if len(adopted) == 0 {
		return mended, nil
	}
	args := []string{"refresh", "--yes", "--skip-preview"}
	for _, urn := range adopted {
		args = append(args, "--target", urn)
	}
	if out, err := pulumi(ctx, args...); err != nil {
		// What was not looked for must not stand there as if it had been found.
		return mended, errors.Join(fmt.Errorf("looking for what the broken-off update created: %w\n%s", err, out),
			write(context.WithoutCancel(ctx), pulumi, export))
	}
	mended.Adopted = adopted
	return mended, nil
}

// write puts the state in the place of the stack's.
func write(ctx context.Context, pulumi Pulumi, state []byte) error {
	folder, err := os.MkdirTemp("", "interrupted-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "state.json")
	if err := os.WriteFile(file, state, 0o600); err != nil {
		return err
	}
	if out, err := pulumi(ctx, "stack", "import", "--file", file); err != nil {
		return fmt.Errorf("writing the stack's state: %w\n%s", err, out)
	}
	return nil
}
