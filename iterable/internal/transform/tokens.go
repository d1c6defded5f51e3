package transform

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/tokenize"
)

// LabelsColumn is the list that has IgnoredLabel in places without a document.
const LabelsColumn = "labels"

// IgnoredLabel is the label that losses of torch leave out.
const IgnoredLabel = -100

// A Tokenizer makes a column of lists of tokens, int32, of columns of texts.
type Tokenizer struct {
	*tokenize.Tokenizer
	Options tokenize.Options
	Name    string // for users: its address, or ""

	// Join lists the columns whose tokens become one list, in this order; nil is the column that
	// has the name of the tokens. Each text is encoded separately. A row with a null in one of them
	// is null.
	Join []string

	// Labels lists the columns of Join whose tokens are labels too: the lists of LabelsColumn have
	// them, and IgnoredLabel in place of all others. nil makes no labels.
	Labels []string
}

// Texts returns the columns that the tokens of column name are made of.
func (t Tokenizer) Texts(name string) []string {
	if t.Join == nil {
		return []string{name}
	}
	return t.Join
}

// Columns returns the columns that the tokenizer makes: the one of tokens, whose name is given, and
// the one of labels.
func (t Tokenizer) Columns(name string) []string {
	if t.Labels == nil {
		return []string{name}
	}
	return []string{name, LabelsColumn}
}

// Line names the tokens that texts get: tokenizers of one line give each text the same ones.
func (t Tokenizer) Line() string {
	line := fmt.Sprintf("%s specials=%s", t.Fingerprint(), cmp.Or(t.Options.Specials, tokenize.SpecialsParse))
	if t.Options.Template {
		line += " template"
	}
	if t.Options.MaxTokens > 0 {
		line += fmt.Sprintf(" max_tokens=%d", t.Options.MaxTokens)
	}
	if t.Join != nil {
		line += fmt.Sprintf(" join=%q", t.Join)
	}
	if t.Labels != nil {
		line += fmt.Sprintf(" labels=%q", t.Labels)
	}
	return line
}

func (t Tokenizer) validate(p *option.List, name string) {
	field := fmt.Sprintf("Tokenize[%q]", name)
	if t.Tokenizer == nil {
		p.Add(field, "has no tokenizer: package tokenize loads one")
	} else if least := t.TemplateTokens() + 1; t.Options.Template && t.Options.MaxTokens > 0 && t.Options.MaxTokens < least {
		p.Add(field, "must have max_tokens of at least %d, room for a token beside the template's, got %d", least, t.Options.MaxTokens)
	}
	if err := t.Options.Validate(); err != nil {
		p.Add(field, "%v", err)
	}
	texts := t.Texts(name)
	for i, text := range texts {
		if text == "" || slices.Contains(texts[:i], text) {
			p.Add(field, "must join different columns, got %q", texts)
			break
		}
	}
	if t.Join != nil && len(t.Join) == 0 {
		p.Add(field, "must join at least one column")
	}
	for _, label := range t.Labels {
		if !slices.Contains(texts, label) {
			p.Add(field, "has labels of column %q, which is none of those that it joins: %q", label, texts)
		}
	}
}

// makes returns the tokenizer that makes a column.
func (o Options) makes(column string) (name string, ok bool) {
	for _, name := range o.names() {
		if slices.Contains(o.Tokenize[name].Columns(name), column) {
			return name, true
		}
	}
	return "", false
}

func (o Options) names() []string { return slices.Sorted(maps.Keys(o.Tokenize)) }

// Texts returns the columns of texts that a column of tokens or labels is made of; nil if it is not
// made of texts.
func (o Options) Texts(column string) []string {
	name, ok := o.makes(column)
	if !ok {
		return nil
	}
	return o.Tokenize[name].Texts(name)
}

// Reads returns the columns to read; nil is all. It leaves out columns that are made, and has their
// texts.
func (o Options) Reads() (all []string) {
	if o.Columns == nil {
		return nil
	}
	for _, name := range o.Columns {
		if _, made := o.makes(name); !made {
			all = append(all, name)
		}
	}
	for _, name := range o.names() {
		for _, text := range o.Tokenize[name].Texts(name) {
			if !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all
}

// delivers reports whether a column of texts is delivered beside what is made of it.
func (o Options) delivers(text string) bool {
	_, made := o.makes(text)
	return !made && slices.ContainsFunc(o.Columns, func(name string) bool { return name == text || column.MatchesName(name, text) })
}

// addTokens makes the columns of tokenizers. Each takes the place of a column of texts that nothing
// needs any more, or else a place behind the last.
func (c *Columns) addTokens(o Options) error {
	readers := map[string]int{}
	for name, t := range o.Tokenize {
		for _, text := range t.Texts(name) {
			readers[text]++
		}
	}
	read := slices.Clone(c.Schema.Fields)
	for _, name := range o.names() {
		t := o.Tokenize[name]
		t.Options.Repair = o.Repair
		e := &Encoders{Tokenizer: t, Column: name, Texts: t.Texts(name)}
		l := rowgroup.Listing{}
		nullable := false
		for _, text := range e.Texts {
			at, err := placeOf(read, text, fmt.Sprintf("Tokenize[%q]", name))
			if err != nil {
				return err
			}
			e.From, nullable = append(e.From, at), nullable || read[at].Nullable
			if readers[text]--; readers[text] == 0 && !o.delivers(text) {
				c.Schema.Fields[at] = &column.Field{Kind: column.Null, Made: true}
				l.Drop = append(l.Drop, at)
			}
			if t.Labels != nil {
				e.trained = append(e.trained, slices.Contains(t.Labels, text))
			}
		}
		l.From = e.From
		c.kept.From, c.kept.Drop = append(c.kept.From, l.From...), append(c.kept.Drop, l.Drop...)
		for _, made := range t.Columns(name) {
			c.addList(&l, made, nullable)
			c.encoders[made] = e
			c.kept.Short = append(c.kept.Short, made == name && t.MaxID() <= math.MaxUint16)
		}
		c.kept.Lists = append(c.kept.Lists, l.To...)
		c.tokens = append(c.tokens, e)
		c.Steps = append(c.Steps, Step{Column: name, Apply: func(d *rowgroup.Decoder, blocks []*rowgroup.Block, rows []uint32) (Made, error) {
			own := l
			own.Rows = rows
			return e.list(d, own, blocks)
		}})
	}
	c.kept.Form = fmt.Sprint(c.Lines(), o.Repair)
	return c.checkNames()
}

// KeepIn makes a reader free texts that nothing but tokens needs, and its tier keep the tokens.
func (c *Columns) KeepIn(m *rowgroup.Reader) {
	if len(c.tokens) == 0 {
		return
	}
	kept := c.kept
	_, kept.Scratch = c.Memory()
	kept.Make = func(d *rowgroup.Decoder, blocks []*rowgroup.Block) error {
		for _, s := range c.Steps[len(c.Steps)-len(c.tokens):] {
			if _, err := s.Apply(d, blocks, nil); err != nil {
				return err
			}
		}
		return nil
	}
	m.KeepMade(kept)
}

// addList adds a column of lists to the schema, and to what a listing makes.
func (c *Columns) addList(l *rowgroup.Listing, name string, nullable bool) {
	to := rowgroup.ListedColumn{At: len(c.Schema.Fields), Field: &column.Field{
		Name: name, Kind: column.List, Nullable: nullable,
		Children: []*column.Field{{Name: "element", Kind: column.Fixed, Type: column.TypeInt32, Width: 4}},
	}}
	if len(l.Drop) > 0 {
		to.At, l.Drop = l.Drop[0], l.Drop[1:]
		c.Schema.Fields[to.At] = to.Field
	} else {
		c.Schema.Fields = append(c.Schema.Fields, to.Field)
	}
	l.To = append(l.To, to)
	c.texts = append(c.texts, l.From...)
}

// checkNames refuses two columns of one name if one of them is made.
func (c *Columns) checkNames() error {
	for i, f := range c.Schema.Fields {
		e := c.encoders[f.Name]
		if e != nil && slices.ContainsFunc(c.Schema.Fields[:i], func(other *column.Field) bool { return other.Name == f.Name }) {
			return &option.Error{Field: fmt.Sprintf("Tokenize[%q]", e.Column), Text: fmt.Sprintf("makes the column %q, and there is another of that name: leave it out of {Columns}", f.Name)}
		}
	}
	return nil
}

// placeOf returns the place of a column of text that an option needs.
func placeOf(fields []*column.Field, name, needs string) (int, error) {
	named := func(f *column.Field) bool { return f.Name == name }
	at := slices.IndexFunc(fields, named)
	text := ""
	switch {
	case at < 0:
		text = fmt.Sprintf("needs column %q, which is not read: name a whole column of the data%s", name, like(name, fields))
	case slices.ContainsFunc(fields[at+1:], named):
		text = fmt.Sprintf("needs column %q, and the data has it twice", name)
	case fields[at].Kind != column.Binary:
		text = fmt.Sprintf("needs a column with one text a row, and %q is %v", name, fields[at])
	default:
		return at, nil
	}
	return 0, &option.Error{Field: needs, Text: option.Literal(text)}
}

// like names the columns that a name may mean.
func like(name string, fields []*column.Field) string {
	var names []string
	for _, f := range fields {
		if f.Name != "" {
			names = append(names, f.Name)
		}
	}
	if len(option.Like(name, slices.Values(names))) == 0 {
		return ""
	}
	return option.Near(name, slices.Values(names), names)
}

// Encoders returns the encoders of a column of tokens or labels, or nil if it is another.
func (c *Columns) Encoders(name string) *Encoders { return c.encoders[name] }

// Labels returns the encoders that make LabelsColumn beside their tokens, or nil.
func (c *Columns) Labels() *Encoders {
	if e := c.encoders[LabelsColumn]; e != nil && e.trained != nil {
		return e
	}
	return nil
}

// Tokenizers returns the encoders of all columns of tokens.
func (c *Columns) Tokenizers() []*Encoders { return c.tokens }

// Tokenized returns the columns of the files that lists are made of, each as often as lists are.
func (c *Columns) Tokenized() []int { return c.texts }

// Lines describe how columns get tokens: the tokens of a text are the same where the lines are.
func (c *Columns) Lines() (all []string) {
	for _, e := range c.tokens {
		all = append(all, fmt.Sprintf("tokenize %q %s", e.Column, e.Line()))
	}
	return all
}

// encoderBytes is the memory of an encoder beside its cache.
const encoderBytes = 1 << 20

// Memory returns the bytes of the tables, which all goroutines share, and of the encoders that a
// goroutine uses at a time.
func (c *Columns) Memory() (shared, each int64) {
	for _, e := range c.tokens {
		each = max(each, int64(e.Options.CacheBytes)+encoderBytes)
	}
	return Tables(c), each
}

// Tables returns the bytes of the tables of tokenizers, each once.
func Tables(all ...*Columns) (bytes int64) {
	seen := map[*tokenize.Tokenizer]bool{}
	for _, c := range all {
		for _, e := range c.tokens {
			if t := e.Tokenizer.Tokenizer; !seen[t] {
				seen[t] = true
				bytes += t.Memory()
			}
		}
	}
	return bytes
}
