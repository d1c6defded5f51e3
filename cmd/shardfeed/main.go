package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(mainCode())
}

// mainCode runs the command until it ends or the first interrupt; a second one kills it.
func mainCode() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	// A reader that goes away (`| head`) is an error of the write, which ends the command in order, and not a signal that kills it.
	signal.Ignore(syscall.SIGPIPE)
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
