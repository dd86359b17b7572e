// The bench command measures what the program and its rehearsal cost, and
// prints figures. They are compared within one run alone, since machines differ;
// nothing fails for being slow.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// figures are what can be measured, in the order in which it is.
var figures = []struct {
	name    string
	measure func(context.Context, *bench) error
}{
	{"compile", compile},
	{"rehearsal", rehearsal},
	{"engine", engineTimes},
	{"teams", teams},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run of the command.
type bench struct {
	// root is the checkout, bin the folder of the rehearsal's commands.
	root, bin string
	// dir is the folder of the rehearsal that is measured.
	dir string
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	root := flags.String("root", ".", "folder of the checkout")
	only := flags.String("only", "", "figures to measure, with commas between them; default: all")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	var names []string
	for _, f := range figures {
		names = append(names, f.name)
	}
	wanted := names
	if *only != "" {
		wanted = strings.Split(*only, ",")
	}
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return fmt.Errorf("there is no figure %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b := &bench{bin: filepath.Dir(self)}
	if b.root, err = filepath.Abs(*root); err != nil {
		return err
	}
	b.dir = filepath.Join(b.root, ".rehearsal", "bench")
	for _, f := range figures {
		if !slices.Contains(wanted, f.name) {
			continue
		}
		fmt.Printf("\n== %s\n", f.name)
		if err := f.measure(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}
