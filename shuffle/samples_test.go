package shuffle

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// rewritten is the table that holds a ruled plan's samples as rows: the same shards and groups, and
// the same units except empty ones. The number of each of its units in the ruled
// plan is in back.
func rewritten(m *Manifest, units []Unit) (w *Manifest, kept []Unit, back []int) {
	w = &Manifest{Shards: m.Shards, Groups: slices.Clone(m.Groups)}
	for g := range w.Groups {
		w.Groups[g].Rows = 0
	}
	for i, u := range units {
		if u.Samples == 0 {
			continue
		}
		lo := w.Groups[u.Group].Rows
		w.Groups[u.Group].Rows += u.Samples
		kept, back = append(kept, Unit{Group: u.Group, Lo: lo, Hi: lo + u.Samples, Samples: u.Samples}), append(back, i)
	}
	return w, kept, back
}

// A plan under a rule is the plan of the table that was rewritten to its samples: parameters, lanes
// and every pick. The order within a unit is drawn by the unit's first row, so it is the same where
// that is.
func TestRuledPlanIsThatOfTheRewrittenTable(t *testing.T) {
	for n := range cases(t, 300) {
		r := newRNG("test", 20, n)
		m := randomManifest(&r, 8, 5, 0, 1+int64(r.below(120)))
		o := Options{
			Buffer: 1 + int64(r.below(400)), WorldSize: 1 + int(r.below(6)), UnitRows: int64(r.below(2) * 30), Spread: int(r.below(3)),
			Start: []Start{Filled, Direct}[r.below(2)], Assign: []Assign{Sticky, PerEpoch}[r.below(2)], Tail: []Tail{Drop, Carry}[r.below(2)],
		}
		units := wholeUnits(t, m, o.UnitRows)
		thin(&r, m, units)
		for i := range units {
			if r.below(4) == 0 {
				units[i].Samples *= 3 // repeated
			}
		}
		a := planOf(t, m, units, o, n)
		w, kept, back := rewritten(m, units)
		b := planOf(t, w, kept, o, n)
		if a.params != b.params || a.Rows() != b.Rows() || a.Bound(3) != b.Bound(3) || a.Quality(32) != b.Quality(32) {
			t.Fatalf("case %d: %s with %d samples, the rewritten table has %s with %d rows", n, a.params, a.Rows(), b.params, b.Rows())
		}
		for slot := range a.params.Lanes {
			epoch := n % 3
			sameLane(t, a.Epoch(epoch).Lane(slot), b.Epoch(epoch).Lane(slot), back)
		}
	}
}

func sameLane(t *testing.T, a, b *Lane, back []int) {
	t.Helper()
	if a.Spans() != b.Spans() || a.Ticks() != b.Ticks() {
		t.Fatalf("%d spans in %d ticks, the rewritten table has %d in %d", a.Spans(), a.Ticks(), b.Spans(), b.Ticks())
	}
	for j := range a.Spans() {
		x, y := a.Span(j), b.Span(j)
		u, v := a.epoch.plan.units.At(x.Unit), b.epoch.plan.units.At(y.Unit)
		y.Unit = back[y.Unit]
		if x != y || a.Arrival(j) != b.Arrival(j) {
			t.Fatalf("span %d is %+v in tick %d, in the rewritten table %+v in tick %d", j, x, a.Arrival(j), y, b.Arrival(j))
		}
		if u.Lo == v.Lo && !slices.Equal(a.RowOrder(j, nil), b.RowOrder(j, nil)) {
			t.Fatalf("span %d: another order of the unit's samples", j)
		}
	}
	var x, y Tick
	for ia, ib := a.Iter(), b.Iter(); ; {
		more := ia.Next(&x)
		if ib.Next(&y) != more {
			t.Fatal("one lane ends before the other")
		}
		if !more {
			return
		}
		if x.Index != y.Index || !slices.Equal(x.Load, y.Load) || !slices.Equal(x.Picks, y.Picks) || !slices.Equal(x.Finished, y.Finished) {
			t.Fatalf("tick %d differs from tick %d of the rewritten table", x.Index, y.Index)
		}
	}
}

// Without shuffle the positions are those of the rewritten table too, and no span is empty.
func TestRuledSequence(t *testing.T) {
	for n := range uint64(100) {
		r := newRNG("test", 21, n)
		m := randomManifest(&r, 5, 4, 0, 50)
		units := wholeUnits(t, m, int64(r.below(20)))
		thin(&r, m, units)
		a, err := NewSequence(m, ListUnits(units))
		if err != nil {
			t.Fatal(err)
		}
		w, kept, back := rewritten(m, units)
		b, err := NewSequence(w, ListUnits(kept))
		if err != nil {
			t.Fatal(err)
		}
		if a.Rows() != b.Rows() {
			t.Fatalf("%d samples, the rewritten table has %d rows", a.Rows(), b.Rows())
		}
		for range 20 {
			lo := int64(r.below(uint64(a.Rows() + 1)))
			hi := lo + int64(r.below(uint64(a.Rows()-lo+1)))
			var got, want []Span
			a.Spans(lo, hi, func(s Span) { got = append(got, s) })
			b.Spans(lo, hi, func(s Span) { s.Unit = back[s.Unit]; want = append(want, s) })
			if !slices.Equal(got, want) {
				t.Fatalf("case %d: positions [%d, %d) are %v, in the rewritten table %v", n, lo, hi, got, want)
			}
			if lo < hi && a.UnitAt(lo) != got[0].Unit {
				t.Fatalf("case %d: position %d is in unit %d, UnitAt has %d", n, lo, got[0].Unit, a.UnitAt(lo))
			}
		}
	}
}

func TestSamplesRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		rule    string
		samples int64
		says    string // "" when it is allowed
	}{
		{"each row", "", 10, ""},
		{"fewer without a rule", "", 9, "without a rule"},
		{"none without a rule", "", 0, "without a rule"},
		{"none", someRule, 0, ""},
		{"more than rows", someRule, math.MaxInt32, ""},
		{"negative", someRule, -1, "-1 samples"},
		{"too many", someRule, math.MaxInt32 + 1, "2147483648 samples"},
		{"no hash", "price > 3", 10, "16 hex digits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := manifestOf([]int64{10})
			m.Rule = c.rule
			units := []Unit{{Hi: 10, Samples: c.samples}}
			params, err := Options{Buffer: 10}.Params(cutUnits(t, manifestOf([]int64{10}), 0))
			if err != nil {
				t.Fatal(err)
			}
			_, err = New(m, ListUnits(units), params, 0)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("a plan: %v", err)
			}
			_, err = NewSequence(m, ListUnits(units))
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("a sequence: %v", err)
			}
		})
	}
}

// Under a rule the hash of the units has their samples, and differs from the one without a rule
// even when each row is one.
func TestUnitsHashOfARule(t *testing.T) {
	m := manifestOf([]int64{10, 20}, []int64{30})
	plain := newPlan(t, m, Options{}, 0)
	units := wholeUnits(t, m, 0)
	m.Rule = someRule
	all := planOf(t, m, units, Options{}, 0)
	if all.UnitsHash() == plain.UnitsHash() {
		t.Error("a rule that keeps each row has the hash of no rule")
	}
	fewer := slices.Clone(units)
	fewer[1].Samples, fewer[2].Samples = 19, 31
	if p := planOf(t, m, fewer, Options{}, 0); p.UnitsHash() == all.UnitsHash() || p.Rows() != all.Rows() {
		t.Errorf("units of other samples have the hash %s, %d rows in all", p.UnitsHash(), p.Rows())
	}
}

// A state has its rule, and no other rule continues it; without one its JSON has no such field.
func TestStateOfARule(t *testing.T) {
	m := manifestOf([]int64{10, 20}, []int64{30})
	plain := newPlan(t, m, Options{}, 0)
	ruled := manifestOf([]int64{10, 20}, []int64{30})
	ruled.Rule = someRule
	p := planOf(t, ruled, wholeUnits(t, ruled, 0), Options{}, 0)
	q, err := NewSequence(ruled, ListUnits(wholeUnits(t, ruled, 0)))
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]State{"lanes": p.State(0, 5, 4), "file order": q.State(0, 0, 5, 4)} {
		t.Run(name, func(t *testing.T) {
			back, err := ParseState(s.JSON())
			if err != nil || back.Rule != someRule || !strings.Contains(string(s.JSON()), `"rule":"`+someRule+`"`) {
				t.Errorf("%s is read as %+v, %v", s.JSON(), back, err)
			}
		})
	}
	if err := p.State(0, 5, 4).Fits(p); err != nil {
		t.Error(err)
	}
	if err := q.State(0, 0, 5, 4).FitsSequence(q); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"a rule here":           plain.State(0, 0, 4).Fits(p),
		"a rule in the state":   p.State(0, 0, 4).Fits(plain),
		"a rule in file order":  State{Rows: 60, Manifest: m.Content()}.FitsSequence(q),
		"another rule":          func() error { s := p.State(0, 0, 4); s.Rule = strings.Repeat("f", 16); return s.Fits(p) }(),
		"another in file order": func() error { s := q.State(0, 0, 0, 4); s.Rule = strings.Repeat("f", 16); return s.FitsSequence(q) }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "rule is ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s := plain.State(0, 0, 4).JSON(); strings.Contains(string(s), "rule") {
		t.Errorf("%s", s)
	}
}

// Units may have as many samples as repeats can make: the arithmetic of lanes holds to the end.
func TestUnitsOfMostSamples(t *testing.T) {
	m := manifestOf([]int64{100, 1}, []int64{7})
	m.Rule = someRule
	units := wholeUnits(t, m, 0)
	for i := range units {
		units[i].Samples = math.MaxInt32
	}
	for _, o := range []Options{{Buffer: 1 << 40}, {Buffer: 1}, {Buffer: 1 << 31, WorldSize: 5}, {Buffer: 1 << 33, Lanes: 1, Start: Direct}} {
		p := planOf(t, m, units, o, 3)
		var rows int64
		for slot := range p.params.Lanes {
			l := p.Epoch(1).Lane(slot)
			rows += l.Rows()
			for j := range l.Spans() {
				var before int64
				for k := l.Arrival(j); k < l.Ticks(); k++ {
					n := l.Emitted(j, k)
					if n < before || n > l.Span(j).Rows() {
						t.Fatalf("%s: span %d of %d has emitted %d after %d", p.params, j, l.Span(j).Rows(), n, before)
					}
					before = n
				}
				if before != l.Span(j).Rows() {
					t.Fatalf("%s: span %d of %d emits %d", p.params, j, l.Span(j).Rows(), before)
				}
			}
			if k := l.TickOf(l.Rows() - 1); l.Before(k) >= l.Rows() || l.Before(k+1) != l.Rows() {
				t.Errorf("%s: the last sample leaves in tick %d, after %d and before %d of %d", p.params, k, l.Before(k), l.Before(k+1), l.Rows())
			}
		}
		if rows != 3*math.MaxInt32 || p.Rows() != rows {
			t.Errorf("%s: %d samples in lanes, %d in the plan", p.params, rows, p.Rows())
		}
	}
}
