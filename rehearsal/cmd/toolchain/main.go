// The toolchain command builds the rehearsal's third-party tools. It is apart
// from the rehearse command so that it compiles in a second and the long
// builds can start at once.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"ray-on-aks/rehearsal/toolchain"
)

func main() {
	root := flag.String("root", ".", "folder of the checkout")
	earlier := flag.Bool("earlier", false, "build the operators' earlier releases, too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tools, err := toolchain.New(*root, os.Stderr)
	if err == nil {
		_, err = tools.Ensure(ctx)
	}
	if err == nil && *earlier {
		_, err = tools.EnsureEarlier(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "toolchain:", err)
		os.Exit(1)
	}
}
