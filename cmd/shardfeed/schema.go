package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/snapshot"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/printable"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/table"
)

func (a *app) schema() *cobra.Command {
	f := &flags{inFiles: true}
	c := &cobra.Command{
		Use:   "schema [flags] ADDRESS...",
		Short: "Show the columns with their types",
		Long: `schema shows the columns of a data set: names, types, whether they hold nulls, and which come from
directory names (dt=2026-01-31). It reads the footers of all shards and unites their schemas as
training does, so what it cannot show cannot be read either. With --columns it shows those alone,
and with --cast, --hash, --scale and --stack the columns that batches have then. With --sources it
shows the columns of all sources together.`,
		Example: `  shardfeed schema data/
  shardfeed schema data/ --columns label,image.bytes
  shardfeed schema data/ --stack 'x=num_*,price' --cast label=int32
  shardfeed schema s3://bucket/table --json`,
	}
	fs := c.Flags()
	f.add(fs, "what", "sources.files", "tokenize", "features")
	f.looks(fs)
	f.add(fs, "json", "storage", "cache")
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := f.check(ctx, fs); err != nil {
			return err
		}
		return a.showSchema(ctx, addresses, f)
	})
}

func (a *app) showSchema(ctx context.Context, addresses []string, f *flags) (err error) {
	ds, err := a.open(ctx, addresses, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ds.Close(ctx)) }()
	shape, err := shapeOf(ds)
	if err != nil {
		return err
	}
	out := schemaOutput{Columns: columnReports(shape.Schema().Fields)}
	if len(f.Sources) == 0 {
		out.ofTable(ds.Tables()[0])
	}
	return a.print(f, out, out.report())
}

// A schemaOutput is the JSON output of schema.
type schemaOutput struct {
	Columns    []columnReport     `json:"columns"`
	Table      *snapshot.Table    `json:"table,omitempty"`      // that the address names
	Unreadable []table.Unreadable `json:"unreadable,omitempty"` // columns of the table that cannot be read
}

// ofTable adds the snapshot of a table and its unreadable columns. t may be nil.
func (o *schemaOutput) ofTable(t *table.Snapshot) {
	if o.Table = snapshot.Of(t); t != nil {
		o.Unreadable = t.Unreadable
	}
}

// A columnReport is a column, or a part of one, as schema shows it.
type columnReport struct {
	Name      string         `json:"name"`
	Type      string         `json:"type"` // as in "list<int32>"
	Nullable  bool           `json:"nullable"`
	Partition bool           `json:"partition,omitempty"` // from directory names
	Features  []string       `json:"features,omitempty"`  // of a matrix: the columns that it is stacked of, by their places
	Labels    []string       `json:"labels,omitempty"`    // names of the values, from 0 on
	Encoding  string         `json:"encoding,omitempty"`  // that the writer declared: "Image", "NdarrayCodec, float64 of shape (2, 3)"
	Children  []columnReport `json:"children,omitempty"`  // items of a list, pairs of a map, members of a struct
}

func columnReports(fields []*column.Field) []columnReport {
	all := make([]columnReport, len(fields))
	for i, f := range fields {
		all[i] = columnReport{Name: f.Name, Type: f.String(), Nullable: f.Nullable || f.Kind == column.Null, Partition: f.Partition, Features: f.Features, Labels: f.Labels}
		if f.Encoding != nil {
			all[i].Encoding = f.Encoding.String()
		}
		if len(f.Children) > 0 {
			all[i].Children = columnReports(f.Children)
		}
	}
	return all
}

// report is a line for each column.
func (o schemaOutput) report() *term.Report {
	r := &term.Report{}
	if o.Table != nil {
		r.Line(o.Table.String())
		r.Line("")
	}
	lines := [][]string{{"column", "type", "nulls", "notes"}}
	for _, c := range o.Columns {
		nulls, note := "no", c.note()
		if c.Nullable {
			nulls = "allowed"
		}
		lines = append(lines, []string{printable.Text(c.Name), printable.Text(c.Type), nulls, note})
	}
	for _, u := range o.Unreadable {
		note := "cannot be read"
		if u.Part != u.Column {
			note += " (" + printable.Text(u.Part) + ")"
		}
		lines = append(lines, []string{printable.Text(u.Column), printable.Text(u.Type), "", note})
	}
	r.Table(lines)
	return r
}

// note describes a column beyond its type.
func (c columnReport) note() string {
	switch {
	case c.Partition:
		return "from directory names"
	case len(c.Features) > 0:
		return "of " + printable.Text(strings.Join(c.Features, " "))
	case len(c.Labels) > 0:
		return fmt.Sprintf("%s: %s", text.Plural(len(c.Labels), "class"), text.Shorten(printable.Text(strings.Join(c.Labels, ", ")), 40))
	case c.Encoding != "":
		return c.Encoding
	}
	for _, m := range c.Children { // an image or audio, and its path
		if m.Encoding != "" {
			return m.Name + ": " + m.Encoding
		}
	}
	return ""
}
