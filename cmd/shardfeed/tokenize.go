package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/rowio"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/tokens"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/tokenize"
)

// A tokenizeCommand is one run of tokenize.
type tokenizeCommand struct {
	*app
	flags
	column    string
	documents int64
	of        shardfeed.Tokenizer
}

func (a *app) tokenize() *cobra.Command {
	t := &tokenizeCommand{app: a}
	c := &cobra.Command{
		Use:   "tokenize [flags] TOKENIZER [--column NAME ADDRESS...]",
		Short: "Show a tokenizer, and what it makes of documents",
		Long: `tokenize reads a tokenizer.json, the JSON file of Mistral's Tekken or, with --pattern, a file of
tiktoken, by its path or its address, and shows its parts. A part that shardfeed does not implement
exactly is an error that names it.

With a column of text it also reads the first rows of a table, and shows how many bytes a token has,
how fast one thread makes tokens here, and the tokens of ten documents. --join has several columns,
and --labels the ones of them whose tokens are trained: the other tokens are grey.`,
		Example: `  shardfeed tokenize tokenizer.json
  shardfeed tokenize tokenizer.json data/ --column text
  shardfeed tokenize s3://bucket/tokenizer.json data/ --join prompt,completion --labels completion`,
	}
	fs := c.Flags()
	fs.StringVar(&t.column, "column", "", "name of the column of text")
	fs.StringSliceVar(&t.of.Join, "join", nil, "`names` of columns of text whose tokens become one document, in this order")
	fs.StringSliceVar(&t.of.Labels, "labels", nil, "`names` of columns of --join whose tokens are trained")
	fs.StringVar(&t.of.Specials, "specials", "parse", "what special tokens in a text become, `parse, text or error`")
	fs.BoolVar(&t.of.Template, "template", false, "add the tokens of the tokenizer's template around each document")
	fs.StringVar(&t.of.Pattern, "pattern", "", "`name` of the pattern of a file of tiktoken: "+strings.Join(tokenize.Patterns(), ", "))
	fs.Int64Var(&t.documents, "documents", 1000, "read this many rows")
	t.looks(fs)
	t.add(fs, "json", "what.reading", "what.snapshot", "storage", "cache")
	return a.runs(c, func(ctx context.Context, args []string) error {
		if err := t.check(ctx, fs); err != nil {
			return err
		}
		if t.column != "" {
			t.of.Join = append([]string{t.column}, t.of.Join...)
		}
		switch {
		case len(args) == 0 || args[0] == "":
			return usagef("tokenize needs a tokenizer: the path of its file, as in tokenizer.json")
		case t.column != "" && len(t.of.Join) > 1:
			return usagef("--column %s contradicts --join, which has all columns; leave one of the two out", t.column)
		case len(args) > 1 && len(t.of.Join) == 0:
			return usagef("--column must name the column of text")
		case len(args) == 1 && len(t.of.Join) > 0:
			return usagef("--column needs the address of a table after the tokenizer")
		case t.documents < 1:
			return usagef("--documents must be at least 1, got %d", t.documents)
		}
		t.of.File = args[0]
		return t.run(ctx, args[1:])
	})
}

func (t *tokenizeCommand) run(ctx context.Context, addresses []string) error {
	tokenizer, err := t.load(ctx)
	if err != nil {
		return err
	}
	trial, err := tokens.NewTrial(tokenizer, t.of, 10)
	if err != nil {
		return usagef("%v", err)
	}
	r := tokens.NewReport(shard.Redact(t.of.File), tokenizer)
	if len(addresses) > 0 {
		if err := t.read(ctx, addresses, trial); err != nil {
			return err
		}
		r.Add(trial)
	}
	return t.print(&t.flags, r, r.Term(term.IsTerminal(t.stdout)))
}

// load reads the tokenizer, from a store if it has an address.
func (t *tokenizeCommand) load(ctx context.Context) (_ *tokenize.Tokenizer, err error) {
	if scheme, _ := shard.SplitScheme(t.of.File); scheme == "" {
		return tokens.Load(ctx, nil, t.of)
	}
	shown := term.NewOpening(t.stderr)
	defer shown.Close()
	stores, err := t.at(nil).Stores(t.events(shown))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	return tokens.Load(ctx, stores, t.of)
}

// read gives the first rows of the columns to the trial.
func (t *tokenizeCommand) read(ctx context.Context, addresses []string, trial *tokens.Trial) error {
	return t.withShards(ctx, addresses, &t.flags, func(stores shard.Stores, of foundShards, o rowgroup.Options) error {
		o.Columns = t.of.Join
		m, err := rowgroup.Open(ctx, stores, of.shards, o)
		if err != nil {
			return err
		}
		defer m.Close()
		if err := t.checkColumns(m.Schema()); err != nil {
			return err
		}
		shape, err := loader.Options{}.Shape(m.Schema())
		if err != nil {
			return err
		}
		return rowio.TakeOf(ctx, m, shape, firstRows(m, m.Live(of.table), t.documents), func(columns []*column.Array, _ int) error {
			return trial.Rows(columns)
		})
	})
}

// checkColumns refuses columns that are not texts.
func (t *tokenizeCommand) checkColumns(s *column.Schema) error {
	flag := "--join"
	if t.column != "" {
		flag = "--column"
	}
	for _, f := range s.Fields {
		if f.Kind != column.Binary {
			return usagef("%s must name columns of text, and %q is %v", flag, f.Name, f)
		}
	}
	if len(s.Fields) != len(t.of.Join) {
		return usagef("%s must name whole columns of text, got %q", flag, t.of.Join)
	}
	return nil
}

// firstRows lists the numbers of the first n rows that are live.
func firstRows(m *rowgroup.Reader, live *table.Live, n int64) (rows []int64) {
	before := int64(0)
	for g, group := range m.Groups() {
		for row := range group.Rows {
			if int64(len(rows)) == n {
				return rows
			}
			if live.Has(g, row) {
				rows = append(rows, before+row)
			}
		}
		before += group.Rows
	}
	return rows
}
