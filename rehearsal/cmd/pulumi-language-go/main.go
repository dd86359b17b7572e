// Command pulumi-language-go runs Go programs for the Pulumi engine.
package main

import (
	"context"
	"fmt"
	"os"

	"ray-on-aks/rehearsal/langhost"
)

func main() {
	if err := langhost.Serve(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "pulumi-language-go:", err)
		os.Exit(1)
	}
}
