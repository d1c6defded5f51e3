package shuffle

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

func someMixture(t testing.TB) *Mixture {
	t.Helper()
	return mixtureOf(t, 4, []int64{100, 30}, []Weights{{From: 0, Weights: []float64{0.7, 0.3}}, {From: 50, Weights: []float64{1, 2}}}, 80, 7)
}

func TestMixStateRoundTrip(t *testing.T) {
	m := someMixture(t)
	s := m.State(3, 40, 20, Pad)
	b := s.JSON()
	if !strings.Contains(string(b), `"weights":[[0,[0.7,0.3]],[50,[1,2]]]`) || len(b) > 1200 {
		t.Errorf("%d bytes: %s", len(b), b)
	}
	back, err := ParseState(b)
	if err != nil {
		t.Fatal(err)
	}
	if string(back.JSON()) != string(b) {
		t.Errorf("%s became %s", b, back.JSON())
	}
	if err := back.FitsMixture(m); err != nil {
		t.Error(err)
	}
	if back.KeptTail() != Pad || back.KeptLanes() != 4 {
		t.Errorf("tail %s, %d lanes", back.KeptTail(), back.KeptLanes())
	}
	if p := back.Sources[1].Params.Of(back.Lanes); p != m.Sources()[1].Plan.Params() {
		t.Errorf("params %v", p)
	}
}

// perSourceMixture has lanes of their own in each source, and weights in tokens.
func perSourceMixture(t testing.TB) *Mixture {
	t.Helper()
	sources := []Source{sourcesOf(t, 4, []int64{100, 30}, 7)[0], sourcesOf(t, 6, []int64{100, 30}, 7)[1]}
	o := MixtureOptions{Rows: 80, Seed: 7, Batching: PerSource, GlobalBatch: 20, Tokens: []int64{5000, 90}}
	m, err := NewMixture(sources, []Weights{{From: 0, Weights: []float64{0.7, 0.3}}, {From: 40, Weights: []float64{1, 2}}}, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A state of steps of one source each brings the options of its mixture back.
func TestPerSourceStateRoundTrip(t *testing.T) {
	m := perSourceMixture(t)
	b := m.State(3, 40, 20, Pad).JSON()
	for _, want := range []string{`"batching":"per_source","tail"`, `"weights_in":"tokens"`, `"tokens":5000,"params":{"lanes":4,`, `"tokens":90,"params":{"lanes":6,`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s lacks %s", b, want)
		}
	}
	back, err := ParseState(b)
	if err != nil {
		t.Fatal(err)
	}
	if string(back.JSON()) != string(b) || back.FitsMixture(m) != nil {
		t.Errorf("%s became %s: %v", b, back.JSON(), back.FitsMixture(m))
	}
	o := back.MixtureOptions()
	if o.Rows != 80 || o.Seed != 7 || o.Batching != PerSource || o.GlobalBatch != 20 || !slices.Equal(o.Tokens, []int64{5000, 90}) {
		t.Errorf("options %+v", o)
	}
	if p := back.Sources[1].Params.Of(back.Lanes); p != m.Sources()[1].Plan.Params() {
		t.Errorf("params %v", p)
	}
	stratified := someMixture(t)
	if err := back.FitsMixture(stratified); err == nil || !strings.Contains(err.Error(), "batching is per_source in the state and stratified here") {
		t.Errorf("error %v", err)
	}
	if text := string(stratified.State(3, 40, 20, Pad).JSON()); strings.Contains(text, "tokens") || strings.Contains(text, "weights_in") || strings.Count(text, "lanes") != 1 {
		t.Errorf("a state of samples has more than it had: %s", text)
	}
}

func TestPerSourceStateRefuses(t *testing.T) {
	good := string(perSourceMixture(t).State(3, 40, 20, Pad).JSON())
	for _, c := range []struct{ name, old, to, want string }{
		{"lanes of all", `"tail":"pad"`, `"tail":"pad","lanes":4`, `lanes: must be left out under batching "per_source"`},
		{"no lanes", `"lanes":6,`, ``, "sources.s1.params.lanes: 0 is not in 1.."},
		{"stratified", `"per_source"`, `"stratified"`, `sources.s0.params.lanes: must be left out under batching "stratified"`},
		{"in a step", `"position":40`, `"position":41`, "must make whole steps of 20"},
		{"an epoch of a part of a step", `"rows":80`, `"rows":81`, "must make whole steps of 20"},
		{"another unit", `"weights_in":"tokens"`, `"weights_in":"bytes"`, `weights_in: must be "tokens", got "bytes"`},
		{"tokens of samples", `"weights_in":"tokens",`, ``, "sources.s0.tokens: are of weights in tokens, got 5000"},
		{"tokens below 0", `"tokens":90`, `"tokens":-90`, "sources.s1.tokens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.old, c.to, 1)
			if text == good {
				t.Fatalf("%s lacks %s", good, c.old)
			}
			if _, err := ParseState([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v lacks %q", err, c.want)
			}
		})
	}
}

func TestMixStateFits(t *testing.T) {
	m := someMixture(t)
	for _, c := range []struct {
		name, want string
		change     func(*State)
	}{
		{"other names", `sources is ["s0" "x"] in the state and ["s0" "s1"] here`, func(s *State) { s.Sources[1].Name = "x" }},
		{"another rule", "sources.s1.rule is 0123456789abcdef in the state and none here", func(s *State) { s.Sources[1].Rule = someRule }},
		{"other rows", "sources.s0.rows is 5 in the state and 100 here", func(s *State) { s.Sources[0].Rows = 5 }},
		{"other params", "sources.s0.params", func(s *State) { s.Sources[0].Params.Life++ }},
		{"other lanes", "lanes is 2 in the state and 4 here", func(s *State) { s.Lanes = 2 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := m.State(0, 0, 20, Pad)
			s.Sources = slices.Clone(s.Sources)
			c.change(&s)
			err := s.FitsMixture(m)
			var e *MismatchError
			if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v lacks %q", err, c.want)
			}
		})
	}
	plain := newPlan(t, manifestOf([]int64{10}), Options{}, 7)
	if err := m.State(0, 0, 20, Pad).Fits(plain); err == nil || !strings.Contains(err.Error(), `sources is ["s0" "s1"] in the state and none here`) {
		t.Errorf("error %v", err)
	}
	if err := plain.State(0, 0, 1).FitsMixture(m); err == nil || !strings.Contains(err.Error(), `sources is none in the state and ["s0" "s1"] here`) {
		t.Errorf("error %v", err)
	}
}

func TestMixStateRefuses(t *testing.T) {
	good := string(someMixture(t).State(3, 40, 20, Pad).JSON())
	for _, c := range []struct{ name, old, to, want string }{
		{"params of a plan", `"shuffle":true`, `"shuffle":true,"rule":"0123456789abcdef"`, "for each source"},
		{"another batching", `"stratified"`, `"random"`, `batching: must be "stratified" or "per_source", got "random"`},
		{"no sources", `"sources":[`, `"sources":[],"weights":[`, "weights"},
		{"no weights", `[[0,[0.7,0.3]],[50,[1,2]]]`, `[]`, "weights"},
		{"a weight below 0", `[1,2]`, `[1,-2]`, "got -2"},
		{"weights of three", `[1,2]`, `[1,2,3]`, "one for each of 2 sources, got 3"},
		{"weights that are no pair", `[50,[1,2]]`, `[50]`, "must be [sample, [weight, ..]], with true as a third value if they were set, got [50]"},
		{"no tail", `"tail":"pad"`, `"tail":""`, "tail"},
		{"too many samples", `"epoch":3,"position":40,"rows":80`, `"epoch":9007199254740991,"position":40,"rows":8000`, "all epochs at most"},
		{"a name twice", `"s1"`, `"s0"`, `must have a name each, got "s0"`},
		{"a plan", `"mix/4"`, `"lane-tick/3"`, "sources: are of a mixture"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.old, c.to, 1)
			if text == good {
				t.Fatalf("%s lacks %s", good, c.old)
			}
			if _, err := ParseState([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v lacks %q", err, c.want)
			}
		})
	}
	if !json.Valid([]byte(good)) {
		t.Error(good)
	}
}
