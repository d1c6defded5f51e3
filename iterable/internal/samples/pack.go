package samples

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable/internal/transform"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
)

// A Pack makes samples of several rows: blocks of one size of the lists of a unit. The schema has
// lists of that size then, lists of one value a document of all other columns, and behind them
// rowgroup.LengthsColumn, the tokens of each document in the block.
type Pack struct {
	rule.Pack
	Value int64 // fills the end of a block
}

// ValidateTokens returns an error if another packing, which may be nil, differs by more than its
// tokens.
func (p *Pack) ValidateTokens(other *Pack) error {
	switch {
	case other == nil:
		return nil
	case p == nil:
		return option.NewError("Pack", "needs {Pack} of all sources")
	case !reflect.DeepEqual(p.shape(), other.shape()):
		return option.NewError("Pack", "must be {Pack} of all sources with other tokens")
	}
	return nil
}

// shape returns the packing without its tokens.
func (p Pack) shape() Pack {
	p.EOS, p.BOS, p.Value = nil, nil, 0
	if p.FIM != nil {
		p.FIM = &rule.FillInTheMiddle{Rate: p.FIM.Rate, SPMRate: p.FIM.SPMRate}
	}
	return p
}

// Packing is the third stage of a rule: the samples that are made of the rows that are kept.
type Packing struct {
	Spec     *rule.Pack   // nil where samples are batches
	Bucket   *rule.Bucket // nil where samples are blocks of tokens
	Layout   *rowgroup.Packing
	lengths  []int          // rule columns: one of lengths or of lists, or the texts
	Declared bool           // it is a column of lengths, not the lists themselves
	Tokens   int            // column of the schema whose lists are packed
	schema   *column.Schema // of the rows
	Known    *LengthStore

	transforms *transform.Columns
	texts      *transform.Encoders // of the rule columns of lengths, which have texts; nil: there is one of lists or lengths
}

// NewFit returns a packer of documents, for one goroutine.
func (k *Packing) NewFit() *rule.Packer {
	if k.Bucket != nil {
		return k.Bucket.NewPacker()
	}
	return k.Spec.NewPacker()
}

// extra is how many tokens are written around the items of a document.
func (k *Packing) extra() int {
	if k.Bucket != nil {
		return 0
	}
	return k.Spec.Extra()
}

// bucket is the last stage of a rule whose samples are batches.
func (b *binder) bucket() {
	u, schema := b.options.Bucket, b.delivered.Schema
	if u == nil {
		return
	}
	k := &Packing{Bucket: u, Tokens: -1, schema: schema, lengths: b.measured()}
	k.transforms, k.texts = b.delivered, b.delivered.Encoders(u.Name())
	kind := ""
	for _, path := range b.options.measured() {
		kind += typeOf(&b.problems, fmt.Sprintf("Bucket[%q]", u.Name()), path, b.schema, func(f *column.Field) error {
			if k.Declared = k.texts == nil && f.Kind != column.List; !k.Declared {
				return nil
			}
			return checkIntegers(fmt.Sprintf("Bucket[%q]", u.Name()), "must be a column of lists, or of integers that are their lengths", f)
		})
	}
	b.add("Bucket", u.Text()+kind+b.tokens())
	k.Layout = rowgroup.NewPacking(schema, 0, make([]rowgroup.PackedColumn, len(schema.Fields)))
	b.rules.Pack = k
}

// measured returns the places of the columns that the options measure.
func (b *binder) measured() (at []int) {
	for _, path := range b.options.measured() {
		at = append(at, b.columns.at[path])
	}
	return at
}

// pack is the last stage of the rule.
func (b *binder) pack() {
	p, schema := b.options.Pack, b.delivered.Schema
	if p == nil {
		return
	}
	k := &Packing{Spec: &p.Pack, Tokens: -1, Declared: p.Length != "", schema: schema}
	columns := make([]rowgroup.PackedColumn, len(schema.Fields))
	for i, f := range schema.Fields {
		_, named := p.Columns[f.Name]
		switch {
		case f.Name == rowgroup.LengthsColumn:
			b.problems.Add("Pack", "adds a column %q, and the data has one: leave it out of {Columns}", f.Name)
		case f.Made && f.Name == "":
			columns[i].First = true
		case f.Name == transform.LabelsColumn && b.delivered.Labels() != nil:
			columns[i] = b.labels(p, f)
		case named:
			columns[i] = b.named(p, f)
		case f.Kind == column.List && f.Children[0].Kind == column.Fixed && f.Name != "":
			columns[i] = b.along(p, f)
		}
	}
	for _, name := range p.Names() {
		i := slices.IndexFunc(schema.Fields, func(f *column.Field) bool { return f.Name == name })
		if i < 0 {
			b.problems.Add(fmt.Sprintf("Pack[%q]", name), "names a column that is not read; name one of the data, and have it among {Columns}")
			continue
		}
		if k.Tokens < 0 {
			k.Tokens = i
		}
	}
	b.infill(p, k.Tokens, columns)
	k.lengths = b.measured()
	if k.transforms = b.delivered; !k.Declared {
		k.texts = k.transforms.Encoders(p.Names()[0])
	}
	tokens := b.tokens()
	if k.Declared {
		kind := typeOf(&b.problems, "Pack.Length", p.Length, b.schema, checkLengths)
		b.add("Pack", fmt.Sprintf("%s by %q", p.Text(), p.Length)+kind+tokens)
	} else {
		b.add("Pack", p.Text()+tokens)
	}
	k.Layout = rowgroup.NewPacking(schema, p.Size(), columns)
	b.rules.Pack = k
}

// tokens returns the lines of the canonical text about columns that are made of texts.
func (b *binder) tokens() (lines string) {
	for _, line := range b.delivered.Lines() {
		lines += "\n" + line
	}
	return lines
}

// TokenizeFirst returns what to do about a column of text where token lists are needed.
func TokenizeFirst(f *column.Field) string {
	switch {
	case f.Kind == column.List && f.Children[0].Type == column.TypeString:
		return ": text becomes tokens first, so write a column of token lists and name it"
	case f.Type == column.TypeString:
		return ": text becomes tokens first, so name its tokenizer by {Tokenize}, or a column of token lists"
	}
	return ""
}

// named is a column that the options name.
func (b *binder) named(p *Pack, f *column.Field) (c rowgroup.PackedColumn) {
	at := fmt.Sprintf("Pack[%q]", f.Name)
	if f.Kind != column.List || f.Children[0].Kind != column.Fixed {
		b.problems.Add(at, "must be a column of lists of fixed-width values, got %v"+TokenizeFirst(f), f)
		return c
	}
	c.Tokens = true
	item := f.Children[0]
	value := p.Value
	if f.Name == transform.LabelsColumn && signed(item) {
		value = transform.IgnoredLabel
	}
	c.Fill = b.token(at, "value", item, value)
	if p.BOS != nil {
		c.Before = b.token(at, "bos", item, *p.BOS)
	}
	if p.EOS != nil {
		c.After = b.token(at, "eos", item, *p.EOS)
	}
	return c
}

// labels is the column of labels that is made with tokens. What is written before a document has no
// label, and what is written behind it has one if the document's end has.
func (b *binder) labels(p *Pack, f *column.Field) (c rowgroup.PackedColumn) {
	label := func(token int64) []byte { return b.token("Pack", "label", f.Children[0], token) }
	c.Tokens, c.Fill = true, label(transform.IgnoredLabel)
	if p.BOS != nil {
		c.Before = label(transform.IgnoredLabel)
	}
	if p.EOS != nil {
		c.After = label(transform.IgnoredLabel)
		if b.delivered.Labels().EndTrained() {
			c.After = label(*p.EOS)
		}
	}
	return c
}

// along is a list that goes along with the named ones.
func (b *binder) along(p *Pack, f *column.Field) (c rowgroup.PackedColumn) {
	c.Tokens = true
	if p.Extra() > 0 {
		b.problems.Add("Pack", "writes eos and bos into the columns that it names, and column %q has no place for them: name it too, or leave it out of {Columns}", f.Name)
	}
	if f.Name == transform.LabelsColumn && signed(f.Children[0]) {
		c.Fill, _ = encodeToken(f.Children[0], transform.IgnoredLabel)
	}
	return c
}

// infill checks that a packing's fill-in-the-middle permutes the only column of tokens.
func (b *binder) infill(p *Pack, tokens int, columns []rowgroup.PackedColumn) {
	if p.FIM == nil || tokens < 0 || !columns[tokens].Tokens {
		return
	}
	fields := b.delivered.Schema.Fields
	for i, c := range columns {
		if c.Tokens && i != tokens {
			b.problems.Add("Pack", "permutes the tokens of %q for fill-in-the-middle, and column %q has a value for each of them: leave it out of {Columns}", fields[tokens].Name, fields[i].Name)
		}
	}
	at, item := fmt.Sprintf("Pack[%q]", fields[tokens].Name), fields[tokens].Children[0]
	b.token(at, "prefix", item, p.FIM.Prefix)
	b.token(at, "middle", item, p.FIM.Middle)
	b.token(at, "suffix", item, p.FIM.Suffix)
	for _, token := range p.FIM.Boundaries {
		b.token(at, "boundary", item, token)
	}
}

func signed(f *column.Field) bool {
	return f.Type == column.TypeInt8 || f.Type == column.TypeInt16 || f.Type == column.TypeInt32 || f.Type == column.TypeInt64
}

// token is the bytes of a token.
func (b *binder) token(field, what string, f *column.Field, token int64) []byte {
	value, ok := encodeToken(f, token)
	if !ok {
		b.problems.Add(field, "has items of %v, which do not hold %s %d", f, what, token)
	}
	return value
}

// encodeToken is a number as a value of an integer field.
func encodeToken(f *column.Field, n int64) ([]byte, bool) {
	b := binary.LittleEndian.AppendUint64(nil, uint64(n))[:min(8, f.Width)]
	switch bits := 8 * f.Width; f.Type {
	case column.TypeInt8, column.TypeInt16, column.TypeInt32, column.TypeInt64:
		return b, bits == 64 || n >= -1<<(bits-1) && n < 1<<(bits-1)
	case column.TypeUint8, column.TypeUint16, column.TypeUint32, column.TypeUint64:
		return b, n >= 0 && (bits == 64 || n < 1<<bits)
	}
	return make([]byte, f.Width), n == 0
}

// checkLengths returns an error if values of a column cannot be lengths.
func checkLengths(f *column.Field) error {
	return checkIntegers("Pack.Length", "takes lengths from a column of integers", f)
}

func checkIntegers(field, must string, f *column.Field) error {
	switch f.Type {
	case column.TypeInt8, column.TypeInt16, column.TypeInt32, column.TypeInt64, column.TypeUint8, column.TypeUint16, column.TypeUint32, column.TypeUint64:
		return nil
	}
	return &option.Error{Field: field, Text: fmt.Sprintf("%s, got %q, which is %v", must, f.Name, f)}
}

// measure appends the tokens of each row to dst, by a rule column of lengths or of lists.
func (k *Packing) measure(c *rule.Column, rows int, dst []uint32) ([]uint32, error) {
	extra := uint32(k.extra())
	if k.Declared {
		return rule.Lengths(*c, rows, extra, k.lengthsField(), dst)
	}
	for row := range rows {
		n := uint32(0)
		if c.Values.Nulls < c.Values.Len && !c.Values.IsNull(row) {
			lo, hi := c.Values.Items(row)
			n = uint32(hi - lo)
		}
		if n > 0 {
			n += extra
		}
		dst = append(dst, n)
	}
	return dst, nil
}

// lengthsField is the option that names the column of lengths.
func (k *Packing) lengthsField() string {
	if k.Bucket != nil {
		return fmt.Sprintf("Bucket[%q]", k.Bucket.Name())
	}
	return "Pack.Length"
}

// SampleBytes returns the bytes of the named columns in a sample, which a shuffle buffer in bytes
// counts, so that no other columns change the order.
func (k *Packing) SampleBytes() (n int64) {
	if k.Bucket != nil {
		return int64(k.Bucket.Tokens()) * bucketTokenBytes
	}
	for _, name := range k.Spec.Names() {
		for _, f := range k.Layout.Schema().Fields {
			if f.Name == name {
				n += int64(k.Spec.Size()) * int64(f.Children[0].Width)
			}
		}
	}
	return n
}

// bucketTokenBytes counts a token of a bucket in a shuffle buffer in bytes.
const bucketTokenBytes = 4
