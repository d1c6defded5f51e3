package rule

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/option"
)

// packOf is a packing of one column.
func packOf(size int, s PackStrategy) *Pack {
	return &Pack{Columns: map[string]int{"tokens": size}, Strategy: s}
}

var packStrategies = []PackStrategy{Wrapped, BestFit, BestFitSplit}

// naiveLayout is what Layout's comment says, as plainly as it can be said.
func naiveLayout(strategy PackStrategy, size uint32, lengths, order []uint32) (blocks [][]Piece) {
	if strategy == Wrapped {
		room := uint32(0)
		for _, doc := range order {
			for at := range lengths[doc] {
				if room == 0 {
					blocks, room = append(blocks, nil), size
				}
				b := &blocks[len(blocks)-1]
				if n := len(*b); n > 0 && (*b)[n-1].Doc == doc {
					(*b)[n-1].Tokens++
				} else {
					*b = append(*b, Piece{Doc: doc, Begin: at, Tokens: 1})
				}
				room--
			}
		}
		return blocks
	}
	var rests []Piece
	for _, doc := range order {
		l, at := lengths[doc], uint32(0)
		for ; strategy == BestFitSplit && l-at >= size; at += size {
			blocks = append(blocks, []Piece{{Doc: doc, Begin: at, Tokens: size}})
		}
		if l > at {
			rests = append(rests, Piece{Doc: doc, Begin: at, Tokens: min(l-at, size)})
		}
	}
	place := make(map[uint32]int)
	for i, doc := range order {
		place[doc] = i
	}
	slices.SortStableFunc(rests, func(a, b Piece) int { return cmp.Compare(b.Tokens, a.Tokens) })
	type bin struct {
		pieces []Piece
		room   uint32
		since  int
	}
	var bins []*bin
	for turn, piece := range rests {
		var best *bin
		for _, b := range bins {
			if b.room >= piece.Tokens && (best == nil || b.room < best.room || b.room == best.room && b.since < best.since) {
				best = b
			}
		}
		if best == nil {
			best = &bin{room: size}
			bins = append(bins, best)
		}
		best.pieces, best.room, best.since = append(best.pieces, piece), best.room-piece.Tokens, turn
	}
	for _, b := range bins {
		slices.SortFunc(b.pieces, func(a, b Piece) int { return cmp.Compare(place[a.Doc], place[b.Doc]) })
		blocks = append(blocks, b.pieces)
	}
	return blocks
}

func randomLengths(r *rand.Rand, n int) []uint32 {
	lengths := make([]uint32, n)
	for i := range lengths {
		if r.IntN(8) > 0 { // else it is empty
			lengths[i] = uint32(math.Round(40 * math.Exp(r.NormFloat64())))
		}
	}
	return lengths
}

func shuffled(r *rand.Rand, n int) []uint32 {
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	r.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// The layout is the naive one, and the number of blocks is the same in every order.
func TestPackLayout(t *testing.T) {
	for _, strategy := range packStrategies {
		for _, size := range []int{1, 2, 16, 100, 512, 4097} {
			t.Run(fmt.Sprintf("%s %d", strategy, size), func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, uint64(size)))
				p := packOf(size, strategy).NewPacker()
				for range 30 {
					lengths := randomLengths(r, r.IntN(150))
					count := p.Count(lengths)
					for range 2 {
						order := shuffled(r, len(lengths))
						pieces, ends := p.Layout(lengths, order)
						if want := naiveLayout(strategy, uint32(size), lengths, order); !slices.EqualFunc(blocksOf(pieces, ends), want, slices.Equal) {
							t.Fatalf("%v in order %v: %v\nwant %v", lengths, order, blocksOf(pieces, ends), want)
						}
						if int64(len(ends)) != count {
							t.Fatalf("%d blocks, %d counted", len(ends), count)
						}
					}
				}
			})
		}
	}
}

func blocksOf(pieces []Piece, ends []uint32) (blocks [][]Piece) {
	from := uint32(0)
	for _, end := range ends {
		blocks = append(blocks, pieces[from:end])
		from = end
	}
	return blocks
}

// Each token is in one block, in its place, and no block is too full; bfd alone leaves out what is
// beyond a block, and says how much.
func FuzzPackLayout(f *testing.F) {
	f.Add([]byte{3, 0, 9, 200, 8, 8}, uint16(8), uint8(0))
	f.Add([]byte{3, 0, 9, 200, 8, 8}, uint16(8), uint8(1))
	f.Add([]byte{255, 1, 255}, uint16(64), uint8(2))
	f.Fuzz(func(t *testing.T, raw []byte, size uint16, strategy uint8) {
		n := uint32(size%5000) + 1
		p := packOf(int(n), packStrategies[strategy%3]).NewPacker()
		lengths := make([]uint32, len(raw))
		for i, b := range raw {
			lengths[i] = uint32(b) * uint32(b) / 16
		}
		pieces, ends := p.Layout(lengths, shuffled(rand.New(rand.NewPCG(uint64(size), 0)), len(raw)))
		seen := make([][]bool, len(lengths))
		for i, l := range lengths {
			seen[i] = make([]bool, l)
		}
		for _, block := range blocksOf(pieces, ends) {
			total := uint32(0)
			for _, piece := range block {
				total += piece.Tokens
				for at := piece.Begin; at < piece.Begin+piece.Tokens; at++ {
					if seen[piece.Doc][at] {
						t.Fatalf("token %d of document %d twice", at, piece.Doc)
					}
					seen[piece.Doc][at] = true
				}
			}
			if total == 0 || total > n {
				t.Fatalf("a block of %d tokens, want 1 to %d", total, n)
			}
		}
		missing, cut := int64(0), int64(0)
		for _, tokens := range seen {
			before := missing
			for at, there := range tokens {
				switch {
				case !there:
					missing++
				case missing > before:
					t.Fatalf("token %d is there, and one before it is not", at)
				}
			}
			if missing > before {
				cut++
			}
		}
		if documents, tokens := p.Truncated(lengths); documents != cut || tokens != missing {
			t.Errorf("truncated: %d documents, %d tokens; want %d, %d", documents, tokens, cut, missing)
		}
		if packStrategies[strategy%3] != BestFit && missing > 0 {
			t.Errorf("%d tokens are lost", missing)
		}
	})
}

// First fit's bound: no packing needs more than twice the room.
func TestPackIsDense(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 0))
	lengths := randomLengths(r, 5000)
	for _, strategy := range packStrategies {
		blocks := packOf(8192, strategy).NewPacker().Count(lengths)
		if used := float64(Sum(lengths)) / float64(blocks*8192); used < 0.95 {
			t.Errorf("%s uses %.3f of its blocks", strategy, used)
		}
	}
}

func TestPackAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 0))
	lengths := randomLengths(r, 500)
	order := shuffled(r, 500)
	for _, strategy := range packStrategies {
		t.Run(string(strategy), func(t *testing.T) {
			p := packOf(512, strategy).NewPacker()
			p.Layout(lengths, order)
			if n := testing.AllocsPerRun(5, func() { p.Layout(lengths, order); p.Count(lengths) }); n > 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

func TestPackValidate(t *testing.T) {
	one := int64(1)
	for _, c := range []struct {
		name string
		pack Pack
		want string
	}{
		{"nothing", Pack{}, "pack must name a column of lists and the size of a block"},
		{"size 0", Pack{Columns: map[string]int{"t": 0}}, `pack["t"] must be from 1 to 16777216 tokens, got 0`},
		{"size beyond", Pack{Columns: map[string]int{"t": MaxPackSize + 1}}, `pack["t"] must be from 1 to 16777216 tokens, got 16777217`},
		{"unlike sizes", Pack{Columns: map[string]int{"a": 8, "b": 16}}, `pack["b"] must be 8, the size that the blocks of "a" have, got 16`},
		{"strategy", Pack{Columns: map[string]int{"t": 8}, Strategy: "ffd"}, `pack needs a strategy of wrapped, bfd or bfd_split, got "ffd"`},
		{"no room", Pack{Columns: map[string]int{"t": 2}, EOS: &one, BOS: &one}, `pack["t"] must be at least 3, room for an item beside eos and bos, got 2`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.pack.Validate()
			if err == nil || !strings.Contains(option.Spelled(err, option.Argument), c.want) {
				t.Errorf("%v, want %q", option.Spelled(err, option.Argument), c.want)
			}
		})
	}
}

// Of documents longer than a block, bfd alone loses what is beyond it.
func TestPackTruncated(t *testing.T) {
	lengths := []uint32{0, 7, 8, 9, 20}
	for strategy, want := range map[PackStrategy][2]int64{Wrapped: {}, BestFit: {2, 13}, BestFitSplit: {}} {
		t.Run(string(strategy), func(t *testing.T) {
			if documents, tokens := packOf(8, strategy).NewPacker().Truncated(lengths); documents != want[0] || tokens != want[1] {
				t.Errorf("%d documents lose %d tokens, want %v", documents, tokens, want)
			}
		})
	}
}

func TestPackText(t *testing.T) {
	eos, bos := int64(2), int64(1)
	p := Pack{Columns: map[string]int{"b": 8, "a": 8}, EOS: &eos, BOS: &bos, Strategy: BestFit, Length: "n"}
	if got, want := p.Text(), `pack bfd 8 "a" "b" bos 1 eos 2`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func BenchmarkPackLayout(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	lengths := make([]uint32, 5000)
	for i := range lengths {
		lengths[i] = uint32(max(1, math.Round(450*math.Exp(1.2*r.NormFloat64()))))
	}
	order := shuffled(r, len(lengths))
	for _, strategy := range packStrategies {
		b.Run(string(strategy), func(b *testing.B) {
			p := packOf(8192, strategy).NewPacker()
			for b.Loop() {
				p.Layout(lengths, order)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(lengths)), "ns/document")
		})
	}
}
