package shuffle

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/shardfeed/shardfeed/internal/racetest"
)

// studyManifest is the data of the study of the order: shards of 1 to 8 groups of 5,000 to 50,000
// rows.
func studyManifest(shards int) *Manifest {
	r := newRNG("study", 42)
	rows := make([][]int64, shards)
	for s := range rows {
		for range 1 + r.below(8) {
			rows[s] = append(rows[s], 5000+int64(r.below(45001)))
		}
	}
	return manifestOf(rows...)
}

// BenchmarkPlanMillionGroups plans an epoch of a million row groups, all lanes with their
// schedules. heap-MB is what the plan and the lanes keep; the manifest and the units are the
// caller's.
func BenchmarkPlanMillionGroups(b *testing.B) {
	m := studyManifest(222_222)
	units := cutUnits(b, m, 0)
	for b.Loop() {
		before := heap()
		params, err := Options{Buffer: m.Rows() / 100, WorldSize: 8}.Params(units)
		if err != nil {
			b.Fatal(err)
		}
		p, err := New(m, units, params, 7)
		if err != nil {
			b.Fatal(err)
		}
		e := p.Epoch(0)
		lanes := make([]*Lane, params.Lanes)
		for slot := range lanes {
			lanes[slot] = e.Lane(slot)
		}
		b.ReportMetric(float64(heap()-before)/1e6, "heap-MB")
		b.ReportMetric(float64(units.Len()), "units")
		runtime.KeepAlive(lanes)
	}
}

// TestPlanMillionGroups keeps to the memory that a plan of a million groups may take.
func TestPlanMillionGroups(t *testing.T) {
	if testing.Short() || racetest.Enabled {
		t.Skip("a million groups")
	}
	before := heap()
	m := studyManifest(222_222)
	units := cutUnits(t, m, 0)
	params, err := Options{Buffer: m.Rows() / 100, WorldSize: 8}.Params(units)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(m, units, params, 7)
	if err != nil {
		t.Fatal(err)
	}
	e, lanes := p.Epoch(0), make([]*Lane, params.Lanes)
	for slot := range lanes {
		lanes[slot] = e.Lane(slot)
	}
	bytes := heap() - before
	t.Logf("%d units: %d MB with the manifest", units.Len(), bytes/1e6)
	if bytes > 200e6 {
		t.Errorf("%d bytes for %d units", bytes, units.Len())
	}
	if size := len(p.State(1, 2, 3).JSON()); size >= 1024 {
		t.Errorf("a state of %d bytes", size)
	}
	runtime.KeepAlive(lanes)
}

func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// BenchmarkRow is the cost of a row: the permutation of its unit and its place in the tick.
func BenchmarkRow(b *testing.B) {
	m := studyManifest(2000)
	p := newPlan(b, m, Options{Buffer: m.Rows() / 20, WorldSize: 8}, 7)
	l := p.Epoch(0).Lane(0)
	it := l.Iter()
	var tick Tick
	var order []uint32
	rows := 0
	b.ReportAllocs()
	for b.Loop() {
		rows--
		if rows > 0 {
			continue
		}
		if !it.Next(&tick) {
			it = l.Iter()
			it.Next(&tick)
		}
		for _, j := range tick.Load {
			order = l.RowOrder(int(j), order)
		}
		rows = len(tick.Picks)
	}
}

// BenchmarkSeek is a resume in the middle of a lane.
func BenchmarkSeek(b *testing.B) {
	m := studyManifest(2000)
	p := newPlan(b, m, Options{Buffer: m.Rows() / 20, WorldSize: 8}, 7)
	l := p.Epoch(0).Lane(0)
	it := l.Iter()
	for b.Loop() {
		it.SeekRow(l.Rows() / 2)
	}
}

// BenchmarkStep is a worker's share of one step.
func BenchmarkStep(b *testing.B) {
	m := studyManifest(2000)
	p := newPlan(b, m, Options{Buffer: m.Rows() / 20, WorldSize: 8}, 7)
	for name, w := range map[string]Worker{"lanes": {Rank: 3, WorldSize: 8}, "blocks": {Rank: 3, WorldSize: 7}} {
		b.Run(name, func(b *testing.B) {
			v, err := p.View(w)
			if err != nil {
				b.Fatal(err)
			}
			e, g := p.Epoch(0), int64(1024*w.WorldSize)
			var s Share
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				v.Step(e, int64(i)*g%(p.Rows()-g), g, &s)
			}
		})
	}
}

func BenchmarkRNG(b *testing.B) {
	r := newRNG("bench", 1)
	var x uint64
	for b.Loop() {
		x ^= r.uint64()
	}
	runtime.KeepAlive(x)
}

// manyGroups is 10 groups in each of so many shards.
func manyGroups(shards int) *Manifest {
	m := &Manifest{Shards: make([]Shard, shards), Groups: make([]Group, 0, 10*shards)}
	for s := range m.Shards {
		m.Shards[s] = Shard{Path: fmt.Sprintf("date=2026-11-24/part-%07d.parquet", s), Size: 10 << 30, Version: "v"}
		for g := range int32(10) {
			m.Groups = append(m.Groups, Group{Shard: int32(s), Index: g, Rows: 50_000})
		}
	}
	return m
}

// A plan of ten million groups holds no struct for each of them: with its manifest, whose paths are
// of 35 bytes, it keeps to 300 MB, and making it allocates little beyond what it keeps.
func TestPlanTenMillionGroups(t *testing.T) {
	if testing.Short() || racetest.Enabled {
		t.Skip("ten million groups")
	}
	before := heap()
	m := manyGroups(1_000_000)
	manifest := heap() - before
	var started, ended runtime.MemStats
	runtime.ReadMemStats(&started)
	p := newPlan(t, m, Options{Buffer: m.Rows() / 100, WorldSize: 8000}, 7)
	lane := p.Epoch(0).Lane(5)
	runtime.ReadMemStats(&ended)
	made, all := int64(ended.TotalAlloc-started.TotalAlloc), heap()-before
	t.Logf("%d MB for the manifest, %d MB with the plan and a lane; %d MB were allocated for these", manifest/1e6, all/1e6, made/1e6)
	if all > 300e6 || made > 60e6 {
		t.Errorf("%d bytes of %d units with the manifest, %d allocated; want at most 300 MB and 60 MB", all, p.Units().Len(), made)
	}
	runtime.KeepAlive(lane)
}

// BenchmarkPlanTenMillionGroups plans ten million row groups of a million shards for 8,000 ranks,
// and the lane of one.
func BenchmarkPlanTenMillionGroups(b *testing.B) {
	before := heap()
	m := manyGroups(1_000_000)
	for b.Loop() {
		p := newPlan(b, m, Options{Buffer: m.Rows() / 100, WorldSize: 8000}, 7)
		lane := p.Epoch(0).Lane(5)
		b.StopTimer()
		b.ReportMetric(float64(heap()-before)/1e6, "heap-MB")
		b.StartTimer()
		runtime.KeepAlive(lane)
	}
}
