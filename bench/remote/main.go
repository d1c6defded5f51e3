package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

var errUsage = errors.New("usage: remote read|put|proxy [flags]")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "remote:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	switch args[0] {
	case "read":
		return read(ctx, args[1:])
	case "put":
		return put(ctx, args[1:])
	case "proxy":
		return proxy(ctx, args[1:])
	}
	return errUsage
}
