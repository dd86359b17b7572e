package provider

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
)

// enginePoll is how often the engine is asked whether it still lives.
const enginePoll = 2 * time.Second

// Serve runs p as a plugin until the engine is gone or a signal comes, and
// writes its port to out first, as the engine expects. args are the command's
// arguments: the engine's address where it started the plugin, nothing where
// a person did, to name the port in PULUMI_DEBUG_PROVIDERS.
func Serve(ctx context.Context, p plugin.Provider, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("provider", flag.ContinueOnError)
	port := flags.Int("port", 0, "port to serve on; 0 takes a free one")
	// The engine passes these on when it logs verbosely; they change nothing.
	flags.Bool("logtostderr", false, "accepted for the engine's sake")
	flags.Int("v", 0, "accepted for the engine's sake")
	flags.String("tracing", "", "accepted for the engine's sake")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("parsing arguments: %w", err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if engine := flags.Arg(0); engine != "" {
		if err := rpcutil.Healthcheck(ctx, engine, enginePoll, stop); err != nil {
			return fmt.Errorf("watching the engine at %s: %w", engine, err)
		}
	}
	cancel := make(chan bool)
	served, err := rpcutil.ServeWithOptions(rpcutil.ServeOptions{
		Port: *port, Cancel: cancel,
		Init: func(server *grpc.Server) error {
			pulumirpc.RegisterResourceProviderServer(server, NewServer(p))
			return nil
		},
	})
	if err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	if _, err := fmt.Fprintf(out, "%d\n", served.Port); err != nil {
		return fmt.Errorf("announcing the port: %w", err)
	}
	go func() {
		<-ctx.Done()
		// Waits in flight must end, or the server would never stop gracefully.
		if err := p.SignalCancellation(context.WithoutCancel(ctx)); err != nil {
			fmt.Fprintln(os.Stderr, "cancelling:", err)
		}
		close(cancel)
	}()
	if err := <-served.Done; err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
