package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/timeline"
	"github.com/shardfeed/shardfeed/internal/regular"
)

func (a *app) traces() *cobra.Command {
	c := &cobra.Command{
		Use:   "trace",
		Short: "Join traces of ranks and of torch.profiler on one timeline",
		Long: `A trace shows on a timeline what each step of a training waited for. Python writes it, by trace()
of a loader or SHARDFEED_TRACE.`,
		Example: `  shardfeed trace merge all.json.gz run.rank*.json.gz torch.rank*.pt.trace.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q for \"shardfeed trace\"", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.traceMerge(), a.traceRecord())
	return c
}

// traceRecord is for the Python package, which sends the events of a training.
func (a *app) traceRecord() *cobra.Command {
	c := &cobra.Command{Use: "record", Short: "Write the trace of a training that sends its events", Hidden: true, Args: cobra.NoArgs}
	return a.runs(c, func(ctx context.Context, _ []string) error {
		return regular.Error(timeline.Record(ctx, os.Stdin, a.stdout))
	})
}

func (a *app) traceMerge() *cobra.Command {
	c := &cobra.Command{
		Use:   "merge OUT FILE... [flags]",
		Short: "Write the events of several traces into one file",
		Long: `merge writes the events of traces into OUT, which ends in .json or .json.gz. Open it in
ui.perfetto.dev or chrome://tracing. The files are traces of shardfeed and of torch.profiler, in JSON
or compressed. The files of one rank share its processes; if other ranks use the same numbers of
processes, they get other numbers. OUT has its name when it is whole, and replaces a file of that
name.`,
		Example: `  shardfeed trace merge all.json.gz run.json.gz torch.json
  shardfeed trace merge all.json.gz run.rank*.json.gz torch.rank*.pt.trace.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("trace merge needs the name of the merged trace, and at least one trace, got %d arguments", len(args))
			}
			return nil
		},
	}
	return a.runs(c, func(_ context.Context, args []string) error {
		out := args[0]
		if !strings.HasSuffix(out, ".json") && !strings.HasSuffix(out, ".json.gz") {
			return usagef("the merged trace must end in .json or .json.gz, got %q", out)
		}
		events, err := timeline.Merge(out, args[1:]...)
		if err != nil {
			return regular.Error(err)
		}
		if s, err := os.Stat(out); err == nil {
			fmt.Fprintf(a.stdout, "%s: %d events of %d traces, %d bytes\n", out, events, len(args)-1, s.Size())
		}
		return nil
	})
}
