package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ray-on-aks/rehearsal/engine"
)

// preview writes to file, as JSON, what an update to this checkout would do to a
// stack that another checkout, base, has brought up. Both are rehearsed with
// the emulators of this one.
func (r *rehearsal) preview(ctx context.Context, base, file string) error {
	from := *r
	var err error
	if from.root, err = filepath.Abs(base); err != nil {
		return err
	}
	e, err := from.prepare(ctx)
	if err != nil {
		return err
	}
	err = phase("pulumi up of the base", func() error { return e.Run(ctx, os.Stdout, "up", "--yes", "--suppress-progress") })
	if err != nil {
		return err
	}
	// The lock that the base's engine has taken serves this one, too.
	if e, err = engine.New(ctx, r.root, r.bin, r.dir, r.tools, r.stack); err != nil {
		return err
	}
	if err := e.Init(ctx, true); err != nil {
		return err
	}
	if err := phase("program", func() error { return e.Build(ctx) }); err != nil {
		return err
	}
	var out bytes.Buffer
	previewErr := phase("pulumi preview", func() error { return e.Run(ctx, &out, "preview", "--json") })
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		return errors.Join(previewErr, err)
	}
	if previewErr != nil && out.Len() == 0 {
		return fmt.Errorf("the preview has said nothing: %w", previewErr)
	}
	// What it says of its failure is in the file, for whoever reads that.
	return nil
}
