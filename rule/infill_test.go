package rule

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const (
	fimPrefix, fimMiddle, fimSuffix = 101, 102, 103
	fimEOS, fimFile                 = 7, 8
)

func infillPack(rate, spm float64) *Pack {
	return &Pack{
		Columns: map[string]int{"tokens": 64}, EOS: new(int64(fimEOS)),
		FIM: &FillInTheMiddle{Rate: rate, SPMRate: spm, Prefix: fimPrefix, Middle: fimMiddle, Suffix: fimSuffix, Boundaries: []int64{fimFile}},
	}
}

// infilled permutes a block of tokens of width bytes.
func infilled(f *Infiller, block []uint64, width int, lengths []int32, seed uint64) []uint64 {
	var data []byte
	for _, token := range block {
		data = append(data, binary.LittleEndian.AppendUint64(nil, token)[:width]...)
	}
	f.Block(data, width, lengths, rand.NewPCG(seed, 1))
	out := make([]uint64, len(block))
	for i := range out {
		var one [8]byte
		copy(one[:], data[i*width:][:width])
		out[i] = binary.LittleEndian.Uint64(one[:])
	}
	return out
}

// restored undoes the permutation of a fragment.
func restored(t *testing.T, tokens []uint64) (whole []uint64, permuted bool) {
	t.Helper()
	if len(tokens) == 0 || tokens[0] != fimPrefix {
		return tokens, false
	}
	suffix, middle := slices.Index(tokens, fimSuffix), slices.Index(tokens, fimMiddle)
	if suffix < 1 || middle < suffix {
		t.Fatalf("fragment %v is neither form", tokens)
	}
	return slices.Concat(tokens[1:suffix], tokens[middle+1:], tokens[suffix+1:middle]), true
}

// Fragments lose no token where blocks have room, and as many are permuted as the rate says.
func TestInfilledFragmentsAreRestored(t *testing.T) {
	const blocks, size = 4000, 64
	r := rand.New(rand.NewPCG(1, 2))
	for _, width := range []int{1, 2, 4, 8} {
		f := infillPack(0.5, 0.25).NewInfiller()
		fragments, permuted := 0, 0
		for n := range blocks {
			block := make([]uint64, size)
			var lengths []int32
			var want [][]uint64
			at := 0
			for range 1 + r.IntN(3) { // documents of a fragment, a file's end, a fragment and eos
				begin := at
				for _, end := range []uint64{fimFile, fimEOS} {
					var fragment []uint64
					for range r.IntN(5) {
						fragment = append(fragment, uint64(20+r.IntN(60)))
					}
					at += copy(block[at:], append(slices.Clone(fragment), end))
					want = append(want, fragment)
				}
				lengths = append(lengths, int32(at-begin))
			}
			before := slices.Clone(lengths)
			got := infilled(f, block, width, lengths, uint64(n))
			at = 0
			for i, length := range lengths {
				tokens := got[at : at+int(length)]
				at += int(length)
				added := int32(0)
				for j, end := range []uint64{fimFile, fimEOS} {
					edge := slices.Index(tokens, end)
					whole, is := restored(t, tokens[:edge])
					if !slices.Equal(whole, want[2*i+j]) {
						t.Fatalf("block %d: fragment %v of %v", n, tokens[:edge], want[2*i+j])
					}
					if is {
						permuted, added = permuted+1, added+3
					}
					if len(want[2*i+j]) > 0 {
						fragments++
					}
					tokens = tokens[edge+1:]
				}
				if length != before[i]+added || len(tokens) > 0 {
					t.Fatalf("block %d: document %d has %d tokens, had %d", n, i, length, before[i])
				}
			}
			if !slices.Equal(got[at:], make([]uint64, size-at)) {
				t.Fatalf("block %d: padding is %v", n, got[at:])
			}
		}
		if share := float64(permuted) / float64(fragments); share < 0.48 || share > 0.52 {
			t.Errorf("%.3f of %d fragments are permuted, want half", share, fragments)
		}
	}
}

// Fragments are cut at all places, and as many are SPM as the rate says.
func TestInfilledFragmentsAreCutAnywhere(t *testing.T) {
	const tokens, blocks = 40, 20000
	f := infillPack(1, 0.25).NewInfiller()
	block := make([]uint64, 64)
	for i := range tokens {
		block[i] = uint64(20 + i)
	}
	first, firsts, middles := 0, map[int]int{}, map[int]int{}
	for n := range blocks {
		got := infilled(f, block, 2, []int32{tokens}, uint64(n))[:tokens+3]
		suffix, middle := slices.Index(got, fimSuffix), slices.Index(got, fimMiddle)
		if whole, _ := restored(t, got); suffix == 1 && slices.Equal(whole, slices.Concat(got[middle+1:], got[2:middle])) {
			first++ // SPM, or without a prefix
			continue
		}
		firsts[suffix-1]++
		middles[tokens+2-middle]++
	}
	if share := float64(first) / blocks; share < 0.26 || share > 0.31 { // 0.25, and 0.75 of 2/41
		t.Errorf("%.3f of fragments have the suffix first, want 0.286", share)
	}
	if len(firsts) != tokens || len(middles) != tokens {
		t.Errorf("%d lengths of prefixes and %d of middles, want %d each", len(firsts), len(middles), tokens)
	}
}

// A full block loses the tokens that its fragments push out, from its end.
func TestInfilledBlockIsTruncated(t *testing.T) {
	f := infillPack(1, 0).NewInfiller()
	block, lengths := make([]uint64, 8), []int32{4, 3, 1}
	copy(block, []uint64{20, 21, 22, fimEOS, 23, 24, fimEOS, 25})
	got := infilled(f, block, 4, lengths, 3)
	whole, _ := restored(t, got[:6])
	if !slices.Equal(whole, []uint64{20, 21, 22}) || got[6] != fimEOS || got[7] != fimPrefix || !slices.Equal(lengths, []int32{7, 1, 0}) {
		t.Errorf("got %v of lengths %v", got, lengths)
	}
	if lost := f.Block(make([]byte, 8*4), 4, []int32{4, 4}, rand.NewPCG(3, 1)); lost != 6 {
		t.Errorf("two fragments lose %d tokens, want the 6 that are added", lost)
	}
	if lost := f.Block(make([]byte, 8*4), 4, []int32{2}, rand.NewPCG(3, 1)); lost != 0 {
		t.Errorf("a fragment with room behind it loses %d tokens", lost)
	}
	none := []int32{}
	if got := infilled(f, block, 4, none, 3); !slices.Equal(got, block) {
		t.Errorf("a block without documents became %v", got)
	}
}

// Blocks depend on the seed alone, and what does not change them does not change the text.
func TestInfilledBlocksAreDrawn(t *testing.T) {
	f, g := infillPack(1, 0.5).NewInfiller(), infillPack(1, 0.5).NewInfiller()
	block := make([]uint64, 64)
	for i := range block {
		block[i] = uint64(20 + i%50)
	}
	different := 0
	for seed := range uint64(50) {
		one, other := infilled(f, block, 2, []int32{50}, seed), infilled(g, block, 2, []int32{50}, seed)
		if !slices.Equal(one, other) {
			t.Fatalf("seed %d: two results", seed)
		}
		if !slices.Equal(one, infilled(f, block, 2, []int32{50}, seed+1)) {
			different++
		}
	}
	if different < 49 {
		t.Errorf("%d of 50 seeds change the block", different)
	}
}

func TestFillInTheMiddleIsValidated(t *testing.T) {
	for want, change := range map[string]func(p *Pack){
		"":                            func(*Pack) {},
		"rate of fill-in-the-middle":  func(p *Pack) { p.FIM.Rate = 0 },
		"at most 1, got 1.5":          func(p *Pack) { p.FIM.Rate = 1.5 },
		"spm_rate":                    func(p *Pack) { p.FIM.SPMRate = -1 },
		"three different tokens":      func(p *Pack) { p.FIM.Middle = fimSuffix },
		"needs an eos":                func(p *Pack) { p.EOS, p.FIM.Boundaries = nil, nil },
		"token 103 as suffix":         func(p *Pack) { p.EOS = new(int64(fimSuffix)) },
		"token 101 as prefix of fill": func(p *Pack) { p.FIM.Boundaries = []int64{fimPrefix} },
	} {
		p := infillPack(0.5, 0.5)
		change(p)
		err := p.Validate()
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
