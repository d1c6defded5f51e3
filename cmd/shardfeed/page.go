package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/metrics"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/page"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/watch"
)

type pageCommand struct {
	sockets []string
	every   time.Duration
	address string
}

func (a *app) page() *cobra.Command {
	p := &pageCommand{}
	c := &cobra.Command{
		Use:   "page [flags]",
		Short: "Show what the engines of this user do as a page with history, for a browser",
		Long: `page shows what top shows as a page for a browser of this machine, with charts of the last 15
minutes: waits by cause, rows, bytes, memory by purpose, the cache and requests to stores. It prints
the page's address and serves it until it is stopped. The page needs no other server.

The address holds a random token: without it the page shows nothing, so other users of the machine
cannot read it. For an engine of another machine, run page there and forward its port by ssh -L.`,
		Example: `  shardfeed page
  shardfeed page --address 127.0.0.1:8080`,
		Args: cobra.NoArgs,
	}
	fs := c.Flags()
	fs.StringSliceVar(&p.sockets, "socket", nil, "only the engine at this `path`; may be repeated (default: all engines of this user)")
	fs.DurationVar(&p.every, "every", defaultEvery, "time between two looks, of which rates are the means")
	fs.StringVar(&p.address, "address", "127.0.0.1:0", "`address` to serve the page at, as in 127.0.0.1:8080; without a host on this machine only; port 0 is any free one")
	return a.runs(c, func(ctx context.Context, _ []string) error { return a.runPage(ctx, p) })
}

func (a *app) runPage(ctx context.Context, p *pageCommand) error {
	if p.every < leastEvery {
		return usagef("--every must be at least %v, got %v", leastEvery, p.every)
	}
	address, err := metrics.ParseAddress(p.address)
	if err != nil {
		return usagef("--address %v, got %q", err, p.address)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("the page cannot be served: %w", err)
	}
	shown := page.New(watch.New(p.sockets...), p.every)
	if _, err := fmt.Fprintln(a.stdout, shown.URL(l)); err != nil {
		return err
	}
	if err := shown.Serve(ctx, l); err != nil {
		return err
	}
	return context.Cause(ctx)
}
