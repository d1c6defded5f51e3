package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/rowio"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// A vocabCommand is one run of vocab.
type vocabCommand struct {
	*app
	flags
	column   string
	minCount int64
	save     string
}

func (a *app) vocab() *cobra.Command {
	v := &vocabCommand{app: a}
	c := &cobra.Command{
		Use:   "vocab [flags] --column NAME ADDRESS...",
		Short: "List the words of a text column",
		Long: `vocab lists the different values of a text column as a JSON list, which a data set takes as the
vocabulary of the column: there each word is the number of its place. Nulls are left out. The
words are sorted by their bytes; with --min-count by falling count, and words that occur less often
are left out.

Where a dictionary codes a column chunk, its words are read and the rows are not. A writer may put
words into a dictionary that no row has, such as unused categories; they are listed too.
--min-count 1 reads all rows, and lists the words that they have.`,
		Example: `  shardfeed vocab data/ --column label --save words.json
  shardfeed vocab data/ --column label --min-count 5 --json`,
	}
	fs := c.Flags()
	fs.StringVar(&v.column, "column", "", "name of the column, or dotted path to a member of a struct")
	fs.Int64Var(&v.minCount, "min-count", 0, "count the words, and leave out those that occur less often")
	fs.StringVar(&v.save, "save", "", "write the list into this `file` instead of stdout")
	v.looks(fs)
	v.add(fs, "json", "what.reading", "what.snapshot", "storage", "cache")
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := v.prepare(ctx, fs); err != nil {
			return err
		}
		return v.run(ctx, addresses)
	})
}

func (v *vocabCommand) prepare(ctx context.Context, fs *pflag.FlagSet) error {
	if err := v.check(ctx, fs); err != nil {
		return err
	}
	switch {
	case v.column == "":
		return usagef("--column must name the column whose words are wanted")
	case fs.Changed("min-count") && v.minCount < 1:
		return usagef("--min-count must be at least 1, got %d", v.minCount)
	case v.save != "":
		return v.saveFile().check()
	}
	return nil
}

func (v *vocabCommand) saveFile() saveFile {
	return saveFile{flag: "save", name: v.save, kind: saveKind{noun: "vocabulary", prefix: `["`, is: func(path string, n int64) bool {
		return n <= 3 || beginsWith(path, `["`) // an empty list has no word
	}}}
}

// A vocabulary is the result of vocab.
type vocabulary struct {
	Column string   `json:"column"`
	Rows   int64    `json:"rows"`
	Nulls  int64    `json:"nulls"`
	Words  []string `json:"words"`
	Counts []int64  `json:"counts"` // of the words; empty without --min-count
}

func (v *vocabCommand) run(ctx context.Context, addresses []string) error {
	found := vocabulary{Column: v.column, Words: []string{}, Counts: []int64{}}
	counts := map[string]int64{}
	err := v.withShards(ctx, addresses, &v.flags, func(stores shard.Stores, of foundShards, o rowgroup.Options) error {
		o.Columns, o.RuleColumns = []string{v.column}, []rowgroup.RuleColumn{{Path: v.column}}
		m, err := rowgroup.Open(ctx, stores, of.shards, o)
		if err != nil {
			return err
		}
		defer m.Close()
		return found.find(ctx, m, m.Live(of.table), counts, v.minCount > 0)
	})
	if err != nil {
		return err
	}
	found.list(counts, v.minCount)
	if v.save != "" {
		if err := v.saveFile().write(ctx, wordList(found.Words)); err != nil {
			return err
		}
	}
	switch {
	case v.json:
		return term.WriteJSON(v.stdout, found)
	case v.save == "":
		_, err = term.Shown(v.stdout).Write(wordList(found.Words))
	}
	return err
}

// find collects the words of all live rows, and counts them when they are to be counted.
func (f *vocabulary) find(ctx context.Context, m *rowgroup.Reader, live *table.Live, counts map[string]int64, counted bool) error {
	fields := m.Schema().Fields
	for len(fields) == 1 && fields[0].Kind == column.Struct {
		fields = fields[0].Children
	}
	if len(fields) != 1 || fields[0].Kind != column.Binary || fields[0].Type == column.TypeBinary || fields[0].Type == column.TypeBSON {
		return usagef("--column must name one column of text, and %q is %v", f.Column, m.Schema().Fields[0])
	}
	left := allGroups(len(m.Groups()))
	if !counted {
		var err error
		if left, err = f.dictionaries(ctx, m, live, counts); err != nil {
			return err
		}
	}
	shape, err := loader.Options{}.Shape(m.Schema())
	if err != nil {
		return err
	}
	t := rowio.NewTaker(m, shape, func(columns []*column.Array, _ int) error {
		f.count(columns[0], counts)
		return nil
	})
	defer t.Close()
	for _, g := range left {
		if err := t.All(ctx, g, live); err != nil {
			return err
		}
	}
	return nil
}

// allGroups are the positions of n row groups.
func allGroups(n int) []int {
	all := make([]int, n)
	for g := range all {
		all[g] = g
	}
	return all
}

// count counts the words of an array, below structs.
func (f *vocabulary) count(a *column.Array, counts map[string]int64) {
	f.Rows += int64(a.Len)
	for a.Field.Kind == column.Struct {
		a = a.Children[0]
	}
	for i := range a.Len {
		if a.IsNull(i) {
			f.Nulls++
			continue
		}
		countWord(counts, a.Data[a.Offsets[i]:a.Offsets[i+1]])
	}
}

func countWord(counts map[string]int64, word []byte) {
	if n, ok := counts[string(word)]; ok { // without a copy of the word
		counts[string(word)] = n + 1
	} else {
		counts[string(word)] = 1
	}
}

// list sorts the words: by their bytes, or by falling count where few occurrences leave a word out.
func (f *vocabulary) list(counts map[string]int64, least int64) {
	if f.Words = slices.Sorted(maps.Keys(counts)); f.Words == nil {
		f.Words = []string{}
	}
	if least == 0 {
		return
	}
	f.Words = slices.DeleteFunc(f.Words, func(w string) bool { return counts[w] < least })
	slices.SortStableFunc(f.Words, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	for _, w := range f.Words {
		f.Counts = append(f.Counts, counts[w])
	}
}

// wordList is a JSON list, a word a line.
func wordList(words []string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteByte('[')
	for i, word := range words {
		if i > 0 {
			b.WriteString(",\n ")
		}
		_ = e.Encode(word) // a text always encodes
		b.Truncate(b.Len() - 1)
	}
	b.WriteString("]\n")
	return b.Bytes()
}
