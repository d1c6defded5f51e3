package shuffle

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestStateRoundTrip(t *testing.T) {
	for n := range uint64(100) {
		c := randomCase(t, 6000+n)
		r := newRNG("test", 18, n)
		want := c.plan.State(r.uint64()>>11, int64(r.below(uint64(c.plan.Rows()+1))), 1+int64(r.below(1<<40)))
		got, err := ParseState(want.JSON())
		if err != nil {
			t.Fatalf("%s: %v", want.JSON(), err)
		}
		if string(got.JSON()) != string(want.JSON()) || *got.Params != *want.Params {
			t.Fatalf("%s became %s", want.JSON(), got.JSON())
		}
		if err := got.Fits(c.plan); err != nil {
			t.Fatal(err)
		}
	}
}

// The documented text, and its size however large the data is.
func TestStateJSON(t *testing.T) {
	p := newPlan(t, goldenManifest(), Options{Buffer: 700, WorldSize: 2}, 1<<64-1)
	const want = `{"v":1,"plan":"lane-tick/3","shuffle":true,"seed":18446744073709551615,"epoch":3,"position":1000,"rows":7025,"global_batch":64,` +
		`"manifest":"` + goldenSampled + `","units":"` + goldenUnits + `",` +
		`"params":{"lanes":2,"quantum":79,"life":1,"buffer":700,"start":"filled","spread":0,"assign":"sticky","tail":"drop","unit_rows":0}}`
	if got := string(p.State(3, 1000, 64).JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	large := p.State(1<<63, 1<<62, 1<<62)
	large.Rule = someRule
	large.Rows = 1<<63 - 1
	*large.Params = Params{Lanes: maxLanes, Quantum: 1 << 44, Life: maxLife, Buffer: 1<<63 - 1, Start: Filled, Spread: 1 << 30, Assign: Sticky, Tail: Carry, UnitRows: 1<<63 - 1}
	if n := len(large.JSON()); n >= 1024 {
		t.Errorf("a state of %d bytes", n)
	}
	seq, err := NewSequence(p.manifest, *p.Units())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseState(seq.State(7, 2, 5, 8).JSON())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.FitsSequence(seq); err != nil {
		t.Error(err)
	}
	if s.Fits(p) == nil || p.State(0, 0, 1).FitsSequence(seq) == nil {
		t.Error("a shuffled and an unshuffled state are taken for each other")
	}
}

// Each difference is named.
func TestStateFits(t *testing.T) {
	p := newPlan(t, goldenManifest(), Options{Buffer: 700, WorldSize: 2}, 5)
	for field, change := range map[string]func(s *State){
		"shuffle":   func(s *State) { s.Shuffle = false },
		"seed":      func(s *State) { s.Seed++ },
		"rule":      func(s *State) { s.Rule, s.Rows = someRule, s.Rows-1 },
		"rows":      func(s *State) { s.Rows++ },
		"manifest":  func(s *State) { s.Manifest = strings.Repeat("0", 64) },
		"units":     func(s *State) { s.Units = strings.Repeat("0", 16) },
		"lanes":     func(s *State) { s.Params.Lanes++ },
		"quantum":   func(s *State) { s.Params.Quantum++ },
		"life":      func(s *State) { s.Params.Life++ },
		"buffer":    func(s *State) { s.Params.Buffer++ },
		"start":     func(s *State) { s.Params.Start = Direct },
		"spread":    func(s *State) { s.Params.Spread++ },
		"assign":    func(s *State) { s.Params.Assign = PerEpoch },
		"tail":      func(s *State) { s.Params.Tail = Carry },
		"unit_rows": func(s *State) { s.Params.UnitRows++ },
	} {
		t.Run(field, func(t *testing.T) {
			s := p.State(0, 0, 8)
			if err := s.Fits(p); err != nil {
				t.Fatal(err)
			}
			change(&s)
			var differs *MismatchError
			if err := s.Fits(p); !errors.As(err, &differs) || differs.Field != field {
				t.Errorf("%v", err)
			}
		})
	}
	s := p.State(0, 0, 8)
	if s.Params = nil; s.Fits(p) == nil {
		t.Error("a state without parameters fits")
	}
}

// TestStateOfAnEarlierOrder: a state that this version cannot go on from says what can.
func TestStateOfAnEarlierOrder(t *testing.T) {
	plan := string(newPlan(t, goldenManifest(), Options{Buffer: 700}, 5).State(0, 0, 64).JSON())
	mixture := string(someMixture(t).State(0, 0, 20, Pad).JSON())
	for _, text := range []string{
		strings.Replace(plan, "lane-tick/3", "lane-tick/1", 1),
		strings.Replace(plan, "lane-tick/3", "lane-tick/2", 1),
		strings.Replace(mixture, "mix/4", "mix/1", 1),
		strings.Replace(mixture, "mix/4", "mix/2", 1),
		strings.Replace(mixture, "mix/4", "mix/3", 1),
	} {
		if _, err := ParseState([]byte(text)); err == nil || !strings.Contains(err.Error(), "finish the epoch with the version that saved the state") {
			t.Errorf("%.40s: error %v", text, err)
		}
	}
}

func TestParseStateRefuses(t *testing.T) {
	good := string(newPlan(t, goldenManifest(), Options{Buffer: 700, WorldSize: 2}, 5).State(3, 1000, 64).JSON())
	if _, err := ParseState([]byte(good + "\n")); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{`"v":1`, `"v":2`},
		{`"v":1,`, ``},
		{`lane-tick/3`, `lane-tick/9`},
		{`lane-tick/3`, `sequential/1`},
		{`"shuffle":true`, `"shuffle":false`},
		{`"seed":5`, `"seed":-5`},
		{`"seed":5`, `"seed":5,"sead":6`},
		{`"position":1000`, `"position":-1`},
		{`"position":1000`, `"position":7026`},
		{`"position":1000`, `"position":1.5`},
		{`"position":1000`, `"position":"1000"`},
		{`"rows":7025`, `"rows":-7025`},
		{`"global_batch":64`, `"global_batch":0`},
		{`"manifest":"`, `"manifest":"0`},
		{`"manifest":"a`, `"manifest":"F`},
		{`"units":"`, `"units":"0`},
		{`"units":"`, `"rule":"0123456789ABCDEF","units":"`},
		{`"units":"`, `"rule":"0123","units":"`},
		{`"units":"`, `"rule":7,"units":"`},
		{`"lanes":2`, `"lanes":0`},
		{`"life":1`, `"life":65536`},
		{`"quantum":79`, `"quantum":9223372036854775807`},
		{`"tail":"drop"`, `"tail":"wrap"`},
		{`"start":"filled"`, `"start":""`},
		{`}}`, `}`},
		{`}}`, `}}{`},
		{`}}`, `}} x`},
		{`{"v"`, `[{"v"`},
		{good, ``},
		{good, `null`},
		{good, `"` + strings.Repeat("x", maxStateBytes) + `"`},
	} {
		changed := strings.Replace(good, c[0], c[1], 1)
		if changed == good {
			t.Fatalf("%s is not in %s", c[0], good)
		}
		if s, err := ParseState([]byte(changed)); err == nil {
			t.Errorf("%.50s for %.50s makes %+v", c[1], c[0], s)
		}
	}
}

func FuzzParseState(f *testing.F) {
	f.Add(newPlan(f, goldenManifest(), Options{Buffer: 700, WorldSize: 2}, 5).State(3, 1000, 64).JSON())
	f.Add([]byte(`{"v":1,"plan":"sequential/1","manifest":"` + goldenSampled + `","global_batch":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseState(data)
		if err != nil {
			return
		}
		again, err := ParseState(s.JSON())
		if err != nil {
			t.Fatalf("%s: %v", s.JSON(), err)
		}
		if string(again.JSON()) != string(s.JSON()) || !json.Valid(s.JSON()) {
			t.Fatalf("%s became %s", s.JSON(), again.JSON())
		}
	})
}

// trainer takes rows as a run does that is killed and resumed: all that it keeps between two lives
// is a state's JSON.
type trainer struct {
	m     *Manifest
	units []Unit
}

// run continues a state for so many steps of an epoch in some world and returns the rows of each
// step and the state after them.
func (tr trainer) run(t *testing.T, saved []byte, world, batch, steps int) ([][]testRow, []byte) {
	t.Helper()
	s, err := ParseState(saved)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(tr.m, ListUnits(tr.units), *s.Params, s.Seed)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Fits(p); err != nil {
		t.Fatal(err)
	}
	e, g := p.Epoch(s.Epoch), int64(world*batch)
	arith := Steps{Rows: p.Rows(), GlobalBatch: g, Tail: p.params.Tail}
	var out [][]testRow
	for i := range min(int64(steps), arith.Count(s.Position)) {
		pos, rows := arith.At(s.Position, i)
		var step []testRow
		for rank := range world {
			step = append(step, tr.resume(t, p, e, Worker{Rank: rank, WorldSize: world}, pos, rows)...)
		}
		out = append(out, step)
	}
	epoch, pos := arith.Normalize(s.Epoch, min(p.Rows(), s.Position+int64(len(out))*g))
	return out, p.State(epoch, pos, g).JSON()
}

// resume takes one rank's rows of one step from lanes that seek to it.
func (tr trainer) resume(t *testing.T, p *Plan, e *Epoch, w Worker, pos, rows int64) []testRow {
	t.Helper()
	v, err := p.View(w)
	if err != nil {
		t.Fatal(err)
	}
	var s Share
	v.Step(e, pos, rows, &s)
	cursors := make([]laneCursor, len(s.Takes))
	for i, take := range s.Takes {
		cursors[i] = laneCursor{it: e.Lane(take.Slot).Iter(), orders: map[uint32][]uint32{}}
		cursors[i].it.SeekRow(take.From)
	}
	var out []testRow
	for _, i := range s.Order {
		span, row, ok := cursors[i].row()
		if !ok {
			t.Fatal("a lane ended early")
		}
		out = append(out, testRow{p.units.At(span.Unit).Group, p.units.At(span.Unit).Lo + span.From + int64(row)})
	}
	return out
}

// A run that is killed at every step and resumed in another world takes the same rows in the same
// steps as one that is not.
func TestResumeAtEveryStep(t *testing.T) {
	for n := range cases(t, 40) {
		r := newRNG("test", 19, n)
		m := randomManifest(&r, 6, 3, 1, 60)
		units := wholeUnits(t, m, int64(r.below(2)*20))
		params, err := Options{Buffer: 1 + int64(r.below(200)), WorldSize: 1 + int(r.below(6)), Tail: []Tail{Drop, Pad, Short}[n%3], UnitRows: 20}.Params(ListUnits(units))
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(m, ListUnits(units), params, n)
		if err != nil {
			t.Fatal(err)
		}
		if p.Rows() < 24 {
			continue
		}
		const g = 24
		order := epochRows(t, p.Epoch(0))
		state := p.State(0, 0, g).JSON()
		var all []testRow
		for pos := 0; ; pos += g {
			world := []int{1, 2, 3, 4, 6, 8, 12, 24}[r.below(8)]
			steps, after := trainer{m, units}.run(t, state, world, g/world, 1)
			again, _ := trainer{m, units}.run(t, state, world, g/world, 1) // resumed twice in a row
			if len(steps) == 0 {
				break
			}
			want := order[pos:min(pos+g, len(order))]
			if !sameRows(steps[0], want) || !slices.Equal(steps[0], again[0]) {
				t.Fatalf("case %d (%s): step at %d in a world of %d has other rows", n, params, pos, world)
			}
			all = append(all, steps[0]...)
			s, err := ParseState(after)
			if err != nil {
				t.Fatal(err)
			}
			if state = after; s.Epoch > 0 {
				if s.Epoch != 1 || s.Position != 0 {
					t.Fatalf("case %d: after the last step the state is %s", n, after)
				}
				break
			}
			if s.Position != int64(pos+g) {
				t.Fatalf("case %d: position %d after the step at %d", n, s.Position, pos)
			}
		}
		want := len(order)
		if params.Tail == Drop {
			want -= want % g
		}
		if len(all) != want {
			t.Fatalf("case %d (%s): %d rows of %d", n, params, len(all), want)
		}
	}
}
