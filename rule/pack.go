package rule

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/internal/option"
)

// A PackStrategy chooses how documents are put into blocks.
type PackStrategy string

const (
	// Wrapped joins all documents and cuts the whole every Size tokens.
	Wrapped PackStrategy = "wrapped"
	// BestFit is best fit decreasing: no document is cut but those longer than a block, which lose
	// what is beyond it.
	BestFit PackStrategy = "bfd"
	// BestFitSplit is BestFit after documents longer than a block were cut into blocks and a rest.
	BestFitSplit PackStrategy = "bfd_split"
)

// MaxPackSize is the most tokens of a block.
const MaxPackSize = 1 << 24

// A Pack makes blocks of one size of the lists of a unit: a block is a sample.
type Pack struct {
	Columns  map[string]int // lists that are packed, and the size of their blocks, which all share
	Strategy PackStrategy   // "" is Wrapped
	EOS, BOS *int64         // written behind and before the items of each document

	// FIM permutes the documents of blocks; nil leaves them as they are.
	FIM *FillInTheMiddle

	// Length is a column with the lists' lengths, so that blocks are counted without reading the
	// lists. "" counts by the lists.
	Length string
}

// Size is the tokens of a block.
func (p *Pack) Size() int {
	for _, n := range p.Columns {
		return n
	}
	return 0
}

// Names are the columns in order.
func (p *Pack) Names() []string { return slices.Sorted(maps.Keys(p.Columns)) }

// Extra is how many tokens are written around the items of a document.
func (p *Pack) Extra() int {
	n := 0
	for _, token := range []*int64{p.EOS, p.BOS} {
		if token != nil {
			n++
		}
	}
	return n
}

// Validate lists everything that is wrong with the packing, each a [*Error].
func (p *Pack) Validate() error {
	l := option.List{New: newError}
	names := p.Names()
	if len(names) == 0 {
		l.Add("Pack", "must name a column of lists and the size of a block")
	}
	for _, name := range names {
		field, n := fmt.Sprintf("Pack[%q]", name), p.Columns[name]
		switch {
		case name == "":
			l.Add(field, "must have a name")
		case n < 1 || n > MaxPackSize:
			l.Add(field, "must be from 1 to %d tokens, got %d", MaxPackSize, n)
		case n != p.Columns[names[0]]:
			l.Add(field, "must be %d, the size that the blocks of %q have, got %d", p.Columns[names[0]], names[0], n)
		}
	}
	if s := p.PackStrategy(); s != Wrapped && s != BestFit && s != BestFitSplit {
		l.Add("Pack", "needs a strategy of %s, %s or %s, got %q", Wrapped, BestFit, BestFitSplit, s)
	}
	if extra := p.Extra(); extra > 0 && len(names) > 0 && p.Size() > 0 && p.Size() <= extra {
		l.Add(fmt.Sprintf("Pack[%q]", names[0]), "must be at least %d, room for an item beside eos and bos, got %d", extra+1, p.Size())
	}
	if p.FIM != nil {
		p.FIM.validate(p, &l)
	}
	return l.Err()
}

// Text is the canonical text: packings of one text make the same number of blocks of the same
// lists. EOS and BOS are part of it, so that a run is not resumed with other tokens; FIM is not,
// since it changes no number.
func (p *Pack) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pack %s %d", p.PackStrategy(), p.Size())
	for _, name := range p.Names() {
		fmt.Fprintf(&b, " %q", name)
	}
	if p.BOS != nil {
		fmt.Fprintf(&b, " bos %d", *p.BOS)
	}
	if p.EOS != nil {
		fmt.Fprintf(&b, " eos %d", *p.EOS)
	}
	return b.String()
}

// PackStrategy is Strategy, or its default.
func (p *Pack) PackStrategy() PackStrategy {
	if p.Strategy == "" {
		return Wrapped
	}
	return p.Strategy
}

// A Piece is a run of tokens of a document in one block.
type Piece struct {
	Doc    uint32 // place of the document among the lengths
	Begin  uint32 // first token of it
	Tokens uint32
}

// A Packer lays out the documents of units. It owns its scratch: one goroutine at a time uses it.
type Packer struct {
	strategy PackStrategy
	size     int
	multiple int // of a bucket
	mostRows int

	// PaddedTokens is the size, including padding, of the last Count or Layout of a bucket.
	PaddedTokens int64

	pieces, sorted []Piece
	ends           []uint32
	keys           []uint64 // of pieces: how much shorter than a block, and their place
	bin            []uint32 // of each piece
	next           []uint32 // bin of the same room that got it later, plus 1, or 0
	first, last    []uint32 // bin of each room, plus 1; meant where the room is in rooms
	rooms          spaces
}

// NewPacker returns a packer.
func (p *Pack) NewPacker() *Packer { return &Packer{strategy: p.PackStrategy(), size: p.Size()} }

// Count returns the number of blocks that documents of these lengths fill. It depends only on the
// lengths, not on their order. Documents without tokens are in no block.
func (p *Packer) Count(lengths []uint32) int64 {
	switch p.strategy {
	case Wrapped:
		return p.CountTokens(Sum(lengths))
	case bucketing:
		return int64(p.sortRows(lengths, nil))
	}
	full := p.cut(lengths, nil)
	return int64(full + p.fit(full))
}

// Total reports whether the number of tokens determines the number of blocks.
func (p *Packer) Total() bool { return p.strategy == Wrapped }

// CountTokens returns the Count of documents with these tokens in total, if Total.
func (p *Packer) CountTokens(tokens int64) int64 {
	return (tokens + int64(p.size) - 1) / int64(p.size)
}

// Sum is the tokens of all documents.
func Sum(lengths []uint32) (n int64) {
	for _, l := range lengths {
		n += int64(l)
	}
	return n
}

// Truncated is how many documents lose tokens, and how many tokens: those beyond a block, under
// BestFit.
func (p *Packer) Truncated(lengths []uint32) (documents, tokens int64) {
	if p.strategy != BestFit {
		return 0, 0
	}
	for _, l := range lengths {
		if beyond := int64(l) - int64(p.size); beyond > 0 {
			documents++
			tokens += beyond
		}
	}
	return documents, tokens
}

// Layout lays documents of these lengths out: block b has pieces[ends[b-1]:ends[b]]. order is a
// permutation of the documents; nil keeps their order. Documents are in that order within a block,
// and ties are broken by it. The slices are valid until the next call.
//
//	wrapped    the documents concatenated in the order, cut every Size tokens
//	bfd        each document, the longest first, into the block with the least room that is enough;
//	           of several the one that has had it for longest; else into a new block
//	bfd_split  pieces of Size tokens are blocks, in the order; the rests follow as under bfd
func (p *Packer) Layout(lengths, order []uint32) (pieces []Piece, ends []uint32) {
	switch p.strategy {
	case Wrapped:
		return p.wrap(lengths, order)
	case bucketing:
		return p.bucket(lengths, order)
	}
	full := p.cut(lengths, order)
	bins := p.fit(full)
	p.ends = slices.Grow(p.ends[:0], full+bins)[:full+bins]
	for b := range full {
		p.ends[b] = uint32(b + 1)
	}
	clear(p.ends[full:])
	rests := p.pieces[full:]
	for i := range rests {
		p.ends[full+int(p.bin[i])]++
	}
	at := uint32(full)
	for b := full; b < len(p.ends); b++ { // offset of each
		at, p.ends[b] = at+p.ends[b], at
	}
	p.sorted = slices.Grow(p.sorted[:0], len(p.pieces))[:len(p.pieces)]
	copy(p.sorted, p.pieces[:full])
	for i, piece := range rests { // which puts the ends to where the bins end
		b := full + int(p.bin[i])
		p.sorted[p.ends[b]] = piece
		p.ends[b]++
	}
	return p.sorted, p.ends
}

// at is the document at a place of an order.
func at(order []uint32, i int) uint32 {
	if order == nil {
		return uint32(i)
	}
	return order[i]
}

func (p *Packer) wrap(lengths, order []uint32) (pieces []Piece, ends []uint32) {
	p.pieces, p.ends = p.pieces[:0], p.ends[:0]
	room := uint32(p.size)
	for i := range lengths {
		doc, begin := at(order, i), uint32(0)
		for left := lengths[doc]; left > 0; {
			n := min(left, room)
			p.pieces = append(p.pieces, Piece{Doc: doc, Begin: begin, Tokens: n})
			begin, left, room = begin+n, left-n, room-n
			if room == 0 {
				p.ends = append(p.ends, uint32(len(p.pieces)))
				room = uint32(p.size)
			}
		}
	}
	if room < uint32(p.size) {
		p.ends = append(p.ends, uint32(len(p.pieces)))
	}
	return p.pieces, p.ends
}

// cut lists the pieces: first full blocks, whose number it returns, then the rests.
func (p *Packer) cut(lengths, order []uint32) (full int) {
	p.pieces = p.pieces[:0]
	size := uint32(p.size)
	if p.strategy == BestFitSplit {
		for i := range lengths {
			doc := at(order, i)
			for begin := uint32(0); lengths[doc]-begin >= size; begin += size {
				p.pieces = append(p.pieces, Piece{Doc: doc, Begin: begin, Tokens: size})
			}
		}
		full = len(p.pieces)
	}
	for i := range lengths {
		doc := at(order, i)
		l, begin := lengths[doc], uint32(0)
		switch {
		case p.strategy == BestFitSplit:
			begin = l - l%size
			l %= size
		default:
			l = min(l, size)
		}
		if l > 0 {
			p.pieces = append(p.pieces, Piece{Doc: doc, Begin: begin, Tokens: l})
		}
	}
	return full
}

// fit puts the pieces from one on into bins, and returns their number.
func (p *Packer) fit(from int) (bins int) {
	pieces := p.pieces[from:]
	p.keys = slices.Grow(p.keys[:0], len(pieces))[:len(pieces)]
	for i := range pieces {
		p.keys[i] = uint64(uint32(p.size)-pieces[i].Tokens)<<32 | uint64(i)
	}
	slices.Sort(p.keys)
	p.bin = slices.Grow(p.bin[:0], len(pieces))[:len(pieces)]
	p.next = p.next[:0]
	if p.first == nil {
		p.first, p.last = make([]uint32, p.size+1), make([]uint32, p.size+1)
		p.rooms = newSpaces(p.size + 1)
	}
	for _, key := range p.keys {
		i := uint32(key)
		n := int(pieces[i].Tokens)
		room, bin := p.rooms.atLeast(n), uint32(0)
		if room < 0 {
			room, bin = p.size, uint32(len(p.next))
			p.next = append(p.next, 0)
		} else {
			bin = p.take(room)
		}
		p.bin[i] = bin
		if room -= n; room > 0 {
			p.put(room, bin)
		}
	}
	p.rooms.clear()
	return len(p.next)
}

// take takes the bin that has had a room for longest.
func (p *Packer) take(room int) uint32 {
	bin := p.first[room] - 1
	if p.first[room] = p.next[bin]; p.first[room] == 0 {
		p.rooms.drop(room)
	}
	p.next[bin] = 0
	return bin
}

func (p *Packer) put(room int, bin uint32) {
	if p.rooms.has(room) {
		p.next[p.last[room]-1] = bin + 1
	} else {
		p.rooms.add(room)
		p.first[room] = bin + 1
	}
	p.last[room] = bin + 1
}
