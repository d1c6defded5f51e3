package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/shardfeed/shardfeed/internal/regular"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/snapshot"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// A planCommand is one run of plan.
type planCommand struct {
	*app
	flags
	nodes    planNodes
	saved    saveFile // of --save
	manifest saveFile // of --save-manifest
}

func (a *app) plan() *cobra.Command {
	plan := &planCommand{app: a, saved: saveFile{flag: "save", kind: planKind()}, manifest: saveFile{flag: "save-manifest", kind: manifestKind()}}
	c := &cobra.Command{
		Use:   "plan [flags] ADDRESS...",
		Short: "Show a run's order, memory and mixing before anything but footers is read",
		Long: `plan shows what a run with the same flags would do: the parameters of its order, units and lanes,
steps of each rank, the memory that a rank needs, what is read before the first batch, and how
well batches would be mixed.

With --nodes it also shows what a job on that many nodes would do: requests of its start with a saved
plan and without, bytes and disk of a node, requests of the first epoch, and what is fetched again
when a node is lost or replaced.`,
		Example: `  shardfeed plan data/ --shuffle --batch-size 256 --world-size 8
  shardfeed plan data/ --shuffle --shuffle-buffer 4GiB --memory 2GiB --json
  shardfeed plan data/ --shuffle --world-size 8 --save run.plan
  shardfeed plan s3://bucket/table --shuffle --world-size 8000 --nodes 1000 --node-bandwidth 2GiB`,
	}
	fs := c.Flags()
	plan.add(fs, "what", "rows", "sources", "tokenize", "pack", "bucket", "steps", "order",
		"epochs", "rank", "json") // a run's flags are taken as they are; the plan is of all ranks and each epoch
	fs.StringVar(&plan.saved.name, "save", "", "write the list of shards, their footers and the parameters of the order into this `file`, for --plan of all ranks and later runs")
	fs.StringVar(&plan.manifest.name, "save-manifest", "", "write the list of shards alone into this `file`, for --manifest of later runs, whose order it leaves open")
	plan.nodes.flags(fs)
	plan.add(fs, "storage", "cache")
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := plan.prepare(ctx, fs); err != nil {
			return err
		}
		return plan.run(ctx, addresses)
	})
}

// prepare checks the flags.
func (c *planCommand) prepare(ctx context.Context, fs *pflag.FlagSet) error {
	if err := c.check(ctx, fs); err != nil {
		return err
	}
	if err := c.nodes.check(fs, &c.flags); err != nil {
		return err
	}
	for _, file := range []saveFile{c.saved, c.manifest} {
		if file.name == "" {
			continue
		}
		if err := file.check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *planCommand) run(ctx context.Context, addresses []string) (err error) {
	describesFooters()
	ds, counting, err := c.openTimed(ctx, addresses, &c.flags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ds.Close(ctx)) }()
	object, text, err := c.describe(ds, counting)
	if err != nil {
		return err
	}
	if c.manifest.name != "" {
		if err := saveManifest(ctx, c.manifest, ds.Dataset, &c.flags, addresses); err != nil {
			return err
		}
	}
	show := func() error { return c.print(&c.flags, object, text) }
	save := func() error { return savePlan(ctx, c.saved, ds.Dataset, &c.flags, addresses) }
	switch {
	case c.saved.name == "":
		return show()
	case isDescriptor(c.saved.name): // maybe stdout, whose place in a file is not that behind the plan
		return errors.Join(show(), save())
	}
	if err := save(); err != nil {
		return err
	}
	return show()
}

// describe makes what is printed. counting is how long the samples took to count.
func (c *planCommand) describe(ds *shardfeed.Dataset, counting time.Duration) (*plan, *term.Report, error) {
	p, err := loader.Plan(ds.Dataset, c.loader())
	if err != nil {
		return nil, nil, err
	}
	object := planObject(p, counting.Seconds())
	if len(p.Sources) == 0 {
		object.Table = snapshot.Of(ds.Tables()[0])
	}
	text := planReport(p, object.Table, counting)
	if object.Kept = newKeptPlan(ds.Dataset); object.Kept != nil {
		object.Kept.report(text)
	}
	if object.Job, err = c.nodes.job(p, ds, &c.flags); err != nil {
		return nil, nil, err
	}
	if object.Job != nil {
		object.Job.report(text, p)
	}
	return object, text, nil
}

func savePlan(ctx context.Context, to saveFile, ds *iterable.Dataset, f *flags, addresses []string) error {
	if err := to.apart(ctx, ds.Shards(), f, addresses); err != nil {
		return err
	}
	content, err := planBytes(ds, f)
	if err != nil {
		return err
	}
	return to.write(ctx, content)
}

func saveManifest(ctx context.Context, to saveFile, ds *iterable.Dataset, f *flags, addresses []string) error {
	if err := to.apart(ctx, ds.Shards(), f, addresses); err != nil {
		return err
	}
	content, err := ds.SavedManifest().JSON()
	if err != nil {
		return err
	}
	return to.write(ctx, append(content, '\n'))
}

// planBytes returns the content of a saved plan.
func planBytes(ds *iterable.Dataset, f *flags) ([]byte, error) {
	dir, err := os.MkdirTemp("", "shardfeed-plan-")
	if err != nil {
		return nil, regular.Error(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "plan")
	if err := ds.SavePlan(name, f.worldSize, iterable.StreamOptions{BatchSize: f.BatchSize, Tail: f.tailOrDefault(), LocalWorldSize: mem.LocalWorldSize()}); err != nil {
		return nil, regular.Error(err)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, regular.Error(err)
	}
	return content, nil
}
