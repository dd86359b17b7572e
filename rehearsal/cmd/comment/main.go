// The comment command writes what a preview says as a comment for a pull
// request: what would be replaced and deleted first. The preview comes by
// standard input, as `pulumi preview --json` prints it. It fails if the preview
// has failed, or would take away what holds others' work.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "comment:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("comment", flag.ContinueOnError)
	stack := flags.String("stack", "", "name of the stack that was previewed")
	against := flags.String("against", "", "what it was previewed against, if not the stack's own state")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if *stack == "" {
		return errors.New("-stack is not set")
	}
	p, err := read(in)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(out, p.comment(*stack, *against)); err != nil {
		return err
	}
	return p.verdict()
}

// object is where the JSON begins: the engine's warnings may stand before it.
var object = regexp.MustCompile(`(?m)^\{`)

// read decodes a preview.
func read(in io.Reader) (preview, error) {
	data, err := io.ReadAll(in)
	if err != nil {
		return preview{}, err
	}
	start := object.FindIndex(data)
	if start == nil {
		return preview{}, fmt.Errorf("standard input is no preview in JSON, but %q", firstBytes(data))
	}
	var p preview
	// Errors of the engine's may stand behind it.
	if err := json.NewDecoder(bytes.NewReader(data[start[0]:])).Decode(&p); err != nil {
		return preview{}, fmt.Errorf("standard input is no preview in JSON: %w", err)
	}
	if len(p.Steps) == 0 && len(p.Diagnostics) == 0 {
		return preview{}, errors.New("the preview on standard input has neither steps nor messages")
	}
	return p, nil
}

// firstBytes are enough to see what came instead.
func firstBytes(data []byte) []byte { return data[:min(200, len(data))] }
