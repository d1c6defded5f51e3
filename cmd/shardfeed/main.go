package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	os.Exit(mainCode())
}

// patience is how long further interrupts are ignored: tools that stop a program may send two at once.
const patience = time.Second

// mainCode runs the command until it ends or the first interrupt; another one later kills it.
func mainCode() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { time.AfterFunc(patience, stop) })
	// A reader that goes away (`| head`) is an error of the write, which ends the command in order, and not a signal that kills it.
	signal.Ignore(syscall.SIGPIPE)
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
