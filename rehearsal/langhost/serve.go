package langhost

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
)

// enginePoll is how often the engine is asked whether it still lives.
const enginePoll = 2 * time.Second

// Serve runs the host until the engine is gone, cancels, or a signal comes,
// and writes its port to out first, as the engine expects. args are the
// command's arguments.
func Serve(ctx context.Context, args []string, out io.Writer) error {
	// A flag set of its own: the SDK claims names in the common one.
	flags := flag.NewFlagSet("pulumi-language-go", flag.ContinueOnError)
	flags.Bool("logtostderr", false, "accepted for the engine's sake")
	flags.Int("v", 0, "accepted for the engine's sake")
	flags.String("tracing", "", "accepted for the engine's sake")
	project := flags.String("build", "", "build the program of this project in the working folder, and end")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("parsing arguments: %w", err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *project != "" {
		return buildAhead(ctx, *project)
	}
	engine := flags.Arg(0)
	if engine != "" {
		if err := rpcutil.Healthcheck(ctx, engine, enginePoll, stop); err != nil {
			return fmt.Errorf("watching the engine at %s: %w", engine, err)
		}
	}
	host := New(ctx, engine)
	cancel := make(chan bool)
	served, err := rpcutil.ServeWithOptions(rpcutil.ServeOptions{
		Cancel: cancel,
		Init: func(server *grpc.Server) error {
			pulumirpc.RegisterLanguageRuntimeServer(server, host)
			return nil
		},
	})
	if err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	if _, err := fmt.Fprintf(out, "%d\n", served.Port); err != nil {
		return fmt.Errorf("announcing the port: %w", err)
	}
	go func() { <-host.stopping.Done(); close(cancel) }()
	if err := <-served.Done; err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
