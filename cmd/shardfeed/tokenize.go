package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/rowio"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/tokens"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/text"
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
	pattern   string
	documents int64
	trial     *tokens.Trial
}

func (a *app) tokenize() *cobra.Command {
	t := &tokenizeCommand{app: a}
	c := &cobra.Command{
		Use:   "tokenize [flags] TOKENIZER [--column NAME ADDRESS...]",
		Short: "Show a tokenizer, and what it makes of documents",
		Long: `tokenize reads a tokenizer.json, the JSON file of Mistral's Tekken or, with --pattern, a file of
tiktoken, and shows its parts. A part that shardfeed does not implement exactly is an error that
names it.

With a column of text it also reads the first rows of a table, and shows how many bytes a token has,
how fast one thread makes tokens here, and the tokens of ten documents.`,
		Example: `  shardfeed tokenize tokenizer.json
  shardfeed tokenize tokenizer.json data/ --column text`,
	}
	fs := c.Flags()
	fs.StringVar(&t.column, "column", "", "name of the column of text")
	fs.StringVar(&t.pattern, "pattern", "", "`name` of the pattern of a file of tiktoken: "+strings.Join(tokenize.Patterns(), ", "))
	fs.Int64Var(&t.documents, "documents", 1000, "read this many rows")
	t.looks(fs)
	t.add(fs, "json", "what.reading", "what.snapshot", "storage", "cache")
	return a.runs(c, func(ctx context.Context, args []string) error {
		if err := t.check(ctx, fs); err != nil {
			return err
		}
		switch {
		case len(args) == 0 || args[0] == "":
			return usagef("tokenize needs a tokenizer: the path of its file, as in tokenizer.json")
		case len(args) > 1 && t.column == "":
			return usagef("--column must name the column of text")
		case len(args) == 1 && t.column != "":
			return usagef("--column needs the address of a table after the tokenizer")
		case t.documents < 1:
			return usagef("--documents must be at least 1, got %d", t.documents)
		}
		return t.run(ctx, args[0], args[1:])
	})
}

// A tokenizerReport is the result of tokenize.
type tokenizerReport struct {
	Tokenizer   string          `json:"tokenizer"`
	Parts       []string        `json:"parts"`
	Tokens      int             `json:"tokens"`
	Bytes       int64           `json:"tokenizer_bytes"`
	Fingerprint string          `json:"fingerprint"`
	Column      string          `json:"column"`
	Text        *tokens.Figures `json:"text"` // null without a table
}

func (t *tokenizeCommand) run(ctx context.Context, name string, addresses []string) error {
	tokenizer, err := tokens.Load(name, t.pattern)
	if err != nil {
		return err
	}
	r := tokenizerReport{
		Tokenizer: name, Parts: tokenizer.Parts(), Tokens: tokenizer.VocabSize(), Bytes: tokenizer.Memory(),
		Fingerprint: tokenizer.Fingerprint(), Column: t.column,
	}
	if len(addresses) > 0 {
		t.trial = tokens.NewTrial(tokenizer, 10)
		if err := t.read(ctx, addresses); err != nil {
			return err
		}
		figures := t.trial.Figures()
		r.Text = &figures
	}
	return t.print(&t.flags, r, t.report(&r))
}

// read gives the first rows of the column to the trial.
func (t *tokenizeCommand) read(ctx context.Context, addresses []string) error {
	return t.withShards(ctx, addresses, &t.flags, func(stores shard.Stores, of foundShards, o rowgroup.Options) error {
		o.Columns = []string{t.column}
		m, err := rowgroup.Open(ctx, stores, of.shards, o)
		if err != nil {
			return err
		}
		defer m.Close()
		fields := m.Schema().Fields
		if len(fields) != 1 || fields[0].Kind != column.Binary {
			return usagef("--column must name one column of text, and %q is %v", t.column, fields[0])
		}
		shape, err := loader.Options{}.Shape(m.Schema())
		if err != nil {
			return err
		}
		return rowio.TakeOf(ctx, m, shape, firstRows(m, m.Live(of.table), t.documents), func(columns []*column.Array, _ int) error {
			a := columns[0]
			for i := range a.Len {
				if a.IsNull(i) {
					continue
				}
				if err := t.trial.Add(a.Data[a.Offsets[i]:a.Offsets[i+1]]); err != nil {
					return err
				}
			}
			return nil
		})
	})
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

func (t *tokenizeCommand) report(r *tokenizerReport) *term.Report {
	p := &term.Report{}
	p.Section("tokenizer")
	for _, part := range r.Parts {
		name, text, _ := strings.Cut(part, ": ")
		p.Fact(name, "%s", text)
	}
	p.Fact("vocabulary", "%s tokens, %v in memory", text.Count(int64(r.Tokens)), mem.Bytes(r.Bytes))
	p.Fact("fingerprint", "%s", r.Fingerprint)
	if f := r.Text; f != nil {
		p.Section("text")
		p.Fact("read", "%s of column %q, %v", text.Plural(f.Documents, "document"), r.Column, mem.Bytes(f.Bytes))
		p.Fact("tokens", "%s, %.2f bytes each", text.Count(f.Tokens), f.TokenBytes)
		p.Fact("speed", "%.0f MB/s on one thread", f.ByteRate/1e6)
		p.Fact("special tokens", "in %s", text.Plural(f.WithSpecial, "document"))
		if f.NotUTF8 > 0 {
			p.Fact("not UTF-8", "%s", text.Plural(f.NotUTF8, "document"))
		}
		p.Section("documents")
		for _, v := range t.trial.Views() {
			p.B.WriteString("  " + v.Text(term.IsTerminal(t.stdout)) + "\n")
		}
	}
	return p
}
