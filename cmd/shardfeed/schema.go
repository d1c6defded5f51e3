package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/printable"
	"github.com/shardfeed/shardfeed/internal/text"
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
	columns := columnReports(shape.Schema().Fields)
	if f.json {
		return term.WriteJSON(a.stdout, schemaOutput{columns})
	}
	return schemaReport(columns).Print(a.stdout)
}

// A schemaOutput is the JSON output of schema.
type schemaOutput struct {
	Columns []columnReport `json:"columns"`
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

// schemaReport is a line for each column.
func schemaReport(columns []columnReport) *term.Report {
	table := [][]string{{"column", "type", "nulls", "notes"}}
	for _, c := range columns {
		nulls, note := "no", c.note()
		if c.Nullable {
			nulls = "allowed"
		}
		table = append(table, []string{printable.Text(c.Name), printable.Text(c.Type), nulls, note})
	}
	r := &term.Report{}
	r.Table(table)
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
