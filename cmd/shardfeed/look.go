package main

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/rowio"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/loader"
)

// A look is a run of a verb that shows a few rows.
type look struct {
	*app
	flags
	count  int64
	format string
	full   bool

	// Of sample's montage, nil without: begun is called before the first row, and taken with rows.
	begun func(ctx context.Context, parts []lookPart, shape *loader.Shape) error
	taken func(columns []*column.Array, n int) error
}

const (
	fewRows  = 10
	mostRows = 1_000_000 // to show
)

var lookFormats = []string{"table", "jsonl", "csv"}

func (l *look) flagsOf(c *cobra.Command) {
	fs := c.Flags()
	l.inFiles = true
	fs.Int64VarP(&l.count, "limit", "n", fewRows, "how many rows")
	fs.StringVar(&l.format, "format", "", "table, jsonl or csv (default: table on a terminal, else jsonl)")
	fs.BoolVar(&l.full, "full", false, "show long texts, lists and binary values whole")
	l.add(fs, "what", "rows", "sources.files", "tokenize", "features", "ids")
	l.looks(fs)
	completeWords(c, "format", lookFormats)
}

// completeWords lets shells complete a flag that takes one of a few words.
func completeWords(c *cobra.Command, flag string, words []string) {
	// It fails for flags that do not exist, and this one does.
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func (l *look) prepare(ctx context.Context, fs *pflag.FlagSet) error {
	if err := l.check(ctx, fs); err != nil {
		return err
	}
	if l.count < 0 || l.count > mostRows {
		return usagef("--limit must be at least 0 and at most %s, got %d; cat prints any number", text.Count(mostRows), l.count)
	}
	if l.format == "" {
		l.format = "jsonl"
		if term.IsTerminal(l.stdout) {
			l.format = "table"
		}
	}
	if !slices.Contains(lookFormats, l.format) {
		return usagef("--format must be %s, got %q", text.OneOf(lookFormats), l.format)
	}
	return nil
}

// show opens the data set and shows the rows that pick chooses among its rows.
func (l *look) show(ctx context.Context, addresses []string, pick func(rows int64) []int64) (err error) {
	ds, err := l.open(ctx, addresses, &l.flags)
	if err != nil {
		return l.noRows(err)
	}
	defer func() { err = errors.Join(err, ds.Close(ctx)) }()
	shape, err := shapeOf(ds)
	if err != nil {
		return err
	}
	shape = shape.AsStored()
	schema := shape.Schema()
	if !l.full {
		schema = rowio.ShortSchema(schema)
	}
	parts := l.partsOf(ds.Dataset)
	if l.begun != nil {
		if err := l.begun(ctx, parts, shape); err != nil {
			return err
		}
	}
	names := l.namesFor(schema)
	out := l.rowShow(names.schema(schema), term.NewInterruptible(ctx, term.Shown(l.stdout)))
	for _, part := range parts {
		err = part.take(ctx, part.data, shape, pick(part.data.NumSamples()), func(columns []*column.Array, n int) error {
			if l.taken != nil {
				if err := l.taken(columns, n); err != nil {
					return err
				}
			}
			if !l.full {
				columns = rowio.ShortColumns(columns, schema)
			}
			return out.add(names.of(part.name, columns, n), n)
		})
		if err != nil {
			return err
		}
	}
	return out.end()
}

// A rowShow is a form of rows on their way to stdout.
type rowShow interface {
	add(columns []*column.Array, n int) error
	end() error
}

func (l *look) rowShow(schema *column.Schema, w io.Writer) rowShow {
	if l.format == "table" {
		width := 0
		if term.IsTerminal(l.stdout) {
			width = term.Columns(l.stdout)
		}
		return &tableShow{rowio.NewTable(schema, l.full, l.items()), w, width}
	}
	format, _ := rowio.FormatOf(l.format, schema, l.items()) // only arrow fails
	return &lineShow{w: w, buffer: format.Begin, appendRow: format.Row}
}

// items is how many items of a list are shown.
func (l *look) items() int {
	if l.full {
		return math.MaxInt
	}
	return rowio.ShownItems
}

// A tableShow is a table, which is written at the end, when its widths are known.
type tableShow struct {
	*rowio.Table
	w     io.Writer
	width int // of a line; 0 is any
}

func (s *tableShow) add(columns []*column.Array, n int) error { return s.Add(columns, n) }

func (s *tableShow) end() error { return s.Print(s.w, s.width) }

// A lineShow is a line for each row.
type lineShow struct {
	w         io.Writer
	buffer    []byte
	appendRow func(dst []byte, columns []*column.Array, i int) []byte
}

func (s *lineShow) add(columns []*column.Array, n int) error {
	for i := range n {
		s.buffer = s.appendRow(s.buffer, columns, i)
	}
	return s.end()
}

func (s *lineShow) end() error {
	_, err := s.w.Write(s.buffer)
	s.buffer = s.buffer[:0]
	return err
}
