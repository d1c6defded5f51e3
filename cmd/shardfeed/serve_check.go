package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed/internal/engine"
	"github.com/shardfeed/shardfeed/internal/printable"
)

// checkEngine prints which engine answers at a socket.
func (a *app) checkEngine(ctx context.Context, socket string, fs *pflag.FlagSet) error {
	var err error
	fs.Visit(func(f *pflag.Flag) {
		if f.Name != "check" {
			err = usagef("--check takes no other flag: leave --%s out", f.Name)
		}
	})
	if socket == "" {
		err = usagef("--check needs the path of a socket")
	}
	if err != nil {
		return err
	}
	w, err := engine.Check(ctx, socket)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s: process %d answers, version %s\n", printable.Text(socket), w.PID, printable.Text(w.Build))
	return err
}
