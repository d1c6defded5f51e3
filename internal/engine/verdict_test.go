package engine

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/verdict"
	"github.com/shardfeed/shardfeed/internal/wait"
)

func report(of float64, parts map[string]float64) wait.Report {
	r := wait.Report{Of: of, Parts: parts}
	for _, s := range parts {
		r.Seconds += s
	}
	return r
}

func TestPaces(t *testing.T) {
	var p paces
	p.start()
	p.add(report(0, map[string]float64{"list": 2}), 1)
	for i := range 100 {
		p.add(report(1, map[string]float64{"decode": 0.5}), int64(i+2))
	}
	r := rankOf(3, "here", p.last(0))
	if r.Rank != 3 || r.Host != "here" || r.Steps != 101 || r.Loop != span(100) || r.Wait != (wait.Parts{wait.List: span(2), wait.Decode: span(50)}) || r.Start != (wait.Parts{wait.List: span(2)}) {
		t.Errorf("the iteration: %+v", r)
	}
	if r := rankOf(3, "here", p.last(10)); r.Loop != span(10) || r.Steps != 10 || r.Start.Sum() != 0 {
		t.Errorf("the last 10 s: %+v", r)
	}
	p.start()
	p.add(report(0, map[string]float64{"storage": 1}), 102)
	if r := rankOf(3, "here", p.last(0)); r.Wait != (wait.Parts{wait.Storage: span(1)}) || r.Steps != 1 {
		t.Errorf("another iteration: %+v", r)
	}
	for range 1000 {
		p.add(report(1, nil), 103)
	}
	if len(p.recent) != mostPaces || len(p.epoch) != 2 {
		t.Errorf("%d reports are kept, and %d of the iteration", len(p.recent), len(p.epoch))
	}
}

// A first wait may take several reports.
func TestPacesOfALongFirstWait(t *testing.T) {
	var p paces
	p.start()
	for range 5 {
		p.add(report(1, map[string]float64{"storage": 1}), 0)
	}
	p.add(report(1, map[string]float64{"storage": 0.5, "collate": 0.5}), 2) // with the first batch
	p.add(report(1, map[string]float64{"decode": 0.25}), 3)
	want := wait.Parts{wait.Storage: span(5.5), wait.Collate: span(0.5)}
	if r := rankOf(0, "", p.last(0)); r.Start != want || r.Loop != span(7) || r.Wait[wait.Decode] != span(0.25) || r.Steps != 3 {
		t.Errorf("the iteration: %+v", r)
	}
	if r := rankOf(0, "", p.last(60)); r.Start != want {
		t.Errorf("the last minute: %+v", r)
	}
}

// The engine shows a next() in progress until its trainer reports the end, and no longer than the
// iteration.
func TestSnapshotOfAWait(t *testing.T) {
	e := testEngine(t, Options{})
	s := workers(t, e, "a", 1)[0]
	s.ask(wire.Join{Iteration: "0", WorldSize: 1})
	now := func() *wait.Waiting {
		return e.snapshot().Sessions[0].Wait.Now
	}
	s.client.waited(wire.Waited{Report: wait.Report{Seconds: 2, Of: 2, Parts: map[string]float64{"storage": 2}, Now: &wait.Waiting{Cause: "storage", Seconds: 90}}})
	if n := now(); n == nil || n.Cause != "storage" || n.Seconds < 90 {
		t.Errorf("in next(): %+v", n)
	}
	s.client.waited(wire.Waited{Report: report(1, nil)})
	if n := now(); n != nil {
		t.Errorf("after it: %+v", n)
	}
	s.client.waited(wire.Waited{Report: wait.Report{Now: &wait.Waiting{Cause: "map", Seconds: 3}}})
	drain([]*sink{s})
	for end := time.Now().Add(patience); now() != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after the iteration: %+v", now())
		}
	}
	for _, bad := range []*wait.Waiting{{Cause: "weather"}, {Cause: "map", Seconds: -1}} {
		if err := (wire.Waited{Report: wait.Report{Now: bad}}).Validate(); wire.KindOf(err) != wire.KindProtocol {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// Ranks of a machine are compared, whichever of them asks.
func TestVerdict(t *testing.T) {
	e := testEngine(t, Options{})
	ranks := make([]*sink, 4)
	for i := range ranks {
		ranks[i] = workers(t, e, string(rune('a'+i)), 1)[0] // a data set object for each, of the same data
		ranks[i].ask(wire.Join{Iteration: "0", Rank: i, WorldSize: len(ranks)})
	}
	for _, r := range ranks {
		drain([]*sink{r})
	}
	for i, r := range ranks {
		r.client.waited(wire.Waited{Rank: i, Report: report(0, map[string]float64{"list": 0.5})})
		wait := 0.1
		if i == 2 {
			wait = 4
		}
		r.client.waited(wire.Waited{Rank: i, Report: report(20, map[string]float64{"storage": wait})})
	}
	for i, r := range ranks {
		v := judge(t, r, i, wire.VerdictAsk{})
		if v.Cause != "storage" || v.Rank != 2 || len(v.Ranks) != 1 || v.World != len(ranks) || !strings.Contains(v.Line, "rank 2 of 4") {
			t.Errorf("asked by rank %d: %s", i, v)
		}
	}
	other, err := json.Marshal(verdict.Part{
		Engine: "elsewhere", Node: verdict.Node{Host: "elsewhere"},
		Ranks: []verdict.Rank{{Rank: 4, Loop: span(50), Wait: wait.Parts{wait.Decode: span(49)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := ranks[1].client.ask(wire.Ask{Rank: 1, WorldSize: 4, Verdict: &wire.VerdictAsk{Others: []json.RawMessage{other}}})
	if text := string(answer.Verdict); err != nil || !strings.Contains(text, `"ranks":[2,4]`) || !strings.Contains(text, "elsewhere for decoding") || !strings.Contains(string(answer.Waits), `"Rank":3`) || answer.Leads {
		t.Errorf("with a rank of another machine: %s, %v", text, err)
	}
	if _, err := ranks[0].client.ask(wire.Ask{Verdict: &wire.VerdictAsk{Others: []json.RawMessage{[]byte("7")}}}); wire.KindOf(err) != wire.KindProtocol {
		t.Errorf("waits of another form: %v", err)
	}
	pending := report(30, map[string]float64{"map": 25})
	if v := judge(t, ranks[0], 0, wire.VerdictAsk{Waited: &pending, Workers: 3}); v.Cause != "map" || v.Rank != 0 || v.Kind != "few workers" {
		t.Errorf("with a report that comes with the question: %s", v)
	}
	bad := wait.Report{Parts: map[string]float64{"weather": 1}}
	if _, err := ranks[0].client.ask(wire.Ask{Verdict: &wire.VerdictAsk{Waited: &bad}}); wire.KindOf(err) != wire.KindProtocol {
		t.Errorf("a cause that is not known: %v", err)
	}
}

func judge(t *testing.T, s *sink, rank int, a wire.VerdictAsk) (v verdict.Verdict) {
	t.Helper()
	answer, err := s.client.ask(wire.Ask{Rank: rank, WorldSize: 4, Verdict: &a})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(answer.Verdict, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
