package samples

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable/internal/transform"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/table"
)

// A Choice chooses rows of a data set or of a source. A row must pass everything that is given
// here.
type Choice struct {
	Filters string     // keeps the rows for which it is true, in the language of package rule
	Split   rule.Split // a part of all rows, or a sample of them

	Rows    *rule.RowList // the rows that a rows file lists
	RowsNew rule.NewRows  // how to treat the rows of shards that Rows does not know
}

// Options make up a rule; see the options of a data set.
type Options struct {
	Choice
	Filter   *rule.Expr // of Filters, by Parse; nil keeps all rows
	Weight   string
	Pack     *Pack
	Bucket   *rule.Bucket
	Texts    func(column string) []string // the columns that a column of tokens is made of; nil for others
	Now      time.Time
	ReadFile func(name string) ([]byte, error)
	Table    *table.Snapshot // of the shards, in their order; nil without one
}

// Rules are the rule of a data set, bound to its shards: which of their rows are samples, and how
// often. They are immutable and safe for concurrent use; a selector applies them.
//
// A row must pass all of them: the part by row numbers, the rows list, the live rows of a table,
// the filter, the part by a key. The weight then decides how often it comes. The packing makes
// samples of the rows that come; without one each row is a sample.
type Rules struct {
	Name  string // 16 hex digits, of text and of a fill-in-the-middle
	text  string // canonical: rules of one text make as many samples of the same rows of the same data
	first []int64
	rows  []int64 // of each row group; first is the number of its first row among all rows

	filter *rule.Filter // nil keeps all
	expr   string       // of filter
	Now    string       // that the filter takes today() and now() from, or ""
	inputs []int        // of the filter, among the rule columns
	part   *rule.Part   // nil is all rows
	key    int          // rule column that decides the part; -1: the row's number does
	list   *rule.KeptRows
	live   *table.Live // nil: the table deleted no row
	Weight int         // rule column; -1: each row comes once
	Pack   *Packing    // nil: each row that comes is a sample
	seed   uint64
	Given  []string // the options that make up the rule
}

// Columns lists the columns that a rule reads, each once.
type Columns struct {
	List []rowgroup.RuleColumn
	at   map[string]int
}

// add returns the place of a column. With lengths its items are not read.
func (c *Columns) add(path string, lengths bool) int {
	if c.at == nil {
		c.at = map[string]int{}
	}
	i, ok := c.at[path]
	if !ok {
		i = len(c.List)
		c.at[path] = i
		c.List = append(c.List, rowgroup.RuleColumn{Path: path, Lengths: lengths})
	}
	c.List[i].Lengths, c.List[i].Counted = c.List[i].Lengths && lengths, false
	return i
}

// addMeasured adds the columns by which rows are measured. Texts are read only to count: a load
// measures the tokens that it makes of them.
func (c *Columns) addMeasured(paths []string, lengths, texts bool) {
	for _, path := range paths {
		_, others := c.at[path]
		i := c.add(path, lengths)
		c.List[i].Counted = texts && !others
	}
}

// Columns returns the columns that the rule reads.
func (o Options) Columns() Columns {
	var c Columns
	if o.Filter != nil {
		for _, path := range o.Filter.Columns() {
			c.add(path, true) // filters compare no items
		}
	}
	if o.Split.Key != "" {
		c.add(o.Split.Key, false)
	}
	if o.Weight != "" {
		c.add(o.Weight, false)
	}
	if p := o.Pack; p != nil && len(p.Columns) > 0 {
		c.addMeasured(o.measured(), p.Length == "", p.Length == "" && o.texts(p.Names()[0]) != nil)
	}
	if o.Bucket != nil && len(o.Bucket.Columns) > 0 {
		c.addMeasured(o.measured(), true, o.texts(o.Bucket.Name()) != nil)
	}
	return c
}

// measured returns the rule columns by which rows are measured for a packing or a bucket: the one
// with lists or lengths, or the texts of which the lists are made.
func (o Options) measured() []string {
	var name string
	switch {
	case o.Bucket != nil:
		name = o.Bucket.Name()
	case o.Pack.Length != "":
		return []string{o.Pack.Length}
	default:
		name = o.Pack.Names()[0]
	}
	if texts := o.texts(name); texts != nil {
		return texts
	}
	return []string{name}
}

// texts returns the columns that a column of tokens is made of, or nil.
func (o Options) texts(name string) []string {
	if o.Texts == nil {
		return nil
	}
	return o.Texts(name)
}

// Bind makes the rule of the options for a manifest whose columns are delivered as transforms
// change them; nil when each row is a sample. The error lists everything that is wrong.
func Bind(o Options, m *rowgroup.Reader, data *shuffle.Manifest, delivered *transform.Columns) (*Rules, error) {
	b := binder{options: o, delivered: delivered, schema: m.RuleSchema(), columns: o.Columns(), problems: option.List{New: option.NewError}}
	b.rules = &Rules{key: -1, Weight: -1, seed: o.Split.Seed}
	b.filter()
	b.part()
	b.rows(m, data)
	b.weight()
	b.pack()
	b.bucket()
	b.table(m)
	r := b.rules
	if err := b.problems.Err(); err != nil || len(b.text) == 0 {
		return nil, err
	}
	r.text = strings.Join(b.text, "\n")
	named := b.text
	if r.Draws() {
		named = append(named, r.Pack.Spec.FIM.Text())
	}
	r.Name = nameOf(named)
	r.number(m.Groups())
	return r, nil
}

// table takes the rows that a table did not delete. The name of its snapshot is not of the text,
// so that counts of files that stay the same are found again; see NameWith.
func (b *binder) table(m *rowgroup.Reader) {
	if b.rules.live = m.Live(b.options.Table); b.rules.live != nil {
		b.add("Snapshot", "live rows")
	}
}

// nameOf returns the name of lines of a canonical text.
func nameOf(lines []string) string {
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

// NameWith returns the name of the rule, of how loads make tokens, by its lines, and of the
// snapshot of a table; "" without all. r and t may be nil.
func (r *Rules) NameWith(lines []string, t *table.Snapshot) string {
	name := r.named(lines)
	if t == nil {
		return name
	}
	return nameOf([]string{name, fmt.Sprintf("table %s %q %q", t.Format, t.Table, t.Name)})
}

// named is the name without a table. The name of a packing has the lines already.
func (r *Rules) named(lines []string) string {
	switch {
	case r == nil && len(lines) == 0:
		return ""
	case r == nil:
		return nameOf(lines)
	case r.Pack != nil || len(lines) == 0:
		return r.Name
	}
	return nameOf(append([]string{r.text}, lines...))
}

// A binder makes rules of options, one option after the other.
type binder struct {
	options   Options
	schema    *column.Schema
	delivered *transform.Columns
	columns   Columns
	problems  option.List
	rules     *Rules
	text      []string
}

// add notes an option that makes up the rule, with its line of the canonical text.
func (b *binder) add(field, line string) {
	b.text = append(b.text, line)
	b.rules.Given = append(b.rules.Given, field)
}

func (b *binder) filter() {
	if b.options.Filter == nil {
		return
	}
	err := b.rules.bindFilter(b.options, b.schema, b.columns)
	if b.problems.Join(optionErrors(err)); err == nil {
		b.add("Filters", "filter "+b.rules.filter.Key())
	}
}

func (b *binder) part() {
	split := b.options.Split
	part, err := rule.NewPart(split)
	if b.problems.Join(optionErrors(err)); err != nil || part.All() {
		return
	}
	b.rules.part = part
	field, line := "Parts", part.Text()
	if len(split.Parts) == 0 {
		field = "Subsample"
	}
	if key := part.Key(); key != "" {
		b.rules.key = b.columns.at[key]
		line += typeOf(&b.problems, "PartKey", key, b.schema, rule.CheckKey)
	}
	b.add(field, line)
}

func (b *binder) rows(m *rowgroup.Reader, data *shuffle.Manifest) {
	if b.options.Rows == nil {
		return
	}
	excluded := make([]bool, len(data.Shards))
	for s := range excluded {
		excluded[s] = b.rules.prunePartition(m, s) == rule.None
	}
	list, err := b.options.Rows.Match(data, b.options.RowsNew, excluded)
	if b.problems.Join(optionErrors(err)); err == nil {
		b.rules.list = list
		b.add("Rows", list.Text())
	}
}

func (b *binder) weight() {
	path := b.options.Weight
	if path == "" {
		return
	}
	b.rules.Weight = b.columns.at[path]
	kind := typeOf(&b.problems, "Weight", path, b.schema, rule.CheckWeight)
	b.add("Weight", fmt.Sprintf("weight %q seed %d", path, b.rules.seed)+kind)
}

// bindFilter binds the filter and finds its columns.
func (r *Rules) bindFilter(o Options, schema *column.Schema, columns Columns) error {
	if now := o.Filter.Clock(o.Now); !now.IsZero() {
		r.Now = now.Format(time.RFC3339)
	}
	e, err := o.Filter.At(o.Now)
	if err != nil {
		return err
	}
	read := o.ReadFile
	if read == nil {
		read = os.ReadFile
	}
	f, err := e.Bind(schema, read)
	if err != nil {
		return err
	}
	for _, in := range f.Inputs() {
		i, ok := columns.at[strings.Join(in.Path, ".")]
		if !ok {
			return fmt.Errorf("the filter reads %q, which was not asked for; this is a bug", in.Path)
		}
		r.inputs = append(r.inputs, i)
	}
	r.filter, r.expr = f, e.String()
	return nil
}

// typeOf finds the column that an option names, checks its type, and returns that for the canonical
// text.
func typeOf(p *option.List, field, path string, schema *column.Schema, check func(*column.Field) error) string {
	f, err := column.Find(schema.Fields, path, func(f *column.Field) (*column.Field, []*column.Field) {
		if f.Kind != column.Struct {
			return f, nil
		}
		return f, f.Children
	})
	switch {
	case err != nil:
		p.Add(field, "names a column that the data has twice: %v", err)
	case f == nil:
		p.Add(field, "names column %q, which the data does not have%s", path, option.Near(path, column.Paths(schema.Fields), column.Names(schema.Fields)))
	case check != nil:
		p.Join(optionErrors(check(f)))
	}
	return fmt.Sprintf(" %v", f)
}

// number counts the rows before each row group.
func (r *Rules) number(groups []rowgroup.Group) {
	r.first, r.rows = make([]int64, len(groups)), make([]int64, len(groups))
	n := int64(0)
	for g := range groups {
		r.first[g], r.rows[g] = n, groups[g].Rows
		n += groups[g].Rows
	}
}

// Reads reports whether the rule reads columns; else arithmetic decides which rows it keeps.
func (r *Rules) Reads() bool { return r.filter != nil || r.readsMore() }

// readsMore reports whether the rule reads columns besides its filter's.
func (r *Rules) readsMore() bool { return r.choosesByMore() || r.Pack != nil }

// choosesByMore reports whether it reads them to find which rows come, and how often.
func (r *Rules) choosesByMore() bool {
	return r.part != nil && r.key >= 0 || r.Weight >= 0
}

// DecodesFirst reports whether a load decodes columns of the rule before all others.
func (r *Rules) DecodesFirst() bool {
	return r.filter != nil || r.choosesByMore() || r.Pack != nil && (r.Pack.Declared || r.Pack.Bucket != nil && r.Pack.texts == nil)
}

// Draws reports whether samples depend on random numbers of each epoch. r may be nil.
func (r *Rules) Draws() bool {
	return r != nil && r.Pack != nil && r.Pack.Spec != nil && r.Pack.Spec.FIM != nil
}

// Numbered reports whether the kept rows of a row group depend on the number of its first row.
func (r *Rules) Numbered() bool { return r.part != nil && r.key < 0 || r.Weight >= 0 }

// ErrNothing returns the error of a rule that keeps no row of rows.
func (r *Rules) ErrNothing(rows int64) error {
	text := fmt.Sprintf("must keep at least one row, got none of %d", rows)
	if r.Pack != nil && r.Pack.Bucket == nil {
		text = fmt.Sprintf("must find tokens in at least one row, got %d rows without any", rows)
	}
	if len(r.Given) > 1 {
		text += ", together with {" + strings.Join(r.Given[1:], "}, {") + "}"
	}
	if r.expr != "" {
		text += ": " + option.Literal(r.expr)
	}
	return &option.Error{Field: r.Given[0], Text: text, Err: ErrNoRow}
}

// ErrNoRow is the cause of the [option.Error] of a rule that keeps no row.
var ErrNoRow = errors.New("no row is kept")
