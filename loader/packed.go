package loader

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// Columns that are made of packed batches; see [Packed].
const (
	PositionIDs = "position_ids"
	DocIDs      = "doc_ids"
	SeqLengths  = rowgroup.LengthsColumn
	CuSeqlens   = "cu_seqlens"
	MaxSeqlen   = "max_seqlen"
)

// PackedColumns are the names that Packed.With takes.
func PackedColumns() []string { return []string{PositionIDs, DocIDs, SeqLengths, CuSeqlens, MaxSeqlen} }

// Packed selects columns to make of the documents in the rows of a packed batch.
type Packed struct {
	// With names columns that are added:
	//
	// 	position_ids  int32 [rows, size]  place in the document's piece, and in the padding
	// 	doc_ids       int32 [rows, size]  number of the document in the row, -1 in the padding
	// 	seq_lengths   list<int32>         tokens of each document in the row
	// 	cu_seqlens    int32               0, and the ends of documents and paddings in the flat batch
	// 	max_seqlen    int32               tokens of the longest of them
	//
	// The lists of cu_seqlens are one array of the batch: the values of all rows in order.
	// max_seqlen is the same in each row.
	With []string

	// Labels adds the column "labels", int64: of the lists of that name where the data has them,
	// else of the packed lists. Where a token has no label it is iterable.IgnoredLabel.
	Labels Labels

	// Tokens is the column to make labels of if the data has no labels; "" is the only packed one.
	Tokens string
}

// Labels selects the label of a token.
type Labels string

const (
	// LabelsSame labels each token with itself, for models that shift labels: the first token of a
	// document has no label.
	LabelsSame Labels = "same"
	// LabelsNext labels each token with the next one. The last token of a document has no label,
	// nor has the last of a block: if the document continues, its next token is in another block.
	LabelsNext Labels = "next"
)

func (p Packed) validate(l *option.List) {
	for i, name := range p.With {
		if !slices.Contains(PackedColumns(), name) || slices.Contains(p.With[:i], name) {
			l.Add(fmt.Sprintf("Packed.With[%d]", i), "must be one of position_ids, doc_ids, seq_lengths, cu_seqlens, max_seqlen, each once, got %q", name)
		}
	}
	l.OneOf("Packed.Labels", string(p.Labels), string(LabelsSame), string(LabelsNext))
}

// Fields are the columns of packed batches of a schema: the data's that are delivered, and the
// ones that are made. data is the whole schema where batches are not packed.
func (p Packed) Fields(s *column.Schema) (data, made []*column.Field) {
	d, err := bindPacked(p, s)
	if err != nil || d == nil {
		return s.Fields, nil
	}
	for i, f := range s.Fields {
		if i == d.lengths && !slices.Contains(p.With, SeqLengths) || i == d.tokens && d.replace {
			continue
		}
		data = append(data, f)
	}
	matrix := func(item *column.Field) *column.Field {
		return &column.Field{Name: item.Name, Kind: column.List, ListSize: d.size, Children: []*column.Field{item}}
	}
	for _, name := range p.With {
		switch name {
		case PositionIDs, DocIDs:
			made = append(made, matrix(column.FieldOf[int32](name)))
		case CuSeqlens:
			made = append(made, &column.Field{Name: name, Kind: column.List, Joined: true, Children: []*column.Field{column.FieldOf[int32]("element")}})
		case MaxSeqlen:
			f := column.FieldOf[int32](name)
			f.Joined = true
			made = append(made, f)
		}
	}
	if p.Labels != "" {
		made = append(made, matrix(column.FieldOf[int64](iterable.LabelsColumn)))
	}
	return data, made
}

// A deriver makes the columns of packed batches.
type deriver struct {
	Packed
	size    int // tokens of a row
	lengths int // column of the documents' lengths
	tokens  int // column that labels are made of
	replace bool
}

// bindPacked returns nil for batches that are not packed.
func bindPacked(p Packed, s *column.Schema) (*deriver, error) {
	last := len(s.Fields) - 1
	if last < 0 || !s.Fields[last].Made || s.Fields[last].Name != rowgroup.LengthsColumn {
		if len(p.With) > 0 || p.Labels != "" {
			return nil, &iterable.OptionError{Field: "Packed", Text: "needs a data set with {Pack}"}
		}
		return nil, nil
	}
	d := &deriver{Packed: p, lengths: last, tokens: -1}
	var errs []error
	for i, f := range s.Fields {
		if isPacked(f) {
			d.size = f.ListSize
			if d.tokens < 0 || f.Name == p.Tokens {
				d.tokens = i
			}
		}
		if f.Name != rowgroup.LengthsColumn && slices.Contains(p.With, f.Name) {
			errs = append(errs, packedError("adds a column %q, and the data has one; leave it out of {Columns}", f.Name))
		}
	}
	if p.Labels != "" {
		errs = append(errs, d.bindLabels(s))
	}
	return d, errors.Join(errs...)
}

// isPacked reports whether a column of a packed batch has blocks of tokens; all others have lists
// of one value a document.
func isPacked(f *column.Field) bool { return f.Kind == column.List && f.ListSize > 0 }

// bindLabels finds the column of labels, or the one that they are made of.
func (d *deriver) bindLabels(s *column.Schema) error {
	named := slices.IndexFunc(s.Fields, func(f *column.Field) bool { return f.Name == iterable.LabelsColumn })
	var packed []string
	for _, f := range s.Fields {
		if isPacked(f) {
			packed = append(packed, f.Name)
		}
	}
	switch {
	case named >= 0 && !isPacked(s.Fields[named]):
		return packedError("makes labels of a list of tokens, and the column %q is %v; leave it out of {Columns}", iterable.LabelsColumn, s.Fields[named])
	case named >= 0:
		d.tokens, d.replace = named, true
	case d.Tokens == "" && len(packed) > 1:
		return packedError("makes labels of one packed column, and there are %q; leave the others out of {Columns}", packed)
	}
	switch f := s.Fields[d.tokens].Children[0]; f.Type {
	case column.TypeInt8, column.TypeInt16, column.TypeInt32, column.TypeInt64, column.TypeUint8, column.TypeUint16, column.TypeUint32, column.TypeUint64:
		return nil
	default:
		return packedError("makes labels of integers, and the items of %q are %v", s.Fields[d.tokens].Name, f)
	}
}

func packedError(format string, args ...any) error {
	return &iterable.OptionError{Field: "Packed", Text: fmt.Sprintf(format, args...)}
}

// lengthsArray is the documents' lengths of a batch.
type lengthsArray struct {
	offsets []int32
	tokens  []int32
}

func (l lengthsArray) of(row int) []int32 { return l.tokens[l.offsets[row]:l.offsets[row+1]] }

// wider is the bytes of the columns that are made, in a row.
func (d *deriver) wider() (n int64) {
	if d == nil {
		return 0
	}
	for _, name := range d.With {
		if name == PositionIDs || name == DocIDs {
			n += 4 * int64(d.size)
		}
	}
	if d.Labels != "" && !d.replace {
		n += 8 * int64(d.size)
	}
	return n
}

// sources returns the columns of the data that others are made of.
func (d *deriver) sources(b *Batch) (lengths, tokens *column.Array) {
	if d == nil {
		return nil, nil
	}
	return b.Columns[d.lengths], b.Columns[d.tokens]
}

// derive adds the columns to a batch, and removes columns that nothing asked for.
func (d *deriver) derive(b *Batch, lengths, tokens *column.Array) error {
	if d == nil {
		return nil
	}
	l := lengthsArray{offsets: lengths.Offsets, tokens: mem.As[int32](lengths.Children[0].Data)}
	b.Columns = slices.DeleteFunc(b.Columns, func(c *column.Array) bool {
		return c == lengths && !slices.Contains(d.With, SeqLengths) || c == tokens && d.replace
	})
	for _, name := range d.With {
		var err error
		switch name {
		case PositionIDs:
			err = d.positions(b, l)
		case DocIDs:
			err = d.documents(b, l)
		case CuSeqlens:
			err = d.edges(b, l)
		case MaxSeqlen:
			err = d.longest(b, l)
		}
		if err != nil {
			return err
		}
	}
	if d.Labels == "" {
		return nil
	}
	return d.labels(b, l, tokens)
}

func (d *deriver) positions(b *Batch, l lengthsArray) error {
	out, err := AddTensor[int32](b, PositionIDs, d.size)
	if err != nil {
		return err
	}
	for row := range b.Rows {
		rest := out[row*d.size : (row+1)*d.size]
		for _, n := range l.of(row) {
			count(rest[:n])
			rest = rest[n:]
		}
		count(rest)
	}
	return nil
}

func count(out []int32) {
	for i := range out {
		out[i] = int32(i)
	}
}

func (d *deriver) documents(b *Batch, l lengthsArray) error {
	out, err := AddTensor[int32](b, DocIDs, d.size)
	if err != nil {
		return err
	}
	for row := range b.Rows {
		rest := out[row*d.size : (row+1)*d.size]
		for doc, n := range l.of(row) {
			fillWith(rest[:n], int32(doc))
			rest = rest[n:]
		}
		fillWith(rest, -1)
	}
	return nil
}

func fillWith[T any](out []T, value T) {
	for i := range out {
		out[i] = value
	}
}

// edges makes cu_seqlens.
func (d *deriver) edges(b *Batch, l lengthsArray) error {
	if int64(b.Rows)*int64(d.size) > 1<<31-1 {
		return fmt.Errorf("%d rows of %d tokens are too many for cu_seqlens, whose numbers have 32 bits; lower the batch size", b.Rows, d.size)
	}
	at, err := b.Alloc(4 * (b.Rows + 1))
	if err != nil {
		return err
	}
	offsets := asInt32(at, b.Rows+1)
	room, err := b.Alloc(4 * (len(l.tokens) + b.Rows + 1))
	if err != nil {
		return err
	}
	values := asInt32(room, len(l.tokens)+b.Rows+1)
	n := 0
	if b.Rows > 0 {
		values[0], n = 0, 1
	}
	offsets[0] = 0
	for row := range b.Rows {
		end, last := int32(row*d.size), int32((row+1)*d.size)
		for _, tokens := range l.of(row) {
			end += tokens
			values[n] = end
			n++
		}
		if end < last {
			values[n] = last
			n++
		}
		offsets[row+1] = int32(n)
	}
	item := column.FieldOf[int32]("element")
	return b.Add(&column.Array{
		Field: &column.Field{Name: CuSeqlens, Kind: column.List, Joined: true, Children: []*column.Field{item}}, Len: b.Rows, Offsets: offsets,
		Children: []*column.Array{{Field: item, Len: n, Data: room[:4*n]}},
	})
}

func asInt32(b []byte, n int) []int32 {
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

func (d *deriver) longest(b *Batch, l lengthsArray) error {
	out, err := AddTensor[int32](b, MaxSeqlen)
	if err != nil {
		return err
	}
	most := int32(0)
	for row := range b.Rows {
		rest := int32(d.size)
		for _, n := range l.of(row) {
			most, rest = max(most, n), rest-n
		}
		most = max(most, rest)
	}
	fillWith(out, most)
	b.Columns[len(b.Columns)-1].Field.Joined = true
	return nil
}

// labels makes the labels of the batch.
func (d *deriver) labels(b *Batch, l lengthsArray, from *column.Array) error {
	out, err := AddTensor[int64](b, iterable.LabelsColumn, d.size)
	if err != nil {
		return err
	}
	widen(out, leafOf(from))
	for row := range b.Rows {
		rest := out[row*d.size : (row+1)*d.size]
		for _, n := range l.of(row) {
			label(rest[:n], d.Labels)
			rest = rest[n:]
		}
		fillWith(rest, iterable.IgnoredLabel)
	}
	return nil
}

// label makes the labels of a document of its tokens.
func label(tokens []int64, how Labels) {
	switch {
	case len(tokens) == 0:
	case how == LabelsNext:
		copy(tokens, tokens[1:])
		tokens[len(tokens)-1] = iterable.IgnoredLabel
	default:
		tokens[0] = iterable.IgnoredLabel
	}
}

// widen copies integers of any type.
func widen(out []int64, a *column.Array) {
	switch a.Field.Type {
	case column.TypeInt8:
		widenFrom[int8](out, a.Data)
	case column.TypeInt16:
		widenFrom[int16](out, a.Data)
	case column.TypeInt32:
		widenFrom[int32](out, a.Data)
	case column.TypeUint8:
		widenFrom[uint8](out, a.Data)
	case column.TypeUint16:
		widenFrom[uint16](out, a.Data)
	case column.TypeUint32:
		widenFrom[uint32](out, a.Data)
	default:
		widenFrom[int64](out, a.Data)
	}
}

func widenFrom[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32](out []int64, data []byte) {
	for i, v := range mem.As[T](data) {
		out[i] = int64(v)
	}
}
