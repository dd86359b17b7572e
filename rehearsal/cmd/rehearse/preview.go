package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ray-on-aks/rehearsal/engine"
)

// preview writes to file, as JSON, what an update to this checkout would do to a
// stack that another checkout, base, has brought up. Both are rehearsed with
// the emulators of this one. A stack that base does not have is previewed from
// nothing. It fails if the preview fails; what was said of that is in the file.
func (r *rehearsal) preview(ctx context.Context, base, file string) error {
	from := *r
	var err error
	if from.root, err = filepath.Abs(base); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(from.root, "Pulumi."+r.stack+".yaml")); errors.Is(err, fs.ErrNotExist) {
		fmt.Printf("%s has no stack %s: it is previewed from nothing\n", base, r.stack)
		from.root = r.root
	}
	e, err := from.prepare(ctx)
	if err != nil {
		return err
	}
	if from.root != r.root {
		up := func() error { return e.Run(ctx, os.Stdout, "up", "--yes", "--suppress-progress") }
		if err := phase("pulumi up of the base", up); err != nil {
			return err
		}
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
	return errors.Join(previewErr, os.WriteFile(file, out.Bytes(), 0o600))
}
