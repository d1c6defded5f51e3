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

// repeatTime is how long further interrupts are ignored: tools that stop a program may send two at
// once.
const repeatTime = time.Second

// A signaled is why a run was stopped.
type signaled struct{ os.Signal }

func (s signaled) Error() string { return s.String() }

// mainCode runs the command until it ends or the first interrupt; another one later kills it.
func mainCode() int {
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() { // ends with the process
		stop(signaled{<-signals})
		time.AfterFunc(repeatTime, func() { signal.Stop(signals) })
	}()
	// A reader that goes away (`| head`) is an error of the write, which ends the command in order,
	// and not a signal that kills it.
	signal.Ignore(syscall.SIGPIPE)
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
