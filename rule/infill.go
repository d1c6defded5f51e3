package rule

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"unsafe"

	"github.com/shardfeed/shardfeed/internal/option"
)

// FillInTheMiddle permutes documents of packed blocks, so that a model learns to write a middle
// between a prefix and a suffix (Bavarian et al., 2022, arXiv:2207.14255), as the GPTFIMDataset of
// Megatron-LM does. Each fragment is cut at two random places, and becomes one of
//
//	PSM  Prefix, the prefix, Suffix, the suffix, Middle, the middle
//	SPM  Prefix, Suffix, the suffix, Middle, the prefix, the middle
//
// A fragment is the tokens of a document in a block between tokens that stay in place. Each part
// may be empty. A block keeps its size: the three tokens of each fragment move later documents
// back, first into the block's padding, and what is beyond the block is lost.
type FillInTheMiddle struct {
	Rate    float64 // the share of fragments that are permuted, above 0 to 1
	SPMRate float64 // the share of these that are SPM

	Prefix, Middle, Suffix int64 // tokens

	// Boundaries are tokens that stay in place beside EOS and BOS of the packing, such as one that
	// separates the files of a repository.
	Boundaries []int64
}

// keeps lists the tokens that stay in place.
func (f *FillInTheMiddle) keeps(p *Pack) []int64 {
	all := slices.Clone(f.Boundaries)
	for _, token := range []*int64{p.EOS, p.BOS} {
		if token != nil {
			all = append(all, *token)
		}
	}
	return all
}

// validate adds what is wrong with it in a packing.
func (f *FillInTheMiddle) validate(p *Pack, l *option.List) {
	const field = "Pack"
	if !(f.Rate > 0 && f.Rate <= 1) {
		l.Add(field, "needs a rate of fill-in-the-middle above 0 and at most 1, got %v", f.Rate)
	}
	if !(f.SPMRate >= 0 && f.SPMRate <= 1) {
		l.Add(field, "needs an spm_rate of fill-in-the-middle from 0 to 1, got %v", f.SPMRate)
	}
	if f.Prefix == f.Middle || f.Middle == f.Suffix || f.Suffix == f.Prefix {
		l.Add(field, "needs three different tokens for fill-in-the-middle, got prefix %d, middle %d, suffix %d", f.Prefix, f.Middle, f.Suffix)
	}
	keeps := f.keeps(p)
	if len(keeps) == 0 {
		l.Add(field, "needs an eos with fill-in-the-middle, or boundaries: nothing else shows a model where a middle ends")
	}
	for _, t := range [...]struct {
		name  string
		token int64
	}{{"prefix", f.Prefix}, {"middle", f.Middle}, {"suffix", f.Suffix}} {
		if slices.Contains(keeps, t.token) {
			l.Add(field, "has token %d as %s of fill-in-the-middle, and as eos, bos or a boundary", t.token, t.name)
		}
	}
}

// Text is the canonical text: packings that share it, their own text and a seed have the same
// blocks.
func (f *FillInTheMiddle) Text() string {
	keeps := slices.Clone(f.Boundaries)
	slices.Sort(keeps)
	var b strings.Builder
	fmt.Fprintf(&b, "fim/1 rate %v spm %v prefix %d middle %d suffix %d", f.Rate, f.SPMRate, f.Prefix, f.Middle, f.Suffix)
	for _, token := range slices.Compact(keeps) {
		fmt.Fprintf(&b, " boundary %d", token)
	}
	return b.String()
}

// An Infiller permutes the documents of blocks. It holds the scratch of one goroutine.
type Infiller struct {
	*FillInTheMiddle
	keeps   []int64
	scratch []uint64
}

// NewInfiller returns an infiller, or nil if the packing has no fill-in-the-middle.
func (p *Pack) NewInfiller() *Infiller {
	if p == nil || p.FIM == nil {
		return nil
	}
	return &Infiller{FillInTheMiddle: p.FIM, keeps: p.FIM.keeps(p)}
}

// Block permutes the documents of a block, whose tokens are integers of width bytes. lengths are
// the numbers of the documents' tokens, before and after it: 0 if a document no longer fits. lost
// is the number of tokens that no longer fit. The result depends only on the arguments and the
// numbers of r.
func (f *Infiller) Block(tokens []byte, width int, lengths []int32, r rand.Source) (lost int64) {
	switch size := len(tokens) / width; width {
	case 1:
		return infill(f, asSlice[uint8](tokens, size), lengths, r)
	case 2:
		return infill(f, asSlice[uint16](tokens, size), lengths, r)
	case 4:
		return infill(f, asSlice[uint32](tokens, size), lengths, r)
	default:
		return infill(f, asSlice[uint64](tokens, size), lengths, r)
	}
}

// A permuter makes a permuted block, whose tokens have the bits of T.
type permuter[T uint8 | uint16 | uint32 | uint64] struct {
	*Infiller
	keep []T
	out  []T // of the block; what does not fit its capacity is lost
	r    rand.Source
	lost int64 // tokens that did not fit
}

func infill[T uint8 | uint16 | uint32 | uint64](f *Infiller, block []T, lengths []int32, r rand.Source) (lost int64) {
	if len(f.scratch) < len(block) {
		f.scratch = make([]uint64, len(block))
	}
	p := permuter[T]{Infiller: f, out: unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(f.scratch))), len(block))[:0], r: r}
	for _, token := range f.keeps {
		p.keep = append(p.keep, T(token))
	}
	at := 0
	for i, n := range lengths {
		begin := len(p.out)
		p.document(block[at : at+int(n)])
		lengths[i] = int32(len(p.out) - begin)
		at += int(n)
	}
	copy(block, p.out) // behind it is the block's padding, or nothing
	return p.lost
}

// document adds a document, fragment by fragment.
func (p *permuter[T]) document(tokens []T) {
	begin := 0
	for i, token := range tokens {
		if slices.Contains(p.keep, token) {
			p.fragment(tokens[begin:i])
			p.add(token)
			begin = i + 1
		}
	}
	p.fragment(tokens[begin:])
}

// fragment adds a fragment, permuted or as it is.
func (p *permuter[T]) fragment(tokens []T) {
	if len(tokens) == 0 {
		return
	}
	if !p.chance(p.Rate) {
		p.add(tokens...)
		return
	}
	lo, hi := p.place(len(tokens)), p.place(len(tokens))
	lo, hi = min(lo, hi), max(lo, hi)
	prefix, middle, suffix := tokens[:lo], tokens[lo:hi], tokens[hi:]
	p.add(T(p.Prefix))
	if p.chance(p.SPMRate) {
		p.add(T(p.Suffix))
		p.add(suffix...)
		p.add(T(p.Middle))
		p.add(prefix...)
	} else {
		p.add(prefix...)
		p.add(T(p.Suffix))
		p.add(suffix...)
		p.add(T(p.Middle))
	}
	p.add(middle...)
}

// add appends as many tokens as fit the block.
func (p *permuter[T]) add(tokens ...T) {
	fit := min(len(tokens), cap(p.out)-len(p.out))
	p.out, p.lost = append(p.out, tokens[:fit]...), p.lost+int64(len(tokens)-fit)
}

// chance draws true with a probability.
func (p *permuter[T]) chance(of float64) bool { return float64(p.r.Uint64()>>11) < of*(1<<53) }

// place draws a place between n tokens: from 0 to n.
func (p *permuter[T]) place(n int) int {
	at, _ := bits.Mul64(p.r.Uint64(), uint64(n)+1)
	return int(at)
}
