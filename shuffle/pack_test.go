package shuffle

import (
	"slices"
	"testing"
)

// The order of a rule is keyed by seed, epoch and unit alone, so that all lanes with a part of a
// unit make the same samples of it.
func TestRuleOrder(t *testing.T) {
	m := &Manifest{Shards: []Shard{{Path: "a"}}, Groups: []Group{{Rows: 60}, {Index: 1, Rows: 40}}}
	units := []Unit{{Group: 0, Hi: 30, Samples: 9}, {Group: 0, Lo: 30, Hi: 60, Samples: 7}, {Group: 1, Hi: 40, Samples: 8}}
	m.Rule = "0123456789abcdef"
	p, err := New(m, ListUnits(units), Params{Lanes: 3, Quantum: 1, Life: 2, Buffer: 10, Start: Filled, Assign: Sticky, Tail: Short}, 5)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, epoch := range []uint64{0, 1} {
		for slot := range 3 {
			l := p.Epoch(epoch).Lane(slot)
			for j := range l.Spans() {
				u := units[l.Span(j).Unit]
				r := newRNG("pack", 5, epoch, uint64(u.Group), uint64(u.Lo))
				got := l.RuleOrder(j, 12, nil)
				if want := permutation(&r, nil, 12); !slices.Equal(got, want) {
					t.Errorf("epoch %d, unit %d: %v, want %v", epoch, l.Span(j).Unit, got, want)
				}
				seen[string(rune(got[0]))+string(rune(got[1]))+string(rune(got[2]))+string(rune(got[3]))]++
			}
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d orders of three units in two epochs", len(seen))
	}
}
