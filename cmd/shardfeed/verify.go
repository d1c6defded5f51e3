package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

func (a *app) verify() *cobra.Command {
	f := &flags{}
	var pictures imageVerifying
	saved := saveFile{flag: "save", kind: rowsKind()}
	c := &cobra.Command{
		Use:   "verify [flags] ADDRESS...",
		Short: "Read and decode everything, and list what is lost",
		Long: `verify reads all row groups of the shards from where they are stored, not from the cache, decodes
them, and lists what a run would lose: footers and pages that are corrupt, shards that are gone or
changed meanwhile. It exits with 0 only when nothing is lost.

With --images it also decodes the images of all columns that hold them, whole, and lists rows whose
image is damaged, null, of a format that is not decoded or beyond the limits; --quick reads their
headers only, which finds truncated JPEGs too.

With --save it writes a file of the rows that are not, for --rows of later runs, or rows= in Python.
A shard whose footer is lost must be moved away for them.`,
		Example: `  shardfeed verify data/
  shardfeed verify s3://bucket/table --columns token_ids,label --json
  shardfeed verify data/ --save good.rows
  shardfeed verify data/ --images --save good.rows`,
	}
	fs := c.Flags()
	f.add(fs, "what")
	pictures.add(fs)
	fs.StringVar(&saved.name, "save", "", "write the rows that are not lost to this `file`; an existing one is replaced only if it is one of rows")
	f.looks(fs)
	f.add(fs, "json", "storage", "cache")
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := f.check(ctx, fs); err != nil {
			return err
		}
		if err := pictures.validate(); err != nil {
			return err
		}
		v, err := a.verifySaving(ctx, addresses, f, &pictures, &saved)
		if err != nil {
			return err
		}
		o := verificationOf(v)
		o.Images = pictures.columns
		return errors.Join(a.print(f, o, o.report()), o.verdict())
	})
}

// verifySaving reads the data, and writes the rows that are not lost into saved, if it has a name.
func (a *app) verifySaving(ctx context.Context, addresses []string, f *flags, pictures *imageVerifying, saved *saveFile) (*iterable.Verification, error) {
	if saved.name == "" {
		return a.verified(ctx, addresses, f, pictures)
	}
	if err := saved.check(); err != nil {
		return nil, err
	}
	err := a.withShards(ctx, addresses, f, func(_ shard.Stores, all foundShards, _ rowgroup.Options) error {
		return saved.apart(ctx, all.shards, f, addresses)
	})
	if err != nil {
		return nil, err
	}
	v, err := a.verified(ctx, addresses, f, pictures)
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	if err := v.WriteGood(&content); err != nil {
		return nil, err
	}
	return v, saved.write(ctx, content.Bytes())
}

// verified reads the data, and shows how far it is.
func (a *app) verified(ctx context.Context, addresses []string, f *flags, pictures *imageVerifying) (*iterable.Verification, error) {
	shown := term.NewOpening(a.stderr)
	defer shown.Close()
	var bar *term.Progress
	last := int64(0)
	v, err := shardfeed.Verify(ctx, f.at(addresses), a.events(shown), func(rows, of int64) {
		if bar == nil {
			shown.Close()
			bar = term.NewProgress(a.stderr, "verify", of)
		}
		bar.Add(int(rows - last))
		last = rows
	}, pictures.check())
	pictures.close()
	if bar != nil {
		bar.Close()
	}
	return v, err
}

// A verification is the JSON output of verify.
type verification struct {
	Shards    int         `json:"shards"`
	RowGroups int         `json:"row_groups"` // of the shards whose footers can be read
	Rows      int64       `json:"rows"`       // of them
	LostRows  int64       `json:"lost_rows"`  // of them
	ReadBytes int64       `json:"read_bytes"`
	Images    []string    `json:"images"` // the columns of images that --images checked
	Lost      []lostPlace `json:"lost"`
}

func verificationOf(v *iterable.Verification) *verification {
	return &verification{
		Shards: v.Shards, RowGroups: v.RowGroups, Rows: v.Rows, LostRows: v.LostRows, ReadBytes: v.Read, Images: []string{}, Lost: lostPlaces(v.Lost),
	}
}

func (v *verification) report() *term.Report {
	r := &term.Report{}
	r.Section("verify")
	r.Fact("read", "%s in %s and %s, %v", text.Plural(v.Rows, "row"), text.Plural(int64(v.RowGroups), "row group"), text.Plural(int64(v.Shards), "shard"), mem.Bytes(v.ReadBytes))
	if len(v.Images) > 0 {
		r.Fact("images", "%s", strings.Join(v.Images, ", "))
	}
	if len(v.Lost) == 0 {
		r.Fact("lost", "nothing")
		return r
	}
	r.Fact("lost", "%s in %s:", text.Plural(v.LostRows, "row"), text.Plural(int64(len(v.Lost)), "place"))
	for _, p := range v.Lost {
		r.Fact("", "%s", p.Error)
	}
	return r
}

// verdict is an error when something is lost.
func (v *verification) verdict() error {
	if len(v.Lost) == 0 {
		return nil
	}
	return fmt.Errorf("%s lost: see above", text.Plural(int64(len(v.Lost)), "place"))
}
