package shuffle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// withoutShards removes the shards that are not sampled, with their units.
func withoutShards(m *Manifest, units []Unit, sampled []bool) (less *Manifest, kept []Unit, number map[int]int) {
	less, number = m.Only(sampled), map[int]int{}
	for g, group := range m.Groups {
		if sampled[group.Shard] {
			number[g] = len(number)
		}
	}
	for _, u := range units {
		if g, ok := number[u.Group]; ok {
			u.Group = g
			kept = append(kept, u)
		}
	}
	return less, kept, number
}

// An order depends on the shards that have samples alone: states fit, and all rows come as they do
// where the other shards do not exist.
func TestShardsWithoutSamplesDoNotMatter(t *testing.T) {
	skipped := 0
	for n := range cases(t, 400) {
		r := newRNG("test", 40, n)
		m := randomManifest(&r, 9, 4, 0, 1+int64(r.below(90)))
		for i := range m.Shards {
			m.Shards[i].Path = fmt.Sprintf("dt=%d/%s", i/3, m.Shards[i].Path)
		}
		o := Options{
			Buffer: 1 + int64(r.below(400)), WorldSize: 1 + int(r.below(6)), UnitRows: int64(r.below(2) * 30), Spread: int(r.below(3)),
			Assign: []Assign{Sticky, PerEpoch}[r.below(2)], Tail: []Tail{Drop, Carry}[r.below(2)],
		}
		units := wholeUnits(t, m, o.UnitRows)
		thin(&r, m, units)
		empty(&r, m, units)
		m.Numbered = r.below(3) == 0
		sampled := m.Sampled(ListUnits(units))
		if sampled == nil {
			continue
		}
		skipped++
		less, kept, number := withoutShards(m, units, sampled)
		a, b := planOf(t, m, units, o, n), planOf(t, less, kept, o, n)
		if err := a.State(1, 0, 8).Fits(b); err != nil {
			t.Fatalf("case %d: %v", n, err)
		}
		x, y := epochRows(t, a.Epoch(n%3)), epochRows(t, b.Epoch(n%3))
		for i := range x {
			x[i].group = number[x[i].group]
		}
		if !slices.Equal(x, y) {
			t.Fatalf("case %d (%s): other rows than without the shards that have no samples", n, a.params)
		}
		q, err := NewSequence(m, ListUnits(units))
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewSequence(less, ListUnits(kept))
		if err != nil {
			t.Fatal(err)
		}
		if err := q.State(1, 0, 0, 8).FitsSequence(p); err != nil {
			t.Fatalf("case %d: %v", n, err)
		}
	}
	if skipped < 20 {
		t.Errorf("%d cases had a shard without samples", skipped)
	}
}

func TestSampled(t *testing.T) {
	m := manifestOf([]int64{4}, []int64{0}, []int64{4}, nil, []int64{4}, []int64{4})
	if got := fmt.Sprint(m.Sampled(cutUnits(t, m, 0))); got != "[true false true false true true]" {
		t.Errorf("without a rule: %s", got)
	}
	m.Rule = someRule
	units := wholeUnits(t, m, 0)
	units[0].Samples, units[1].Samples, units[3].Samples = 0, 2, 0
	if got := fmt.Sprint(m.Sampled(ListUnits(units))); got != "[false false true false true false]" {
		t.Errorf("with a rule: %s", got)
	}
	m.Numbered = true // shard 0 numbers the rows of those after it
	if got := fmt.Sprint(m.Sampled(ListUnits(units))); got != "[true false true false true false]" {
		t.Errorf("with a rule of row numbers: %s", got)
	}
	for i := range units {
		units[i].Samples = 0
	}
	if got := m.Only(m.Sampled(ListUnits(units))); len(got.Shards) != 0 {
		t.Errorf("without samples: %v", got.Shards)
	}
}

func TestOnlyShortensPaths(t *testing.T) {
	m := manifestOf([]int64{1}, []int64{2}, []int64{3})
	m.Base = "s3://b/t/"
	for i, dir := range []string{"dt=26/h=1/", "dt=26/h=2/", "dt=27/"} {
		m.Shards[i].Path = dir + "x"
	}
	for _, c := range []struct {
		sampled []bool
		want    string
	}{
		{[]bool{true, true, false}, "s3://b/t/dt=26/ h=1/x h=2/x"},
		{[]bool{false, true, true}, "s3://b/t/ dt=26/h=2/x dt=27/x"},
		{[]bool{false, false, true}, "s3://b/t/dt=27/ x"},
		{nil, "s3://b/t/ dt=26/h=1/x dt=26/h=2/x dt=27/x"},
	} {
		part := m.Only(c.sampled)
		text := []string{part.Base}
		for _, s := range part.Shards {
			text = append(text, s.Path)
		}
		if got := strings.Join(text, " "); got != c.want {
			t.Errorf("%v: %s, want %s", c.sampled, got, c.want)
		}
	}
}
