package iterable

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

func TestPlanReport(t *testing.T) {
	groups, rows := uneven()
	store := files(t, groups, noImage)
	d := open(t, store, Options{Order: Order{Shuffle: true, Lanes: 6}, ShuffleBuffer: Size{Rows: 200}})
	p, err := d.Plan(4, StreamOptions{BatchSize: 8})
	if err != nil {
		t.Fatal(err)
	}
	if p.Shards != 6 || p.Units != 39 || p.Groups != 39 || p.Rows != rows || p.Params.Lanes != 6 || p.GlobalBatch != 32 {
		t.Errorf("%+v", p)
	}
	if p.Steps != rows/32 || p.LeftOut != rows%32 || !p.SharedLanes || p.LanesPerRank < 2 {
		t.Errorf("%d steps, %d left out, lanes per rank %d, shared %t", p.Steps, p.LeftOut, p.LanesPerRank, p.SharedLanes)
	}
	if !p.Fits || p.Bound.Total() <= 0 || p.Bound.Total() > p.Memory || p.Amplification != 1 {
		t.Errorf("bound %v of %d, amplification %v", p.Bound, p.Memory, p.Amplification)
	}
	if p.FirstBatch <= 0 || p.FirstBatch > p.Encoded || p.Decoded <= 0 {
		t.Errorf("first batch %d of %d bytes, %d decoded", p.FirstBatch, p.Encoded, p.Decoded)
	}
	for _, part := range []string{"the world size does not divide the 6 lanes", "ShuffleBuffer"} {
		if !strings.Contains(strings.Join(p.Proposals, "\n"), part) {
			t.Errorf("%q is not in %q", part, p.Proposals)
		}
	}
}

// A stream fetches the bytes that the plan foretells for the first batch, and its bound is what the
// stream reserves.
func TestPlanIsTrue(t *testing.T) {
	d := open(t, pictures(t), Options{Order: Order{Shuffle: true}, ShuffleBuffer: Size{Rows: 900}})
	p, err := d.Plan(1, StreamOptions{BatchSize: 16})
	if err != nil {
		t.Fatal(err)
	}
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 16})
	reserved := s.account.Reserved()
	if reserved[mem.Shuffle] != p.Bound[mem.Shuffle] || reserved.Total() < p.Bound.Total() {
		t.Errorf("the plan says %v, reserved are %v", p.Bound, reserved)
	}
	if n, err := d.Len(16, 1, ""); err != nil || n != p.Steps {
		t.Errorf("%d steps, the plan says %d (%v)", n, p.Steps, err)
	}
	dr, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if fetched := s.Stats().Fetched; fetched < p.FirstBatch {
		t.Errorf("%d bytes were fetched, the plan says at least %d", fetched, p.FirstBatch)
	}
	dr.Release()
}

func TestPlanOfFiles(t *testing.T) {
	groups, rows := uneven()
	d := open(t, files(t, groups, noImage), Options{Order: Order{Tail: shuffle.Short}})
	p, err := d.Plan(2, StreamOptions{BatchSize: 8})
	if err != nil {
		t.Fatal(err)
	}
	if p.Params != nil || p.Steps != (rows+15)/16 || p.LeftOut != 0 || !p.Fits || p.Units != p.Groups || p.FirstBatch <= 0 {
		t.Errorf("%+v", p)
	}
	if _, err := d.Plan(0, StreamOptions{}); err == nil {
		t.Error("a world size of 0 was planned")
	}
	if _, err := d.Plan(1, StreamOptions{BatchSize: -1}); err == nil {
		t.Error("a batch size of -1 was planned")
	}
}

// A plan that does not fit says which shuffle buffer would.
func TestPlanThatDoesNotFit(t *testing.T) {
	d := open(t, pictures(t), Options{Order: Order{Shuffle: true}, ShuffleBuffer: Size{Rows: 3800}, Resources: Resources{Memory: 40 << 20}})
	p, err := d.Plan(1, StreamOptions{BatchSize: 8})
	if err != nil {
		t.Fatal(err)
	}
	if p.Fits || p.Buffer <= 0 || p.Buffer >= 3800 || !strings.Contains(p.Proposals[0], fmt.Sprintf("set ShuffleBuffer to %d rows", p.Buffer)) {
		t.Errorf("fits %t, buffer %d, proposals %q", p.Fits, p.Buffer, p.Proposals)
	}
	d = open(t, pictures(t), Options{Order: Order{Shuffle: true}, Resources: Resources{Memory: 1 << 20}})
	if p, err = d.Plan(1, StreamOptions{BatchSize: 8}); err != nil {
		t.Fatal(err)
	}
	if p.Fits || p.Buffer != 0 || !strings.Contains(p.Proposals[0], "no smaller ShuffleBuffer fits") {
		t.Errorf("fits %t, buffer %d, proposals %q", p.Fits, p.Buffer, p.Proposals)
	}
}

func TestStats(t *testing.T) {
	a := Stats{
		Draws: 10, Rows: 100, Groups: 35, Units: 4, Fetched: 3 << 20, Needed: 2 << 20, Decoded: 5 << 20,
	}
	want := "100 rows in 10 draws of 3.5 row groups; 4 units, 3.0 MiB fetched for 2.0 MiB needed, 5.0 MiB decoded"
	if got := a.String(); got != want {
		t.Errorf("got %s", got)
	}
	if a.Sub(a) != (Stats{}) || a.Sub(Stats{}) != a || (Stats{}).GroupsPerDraw() != 0 {
		t.Error("Sub or GroupsPerDraw is wrong")
	}
}

func TestStreamCounts(t *testing.T) {
	groups, rows := uneven()
	d := open(t, files(t, groups, noImage), Options{Order: Order{Tail: "pad"}})
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 30, Epochs: 2})
	all := rest(t, s)
	st := s.Stats()
	var encoded int64
	for _, g := range d.Manifest().Groups() {
		encoded += g.Compressed
	}
	if st.Draws != int64(len(all)) || st.Rows != 2*rows || st.Units != 2*39 || st.Needed != 2*encoded || st.Fetched < st.Needed {
		t.Errorf("%+v", st)
	}
	if st.Groups < 2*39 || st.GroupsPerDraw() > 12 {
		t.Errorf("%v groups in a draw", st.GroupsPerDraw())
	}
}

// What is proposed for few units can be followed and would help.
func TestMoreUnits(t *testing.T) {
	for _, c := range []struct {
		fits             bool
		buffer, unitRows int64
		want             string
	}{
		{true, 100, 0, "a {ShuffleBuffer} of 800 rows, or {UnitRows} of 50"},
		{true, 100, 60, "a {ShuffleBuffer} of 800 rows, or {UnitRows} of 50"},
		{true, 100, 50, "a {ShuffleBuffer} of 800 rows"},
		{true, 800, 0, "{UnitRows} of 50"},
		{false, 100, 0, "{UnitRows} of 50"},
		{false, 100, 50, ""},
	} {
		t.Run(fmt.Sprintf("fits %t, buffer %d, unit_rows %d", c.fits, c.buffer, c.unitRows), func(t *testing.T) {
			p := &Plan{
				PlanTable: PlanTable{Rows: 800}, Fits: c.fits, Params: &shuffle.Params{Buffer: c.buffer, UnitRows: c.unitRows},
				Quality: shuffle.Quality{BufferRows: 2000, UnitRows: 50, FewUnits: true},
			}
			if got := p.moreUnits(); got != c.want {
				t.Errorf("%+v: %q", c, got)
			}
		})
	}
}

// Batches of a table that is sorted by length take more than mean rows in its last row group.
func TestPlanOfLongRows(t *testing.T) {
	const long = 48 << 10
	for _, shuffled := range []bool{false, true} {
		store := files(t, [][]int{{160, 160, 160, 160}}, func(id int64) int {
			if id < 480 {
				return 100
			}
			return long
		})
		d := open(t, store, Options{Order: Order{Shuffle: shuffled}})
		p, err := d.Plan(1, StreamOptions{BatchSize: 32, Batches: 3})
		if err != nil {
			t.Fatal(err)
		}
		if mean := p.Bound[mem.Batch]; p.Long < 3*32*long || p.Long < mean*7/2 || p.Long > mean*9/2 { // a quarter of the rows is long
			t.Errorf("batches of the longest rows take %d bytes, of mean rows %d", p.Long, p.Bound[mem.Batch])
		}
		even := open(t, pictures(t), Options{Order: Order{Shuffle: shuffled}})
		if p, err = even.Plan(1, StreamOptions{BatchSize: 32, Batches: 3}); err != nil || p.Long > p.Bound[mem.Batch]*3/2 {
			t.Errorf("batches of even rows take %d bytes, at most %d (%v)", p.Bound[mem.Batch], p.Long, err)
		}
	}
}
