package interrupted

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	// Unasked is why Helm's records were not looked at; nil where they were. It
	// concerns none of what is known to have broken off.
	Unasked error
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
	helm, err := lookIntoHelm(ctx, pulumi)
	if err != nil {
		return mended, err
	}
	export, err := pulumi(ctx, "stack", "export")
	if err != nil {
		return mended, fmt.Errorf("reading the stack's state: %w\n%s", err, export)
	}
	edited, adopted, dropped, err := Adopt(export, helm.unasked)
	if err != nil {
		return mended, err
	}
	if !bytes.Equal(edited, export) || len(helm.records) > 0 {
		// It fails while somebody else is updating, whose records Helm's may be.
		if err := write(ctx, pulumi, edited); err != nil {
			return mended, err
		}
		mended.Dropped = dropped
	}
	if mended.Struck, err = helm.strikeOut(ctx); err != nil {
		return mended, err
	}
	if err := lookFor(ctx, pulumi, adopted, export); err != nil {
		return mended, err
	}
	mended.Adopted = adopted
	if len(helm.unasked) > 0 {
		return mended, fmt.Errorf("what Helm has done of %s could not be found out; all else is mended: %w", strings.Join(helm.unasked, ", "), helm.problem)
	}
	mended.Unasked = helm.problem
	return mended, nil
}

// lookFor refreshes what was adopted, which drops what is not there. If it cannot,
// it puts the former state back.
func lookFor(ctx context.Context, pulumi Pulumi, adopted []string, former []byte) error {
	if len(adopted) == 0 {
		return nil
	}
	args := []string{"refresh", "--yes", "--skip-preview"}
	for _, urn := range adopted {
		args = append(args, "--target", urn)
	}
	if out, err := pulumi(ctx, args...); err != nil {
		// What was not looked for must not stand there as if it had been found.
		return errors.Join(fmt.Errorf("looking for what the broken-off update created: %w\n%s", err, out),
			write(context.WithoutCancel(ctx), pulumi, former))
	}
	return nil
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
