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

// Recover cancels the update that the engine died in and adopts what it was
// about to create; nothing else may be using the stack. It answers the URNs of
// what was there after all, and of what an update has to create again.
func Recover(ctx context.Context, pulumi Pulumi) (adopted, dropped []string, err error) {
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
	export, err := pulumi(ctx, "stack", "export")
	if err != nil {
		return nil, nil, fmt.Errorf("reading the stack's state: %w\n%s", err, export)
	}
	edited, adopted, dropped, err := Adopt(export)
	if err != nil || bytes.Equal(edited, export) {
		return nil, nil, err
	}
	folder, err := os.MkdirTemp("", "interrupted-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(folder)
	write := func(ctx context.Context, state []byte) error {
		file := filepath.Join(folder, "state.json")
		if err := os.WriteFile(file, state, 0o600); err != nil {
			return err
		}
		if out, err := pulumi(ctx, "stack", "import", "--file", file); err != nil {
			return fmt.Errorf("writing the stack's state: %w\n%s", err, out)
		}
		return nil
	}
	if err := write(ctx, edited); err != nil {
		return nil, nil, err
	}
	if len(adopted) == 0 {
		return nil, dropped, nil
	}
	args := []string{"refresh", "--yes", "--skip-preview"}
	for _, urn := range adopted {
		args = append(args, "--target", urn)
	}
	if out, err := pulumi(ctx, args...); err != nil {
		// What was not looked for must not stand there as if it had been found.
		return nil, nil, errors.Join(fmt.Errorf("looking for what the broken-off update created: %w\n%s", err, out),
			write(context.WithoutCancel(ctx), export))
	}
	return adopted, dropped, uninstall(ctx, pulumi, adopted)
}

// uninstall takes away the releases among what was adopted that were found: Helm can
// neither go on with an install that was broken off nor repeat it.
func uninstall(ctx context.Context, pulumi Pulumi, adopted []string) error {
	for _, urn := range adopted {
		if !strings.Contains(urn, release+"::") {
			continue
		}
		found, err := pulumi(ctx, "stack", "export")
		if err != nil {
			return fmt.Errorf("reading the stack's state: %w\n%s", err, found)
		}
		if !bytes.Contains(found, []byte(`"`+urn+`"`)) {
			continue // Helm had not begun
		}
		if out, err := pulumi(ctx, "destroy", "--yes", "--skip-preview", "--target", urn); err != nil {
			return fmt.Errorf("taking away an install that was broken off: %w\n%s", err, out)
		}
	}
	return nil
}
