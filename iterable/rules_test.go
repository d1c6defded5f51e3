package iterable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/racetest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Streams under random rules deliver the samples that naive evaluation finds, in the order that
// package shuffle defines for a table that was rewritten to them: step by step, at any world size,
// number of workers, batch size and tail, shuffled or not.
func TestRuledStreamsAreTheOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	table := ruledRows(t, r, [][]int{{60, 130, 1}, {40, 40, 40}, {300}, {7, 60, 3, 12, 19}, {90, 0, 90}, {5, 5, 5, 66}})
	index := filepath.Join(t.TempDir(), "index")
	rules := 60
	if racetest.Enabled {
		rules = 25
	}
	for n := range rules {
		world, workers, batch := 1+r.IntN(5), 1+r.IntN(3), 1+r.IntN(9)
		o := Options{
			Order: Order{Shuffle: r.IntN(4) > 0, Seed: r.Uint64(), Tail: []shuffle.Tail{"drop", "pad", "short", "carry"}[r.IntN(4)]}, ShuffleBuffer: Size{Rows: 1 + r.Int64N(400)},
			Reading: Reading{Columns: []string{"id", "label", "image"}, RowIDs: r.IntN(3) == 0}, IndexDir: []string{"", index}[r.IntN(2)], pruneFrom: r.Int64N(2),
		}
		if r.IntN(2) == 0 {
			o.Lanes, o.UnitRows = 1+r.IntN(20), 1+r.Int64N(60)
		}
		times := table.randomRule(t, r, &o)
		want := int64(0)
		for _, n := range times {
			want += int64(n)
		}
		t.Run(fmt.Sprintf("%d: %s", n, strings.ReplaceAll(o.Filters, "/", "")), func(t *testing.T) {
			if want == 0 {
				_, err := Open(t.Context(), shard.Stores{"mem": table.store}, []string{"mem://data/"}, o)
				if !errors.Is(err, ErrNoRow) {
					t.Errorf("error %v", err)
				}
				return
			}
			d := open(t, table.store, o)
			ruled := o.Filters != "" || o.Split.Part+fmt.Sprint(o.Split.Subsample) != "0" || o.Rows != nil || o.Weight != ""
			if d.NumSamples() != want || d.NumRows() != int64(len(table.rows)) || (d.Rule() != "") != ruled {
				t.Fatalf("%d samples of %d rows under rule %q, want %d of %d", d.NumSamples(), d.NumRows(), d.Rule(), want, len(table.rows))
			}
			if o.Tail == shuffle.Drop && want < int64(world*batch) {
				return
			}
			checkRuledOrder(t, d, times, world, workers, batch)
			checkRuledResume(t, d, world, 1+r.IntN(5), batch)
		})
	}
}

// checkRuledOrder reads two epochs and compares each step.
func checkRuledOrder(t *testing.T, d *Dataset, times []int, world, workers, batch int) {
	t.Helper()
	units, err := d.sources[0].cut(d.options.UnitRows)
	if err != nil {
		t.Fatal(err)
	}
	samples, tail, rows := samplesOf(d, units.List(), times), d.options.Tail, d.NumSamples()
	all := slices.Repeat(slices.Concat(samples...), 2)
	if d.options.Shuffle {
		p, err := d.sources[0].plan(world, StreamOptions{Tail: tail}, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(sampleOrder(p, samples, 3), sampleOrder(p, samples, 4)...)
	}
	so := StreamOptions{BatchSize: batch, Epoch: 3, Epochs: 2}
	steps := idsOfSteps(t, d, world, workers, so)
	at := int64(0)
	for i, edges := range stepEdges(len(steps), rows, int64(world*batch), tail) {
		got := steps[i]
		want := slices.Clone(all[edges[0]:edges[1]])
		if world*workers > 1 {
			slices.Sort(want)
			slices.Sort(got)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("step %d: %v, want %v", i, got, want)
		}
		at = edges[1]
	}
	if g := int64(world * batch); int64(len(all))-at >= g {
		t.Errorf("%d samples did not come", int64(len(all))-at)
	}
}

// stepEdges are the first sample of each step and the one behind its last, over epochs of so many
// samples.
func stepEdges(steps int, rows, global int64, tail shuffle.Tail) (all [][2]int64) {
	at := int64(0)
	for range steps {
		n := global
		if left := rows - at%rows; tail != shuffle.Carry {
			if n > left && tail == shuffle.Drop {
				at, left = rows, rows
			}
			n = min(n, left)
		}
		all = append(all, [2]int64{at, at + n})
		at += n
	}
	return all
}

// checkRuledResume resumes at steps on another world size: what follows is what would have
// followed, over all ranks.
func checkRuledResume(t *testing.T, d *Dataset, world, other, batch int) {
	t.Helper()
	g := world * batch
	want, _ := globalRows(t, d, world, StreamOptions{BatchSize: batch}, 0)
	if g%other != 0 || len(want) == 0 {
		return
	}
	for at := 1; at < len(want); at += 1 + len(want)/4 {
		_, state := globalRows(t, d, world, StreamOptions{BatchSize: batch}, at)
		if state.Rule != d.Rule() {
			t.Fatalf("the state has rule %q, not %q", state.Rule, d.Rule())
		}
		got, _ := globalRows(t, d, other, StreamOptions{BatchSize: g / other, State: reparse(t, state)}, 0)
		if fmt.Sprint(got) != fmt.Sprint(want[at:]) {
			t.Fatalf("after step %d on %d ranks in place of %d: %v, want %v", at, other, world, got, want[at:])
		}
	}
}

// sampleOrder is what package shuffle says the ids of an epoch are, by position.
func sampleOrder(p *shuffle.Plan, samples [][]int64, epoch uint64) []int64 {
	e := p.Epoch(epoch)
	lanes := make([][]int64, p.Params().Lanes)
	for slot := range lanes {
		l := e.Lane(slot)
		it, t := l.Iter(), shuffle.Tick{}
		for it.Next(&t) {
			for _, x := range t.Picks {
				sp := l.Span(int(x.Span))
				lanes[slot] = append(lanes[slot], samples[sp.Unit][sp.From+int64(l.RowOrder(int(x.Span), nil)[x.Seq])])
			}
		}
	}
	out := make([]int64, p.Rows())
	for i := range out {
		slot := e.Slot(int64(i))
		out[i], lanes[slot] = lanes[slot][0], lanes[slot][1:]
	}
	return out
}
