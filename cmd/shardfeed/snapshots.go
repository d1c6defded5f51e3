package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
)

func (a *app) snapshots() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "snapshots [flags] ADDRESS",
		Short: "List the snapshots of a table",
		Long: `snapshots lists the snapshots that a Delta or Iceberg table still has, the oldest first: the name that
--snapshot takes, when it was committed, what committed it, and the tags and branches at it.`,
		Example: `  shardfeed snapshots delta+s3://bucket/table
  shardfeed snapshots iceberg+s3://bucket/warehouse/db/table --json`,
	}
	fs := c.Flags()
	f.add(fs, "json", "storage")
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := f.check(ctx, fs); err != nil {
			return err
		}
		if len(addresses) > 1 {
			return usagef("snapshots takes one address, got %d", len(addresses))
		}
		all, err := a.history(ctx, addresses[0], f)
		if err != nil {
			return err
		}
		return a.print(f, snapshotsOutput{all}, snapshotsReport(all))
	})
}

func (a *app) history(ctx context.Context, address string, f *flags) (all []snapshotReport, err error) {
	shown := term.NewOpening(a.stderr)
	defer shown.Close()
	spec := f.at(nil)
	stores, err := spec.Stores(a.events(shown))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	versions, err := spec.Snapshots(ctx, stores, address)
	all = []snapshotReport{}
	for _, v := range versions {
		r := snapshotReport{Name: v.Name, Operation: v.Operation, Refs: append([]string{}, v.Refs...)}
		if !v.Time.IsZero() {
			r.Time = v.Time.UTC().Format(time.RFC3339Nano)
		}
		all = append(all, r)
	}
	return all, err
}

// A snapshotsOutput is the JSON output of snapshots.
type snapshotsOutput struct {
	Snapshots []snapshotReport `json:"snapshots"`
}

// A snapshotReport is a snapshot of a table.
type snapshotReport struct {
	Name      string   `json:"name"`      // as --snapshot takes it
	Time      string   `json:"time"`      // of the commit, in RFC 3339; "" if the table does not have it
	Operation string   `json:"operation"` // that made it, in the words of the format; "" likewise
	Refs      []string `json:"refs"`      // the tags and branches at it
}

func snapshotsReport(all []snapshotReport) *term.Report {
	r := &term.Report{}
	if len(all) == 0 {
		r.Line("the table has no snapshot")
		return r
	}
	lines := [][]string{{"snapshot", "time", "operation", "refs"}}
	for _, s := range all {
		lines = append(lines, []string{s.Name, s.Time, s.Operation, strings.Join(s.Refs, ", ")})
	}
	r.Table(lines)
	return r
}
