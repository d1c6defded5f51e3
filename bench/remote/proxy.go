package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
)

// proxy forwards to a server until standard input ends. Its first line of output is the address
// that it listens on.
func proxy(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("proxy", flag.ContinueOnError)
	target := fs.String("target", "", "the server's host:port")
	latency := fs.Duration("latency", 0, "delay of what a client sends")
	rate := fs.Int64("rate", 0, "bytes a second that all clients together get from the server; 0 is any number")
	log := fs.String("log", "", "write the requests to this file")
	if err := fs.Parse(args); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // it ends with the process at the latest: reading standard input cannot be interrupted
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	fmt.Printf("READY %s\n", l.Addr())
	switch {
	case *log == "":
		return serveDelayed(ctx, l, *target, link{latency: *latency, rate: *rate})
	case *latency > 0 || *rate > 0:
		return errors.New("a proxy either delays or writes a log")
	}
	out, err := os.Create(*log)
	if err != nil {
		return err
	}
	return errors.Join(serveLogged(ctx, l, *target, out), out.Close())
}

// closeAfter closes c when ctx ends or the returned function is called.
func closeAfter(ctx context.Context, c io.Closer) (stop func() bool) {
	return context.AfterFunc(ctx, func() { c.Close() })
}
