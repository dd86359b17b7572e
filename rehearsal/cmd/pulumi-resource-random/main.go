// Command pulumi-resource-random is the emulated random provider.
package main

import (
	"context"
	"fmt"
	"os"

	"ray-on-aks/rehearsal/provider"
	"ray-on-aks/rehearsal/randomprovider"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "emulated random:", err)
		os.Exit(1)
	}
}

func run() error {
	emulated, err := randomprovider.New()
	if err != nil {
		return err
	}
	return provider.Serve(context.Background(), emulated, os.Args[1:], os.Stdout)
}
