package rule

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/internal/option"
)

// bucketing is the packer's strategy for a [Bucket].
const bucketing PackStrategy = "bucket"

// A Bucket makes batches of the rows of a unit: rows of about the same length, as many as a budget
// of tokens holds when all are padded to the longest. A batch is a sample.
type Bucket struct {
	Columns  map[string]int // one column, of lists or of their lengths, and the tokens of a batch at most
	Multiple int            // lengths are rounded up to a multiple of it; 0 is 1
	MaxRows  int            // of a batch; 0 sets no bound
}

// Name is the column, and Tokens the budget.
func (b *Bucket) Name() string {
	for name := range b.Columns {
		return name
	}
	return ""
}

// Tokens of a batch at most; a longer row is a batch of its own.
func (b *Bucket) Tokens() int { return b.Columns[b.Name()] }

// Validate lists everything that is wrong with the bucket, each a [*Error].
func (b *Bucket) Validate() error {
	l := option.List{New: newError}
	if len(b.Columns) != 1 || b.Name() == "" {
		l.Add("Bucket", "must name one column, of lists or of their lengths, and the tokens of a batch, got %d columns", len(b.Columns))
		return l.Err()
	}
	field := fmt.Sprintf("Bucket[%q]", b.Name())
	if n := b.Tokens(); n < 1 || n > MaxPackSize {
		l.Add(field, "must be from 1 to %d tokens, got %d", MaxPackSize, n)
	}
	if b.Multiple < 0 || b.Multiple > MaxPackSize {
		l.Add("Bucket", "rounds lengths to a multiple from 1 to %d, got %d", MaxPackSize, b.Multiple)
	}
	if b.MaxRows < 0 || b.MaxRows > MaxPackSize {
		l.Add("Bucket", "has at most 1 to %d rows in a batch, got %d", MaxPackSize, b.MaxRows)
	}
	return l.Err()
}

// Text is the canonical text: buckets of one text make the same batches of the same rows.
func (b *Bucket) Text() string {
	return fmt.Sprintf("bucket %q %d multiple %d rows %d", b.Name(), b.Tokens(), max(1, b.Multiple), b.MaxRows)
}

// NewPacker returns a packer whose blocks are batches of whole rows: each row is in one, even an
// empty row. A batch has its rows in the order given to Layout.
func (b *Bucket) NewPacker() *Packer {
	return &Packer{strategy: bucketing, size: b.Tokens(), multiple: max(1, b.Multiple), mostRows: cmp.Or(b.MaxRows, MaxPackSize)}
}

// padded is a length in a batch.
func (p *Packer) padded(length uint32) int {
	n := max(1, int(length))
	return (n + p.multiple - 1) / p.multiple * p.multiple
}

// sortRows lists the rows by falling length, equal ones by the order, and returns the number of
// batches.
func (p *Packer) sortRows(lengths, order []uint32) (batches int) {
	p.keys = slices.Grow(p.keys[:0], len(lengths))[:len(lengths)]
	for i := range p.keys {
		p.keys[i] = uint64(^lengths[at(order, i)])<<32 | uint64(i)
	}
	slices.Sort(p.keys)
	p.PaddedTokens = 0
	for i := 0; i < len(p.keys); batches++ {
		n, long := p.batch(i)
		p.PaddedTokens += int64(n) * int64(long)
		i += n
	}
	return batches
}

// batch is how many of the sorted rows from one on are a batch, and their padded length.
func (p *Packer) batch(from int) (rows, long int) {
	long = p.padded(^uint32(p.keys[from] >> 32))
	return min(max(1, p.size/long), p.mostRows, len(p.keys)-from), long
}

func (p *Packer) bucket(lengths, order []uint32) (pieces []Piece, ends []uint32) {
	p.sortRows(lengths, order)
	p.pieces, p.ends = p.pieces[:0], p.ends[:0]
	for i := 0; i < len(p.keys); {
		n, _ := p.batch(i)
		places := p.keys[i : i+n]
		for k, key := range places {
			places[k] = key & (1<<32 - 1)
		}
		slices.Sort(places)
		for _, place := range places {
			doc := at(order, int(place))
			p.pieces = append(p.pieces, Piece{Doc: doc, Tokens: lengths[doc]})
		}
		p.ends = append(p.ends, uint32(len(p.pieces)))
		i += n
	}
	return p.pieces, p.ends
}
