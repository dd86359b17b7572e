// Command pulumi-resource-azure-native is the emulated azure-native provider.
// It touches no Azure: its cloud is the file cloud.json in the folder that
// REHEARSAL_DIR names.
package main

import (
	"context"
	"fmt"
	"os"

	"ray-on-aks/rehearsal/azurenative"
	"ray-on-aks/rehearsal/layout"
	"ray-on-aks/rehearsal/provider"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "emulated azure-native:", err)
		os.Exit(1)
	}
}

func run() error {
	emulated, err := azurenative.New(azurenative.Options{Dir: os.Getenv(layout.EnvDir)})
	if err != nil {
		return err
	}
	return provider.Serve(context.Background(), emulated, os.Args[1:], os.Stdout)
}
