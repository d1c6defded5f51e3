package main

import (
	"bytes"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/text"
)

// rowsPrefix is the start of every file of rows.
const rowsPrefix = "shardfeed rows 1\n"

func rowsKind() saveKind {
	return saveKind{noun: "list of rows", prefix: rowsPrefix, is: func(path string, _ int64) bool { return beginsWith(path, rowsPrefix) }}
}

func (a *app) selectRows() *cobra.Command {
	f := &flags{}
	saved := saveFile{flag: "save", kind: rowsKind()}
	c := &cobra.Command{
		Use:   "select [flags] --save FILE ADDRESS...",
		Short: "Write down which rows a filter keeps, for --rows of later runs",
		Long: `select writes a list of the rows that pass --where, --parts, --subsample and another list, all of
those that are given. Later runs read the list by --rows, or by rows= in Python, and need not
evaluate the filter again. The file has at most about one bit for each row of the shards, and their
sizes and versions: a shard that has changed since is an error. It appears under its name when it
is whole.`,
		Example: `  shardfeed select data/ --where 'score >= 0.5' --save good.rows
  shardfeed cat data/ --rows good.rows
  shardfeed select s3://bucket/table --where 'not (id in @duplicates.txt)' --save unique.rows --json`,
	}
	fs := c.Flags()
	fs.StringVar(&saved.name, "save", "", "write the rows to this `file`; an existing one is replaced only if it is one of rows")
	f.add(fs, "what.reading", "what.shards", "what.snapshot")
	f.looks(fs)
	f.add(fs, "json", "rows.chosen", "storage", "cache")
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := f.check(ctx, fs); err != nil {
			return err
		}
		switch {
		case saved.name == "":
			return usagef("select needs --save: the file that the rows are written to")
		case !f.ChoosesRows():
			return usagef("select needs --where, --parts, --subsample or --rows: without them all rows are read anyway")
		}
		if err := saved.check(); err != nil {
			return err
		}
		s, err := a.selectInto(ctx, saved, addresses, f)
		if err != nil {
			return err
		}
		return a.print(f, s, s.report())
	})
}

// A selection is the result of select.
type selection struct {
	File    string `json:"file"`
	Rows    int64  `json:"rows"`     // that are chosen
	AllRows int64  `json:"all_rows"` // of the shards
	Shards  int    `json:"shards"`
	Bytes   int    `json:"bytes"` // of the file
}

func (a *app) selectInto(ctx context.Context, to saveFile, addresses []string, f *flags) (s *selection, err error) {
	ds, err := a.open(ctx, addresses, f)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ds.Close(ctx)) }()
	if err := to.apart(ctx, ds.Shards(), f, addresses); err != nil {
		return nil, err
	}
	var content bytes.Buffer
	kept, err := ds.Select(ctx, &content)
	if err != nil {
		return nil, err
	}
	if err := to.write(ctx, content.Bytes()); err != nil {
		return nil, err
	}
	return &selection{to.name, kept, ds.NumRows(), len(ds.Manifest().Shards()), content.Len()}, nil
}

func (s *selection) report() *term.Report {
	r := &term.Report{}
	r.Section("rows in " + s.File)
	r.Fact("chosen", "%s of %s in %s", text.Count(s.Rows), text.Plural(s.AllRows, "row"), text.Plural(int64(s.Shards), "shard"))
	r.Fact("size", "%v", mem.Bytes(s.Bytes))
	return r
}
