package iterable

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Units that are cut otherwise have counts of their own in one index.
func TestCountsAreOfTheirUnits(t *testing.T) {
	store := ruledRows(t, rand.New(rand.NewPCG(5, 3)), [][]int{{300, 200}}).store
	index := filepath.Join(t.TempDir(), "index")
	for _, unitRows := range []int64{0, 100, 70, 100, 0} {
		d := open(t, store, Options{Choice: Choice{Filters: "id in (0, 150, 299, 300, 499)"}, Order: Order{UnitRows: unitRows}, IndexDir: index})
		if d.NumSamples() != 5 {
			t.Errorf("unit_rows %d: %d samples, want 5", unitRows, d.NumSamples())
		}
	}
}

// A rank without a row pads with a sample, also where the first units have none.
func TestPadUnderRules(t *testing.T) {
	for _, shuffled := range []bool{true, false} {
		t.Run(fmt.Sprintf("shuffle %t", shuffled), func(t *testing.T) {
			d := open(t, files(t, [][]int{{100, 100}, {100}}, noImage), Options{Order: Order{Shuffle: shuffled, Tail: shuffle.Pad}, Choice: Choice{Filters: "id >= 297"}})
			valid := 0
			for rank := range 4 {
				for _, x := range rest(t, stream(t, d, shuffle.Worker{Rank: rank, WorldSize: 4}, StreamOptions{BatchSize: 2})) {
					if len(x.ids) != 2 {
						t.Errorf("rank %d has %v", rank, x.ids)
					}
					valid += x.valid
					for _, id := range x.ids {
						if id < 297 {
							t.Errorf("rank %d pads with row %d", rank, id)
						}
					}
				}
			}
			if valid != 3 {
				t.Errorf("%d rows came, want 3", valid)
			}
		})
	}
}

// The default shuffle buffer is that of a table that was rewritten to the kept rows.
func TestDefaultBufferUnderRules(t *testing.T) {
	d := open(t, files(t, [][]int{{1000, 1000}}, noImage), Options{Order: Order{Shuffle: true}, Choice: Choice{Filters: "id < 200"}})
	d.sources[0].sampled.bytes = 60_000_000_000
	p, err := d.sources[0].plan(1, StreamOptions{Tail: shuffle.Drop}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if want := (shuffle.BufferSize{WorldSize: 1}).Resolve(200, 6_000_000_000, 200); p.Params().Buffer != want {
		t.Errorf("a buffer of %d, want %d", p.Params().Buffer, want)
	}
}

// A plan whose counts were edited is refused.
func TestPlanFileOfEditedCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.json")
	d := open(t, files(t, [][]int{{100, 100}}, noImage), Options{Choice: Choice{Filters: "id < 150"}})
	if err := d.SavePlan(path, 1, StreamOptions{}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b := planText(t, content)
	for name, edited := range map[string]string{
		"counts": strings.Replace(b, `"counts":"Z`, `"counts":"Y`, 1),
		"rule":   strings.Replace(b, d.Rule(), strings.Repeat("0", 16), 1),
	} {
		t.Run(name, func(t *testing.T) {
			if edited == b {
				t.Fatalf("%s has nothing to edit", b)
			}
			if _, err := parsePlan(t, edited); err == nil || !contains(err.Error(), "hash does not fit") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// The counting pass leaves out row groups and pages that statistics decide, and finds the same.
func TestStatisticsSpareReads(t *testing.T) {
	table := ruledRows(t, rand.New(rand.NewPCG(5, 2)), [][]int{{400, 400, 400, 400, 400, 400, 400, 400, 400, 400}})
	for _, filter := range []string{"id < 450", "id between 1000 and 1010", "id >= 0", "id > 3990 or id is null", "label like 'm%' or id < 9"} {
		t.Run(strings.ReplaceAll(filter, " ", "_"), func(t *testing.T) {
			_, all, reads := counted(t, table.store, Options{Choice: Choice{Filters: filter}, pruneFrom: math.MaxInt64})
			_, spared, fewer := counted(t, table.store, Options{Choice: Choice{Filters: filter}, pruneFrom: 1})
			if fewer >= reads {
				t.Errorf("%d reads, %d without statistics", fewer, reads)
			}
			for i := range all {
				if all[i] != spared[i] {
					t.Errorf("unit %d has %d samples, %d without statistics", i, spared[i].Samples, all[i].Samples)
				}
			}
		})
	}
}

// The default shuffle buffer of small data holds four units, unless memory caps it.
func TestDefaultBufferOfFewUnits(t *testing.T) {
	const rows, bytes = 1000, 400 << 20
	d := open(t, files(t, [][]int{{125, 125, 125, 125, 125, 125, 125, 125}}, noImage), Options{Order: Order{Shuffle: true}})
	d.sources[0].sampled.bytes = bytes
	p, err := d.sources[0].plan(1, StreamOptions{Tail: shuffle.Drop}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Params().Buffer; got != 4*125 {
		t.Errorf("a buffer of %d rows, want %d", got, 4*125)
	}
	small, err := d.sources[0].plan(1, StreamOptions{Tail: shuffle.Drop}, 0, 128<<20)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := small.Params().Buffer, int64(rows*(32<<20)/bytes); got != want {
		t.Errorf("a buffer of %d rows under a memory of 128 MiB, want %d", got, want)
	}
}

// That of a mixture holds four units of each source.
func TestDefaultBufferOfMixtures(t *testing.T) {
	store := new(memstore.Store)
	d := openMixture(t, store, Options{Sources: mixtureSources(t, store, []int{300, 300}, []float64{1, 1})})
	for _, s := range d.sources {
		s.sampled.bytes = 300 << 20
	}
	m, err := d.blend.(*mixture).mix(1, StreamOptions{}.withDefaults(d), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range m.Sources() {
		if got := s.Plan.Params().Buffer; got != 4*20 {
			t.Errorf("source %s: a buffer of %d rows, want %d", s.Name, got, 4*20)
		}
	}
}
