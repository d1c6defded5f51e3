package iterable

import (
	"fmt"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// selected opens a data set whose units carry selections of the ids to keep, and returns those in file order.
func selected(t *testing.T, store shard.Store, o Options, keep func(id int64) bool) (*Dataset, []int64) {
	t.Helper()
	d := open(t, store, o)
	units, err := d.cut(o.UnitRows)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for i, first := 0, int64(0); i < len(units); i++ { // together the units are all rows, in file order
		u := &units[i]
		for row := range u.Hi - u.Lo {
			if keep(first + row) {
				u.Selection = append(u.Selection, uint32(row))
				ids = append(ids, first+row)
			}
		}
		if u.Selection == nil {
			t.Fatalf("nothing of rows %d..%d is selected", first, first+u.Rows())
		}
		first += u.Hi - u.Lo
	}
	return d, ids
}

// everySeventh keeps few rows, so that units begin and end with rows that are left out.
func everySeventh(id int64) bool { return id%7 == 3 }

// A stream has the selected rows and no others, each once an epoch, and goes on with them after every step, also where their wide columns lie in
// parts and where units are cut between lanes and ranks.
func TestSelectedRows(t *testing.T) {
	for _, c := range []struct {
		o     Options
		world int
	}{
		{Options{}, 1},
		{Options{}, 3},
		{Options{Shuffle: true, ShuffleBuffer: Size{Rows: 100}}, 1},
		{Options{Shuffle: true, ShuffleBuffer: Size{Rows: 1000}, Lanes: 2}, 2},
		{Options{Shuffle: true, ShuffleBuffer: Size{Rows: 200}, Lanes: 6, UnitRows: 40}, 3},
		{Options{Shuffle: true, ShuffleBuffer: Size{Rows: 400}, Lanes: 5, Tail: shuffle.Carry}, 2},
	} {
		t.Run(fmt.Sprintf("%+v", c.o.planOptions(c.world)), func(t *testing.T) {
			tail := c.o.Tail
			if c.o.Tail == "" {
				c.o.Tail = shuffle.Short
			}
			d, want := selected(t, pictures(t), c.o, everySeventh)
			so := StreamOptions{BatchSize: 24 / c.world, Epochs: 2}
			steps, _ := globalRows(t, d, c.world, so, 0)
			got := slices.Concat(steps...)
			if tail == shuffle.Carry {
				want = slices.Concat(want, want)
				want = want[:len(want)/24*24]
			} else if n, err := d.Len(so.BatchSize, c.world, ""); err != nil || int64(len(steps)) != 2*n {
				t.Errorf("%d steps in two epochs, %d in one (%v)", len(steps), n, err)
			} else {
				got = slices.Concat(steps[:n]...)
			}
			if len(got) != len(want) {
				t.Errorf("%d rows, want %d", len(got), len(want))
			}
			for _, id := range got {
				if !everySeventh(id) {
					t.Fatalf("row %d is not selected", id)
				}
			}
			if slices.Sort(got); tail != shuffle.Carry && !slices.Equal(got, want) {
				t.Errorf("got\n%v, want\n%v", got, want)
			}
			for _, taken := range []int{1, len(steps) / 4, len(steps) / 3} {
				first, state := globalRows(t, d, c.world, so, taken)
				then := so
				then.State = reparse(t, state)
				rest, _ := globalRows(t, d, c.world, then, 0)
				if all := append(first, rest...); fmt.Sprint(all) != fmt.Sprint(steps) {
					t.Fatalf("after %d steps: got\n%v, want\n%v", taken, all, steps)
				}
			}
		})
	}
}

// Blocks hold the selected rows alone, their wide columns in parts, and what a stream holds stays within what it reserved.
func TestSelectedRowsInMemory(t *testing.T) {
	d, want := selected(t, pictures(t), Options{Shuffle: true, ShuffleBuffer: Size{Rows: 200}, Tail: shuffle.Short}, func(id int64) bool { return id%2 == 0 })
	s := stream(t, d, WorkerInfo{}, StreamOptions{BatchSize: 16})
	reserved := s.account.Reserved().Total()
	p, err := d.plan(1, shuffle.Short, 0)
	if err != nil {
		t.Fatal(err)
	}
	parts, rows := 0, 0
	for j := range p.Epoch(0).Lane(0).Spans() {
		sp := p.Epoch(0).Lane(0).Span(j)
		parts = max(parts, d.sizes.newLoad(p.Units()[sp.Unit], sp, true).parts)
	}
	if parts < 2 {
		t.Errorf("wide columns lie in %d parts", parts)
	}
	for {
		dr, err := s.Next(t.Context())
		if err != nil {
			break
		}
		for _, b := range dr.Blocks {
			if b.Rows() > 80 {
				t.Fatalf("a block of %d rows where 80 are selected", b.Rows())
			}
		}
		if used := s.account.Used().Total(); used > reserved {
			t.Fatalf("%s taken, %s reserved", mem.Bytes(used), mem.Bytes(reserved))
		}
		rows += len(take(t, s, dr).ids)
	}
	if rows != len(want) {
		t.Errorf("%d rows of %d", rows, len(want))
	}
}

// Transforms never see the rows that are left out.
func TestTransformsOfSelectedRows(t *testing.T) {
	for _, shuffled := range []bool{true, false} {
		o := Options{
			Shuffle: shuffled, Lanes: 3, UnitRows: 10, Columns: []string{"id", "image"}, Tail: shuffle.Short,
			Transforms: []Transform{Vocabulary("image", []string{""})},
		}
		image := func(id int64) int { return int(id % 7) } // of every seventh alone it is empty
		d, want := selected(t, files(t, [][]int{{30, 50}, {40, 20, 35}}, image), o, func(id int64) bool { return id%7 == 0 })
		var got []int64
		for _, x := range rest(t, stream(t, d, WorkerInfo{}, StreamOptions{BatchSize: 4})) {
			got = append(got, x.ids...)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("shuffle %t: got\n%v, want\n%v", shuffled, got, want)
		}
	}
}

// A plan counts the rows that are selected.
func TestPlanOfSelectedRows(t *testing.T) {
	for _, shuffled := range []bool{true, false} {
		d, want := selected(t, pictures(t), Options{Shuffle: shuffled}, everySeventh)
		p, err := d.Plan(2, StreamOptions{BatchSize: 10})
		if err != nil {
			t.Fatal(err)
		}
		n := int64(len(want))
		if p.Rows != n || p.Steps != n/20 || p.LeftOut != n%20 || d.NumRows() != 3840 {
			t.Errorf("shuffle %t: %d rows, %d steps, %d left out, %d rows in the files", shuffled, p.Rows, p.Steps, p.LeftOut, d.NumRows())
		}
	}
}

// A state does not go on with other rows than those that it was taken of.
func TestStateOfOtherRows(t *testing.T) {
	for _, shuffled := range []bool{true, false} {
		o := Options{Shuffle: shuffled}
		d, _ := selected(t, pictures(t), o, everySeventh)
		state := stream(t, d, WorkerInfo{}, StreamOptions{BatchSize: 4}).State()
		for name, c := range map[string]func(id int64) bool{"others": func(id int64) bool { return id%7 == 4 }, "all": func(int64) bool { return true }} {
			other, _ := selected(t, pictures(t), o, c)
			if _, err := other.Stream(t.Context(), WorkerInfo{}, StreamOptions{BatchSize: 4, State: &state}); err == nil || !contains(err.Error(), "units is ") {
				t.Errorf("shuffle %t, %s: error %v", shuffled, name, err)
			}
		}
	}
}

// Lanes that have parts of one unit share a load of their selected rows, though rows between them are left out.
func TestSelectedRowsShareALoad(t *testing.T) {
	d, want := selected(t, files(t, [][]int{{160}}, noImage), Options{Shuffle: true, Lanes: 4}, everySeventh)
	start := stepper{Steps: shuffle.Steps{Rows: int64(len(want)), GlobalBatch: 4, Tail: shuffle.Short}, end: 1}
	loads := allLoads(newLaneSchedule(laneEpochsOf(t, d, WorkerInfo{}, start), d.sizes))
	if len(loads) != 1 || len(loads[0].wanted) != 4 {
		t.Fatalf("%d loads, the first for %d spans", len(loads), len(loads[0].wanted))
	}
	if l := loads[0]; l.rows.Lo != want[0] || l.rows.Hi != want[len(want)-1]+1 || len(l.selected) != len(want) {
		t.Errorf("%d of the rows %d..%d are loaded, want %v", len(l.selected), l.rows.Lo, l.rows.Hi, want)
	}
	row := 0
	for _, w := range loads[0].wanted {
		if w.offset != row {
			t.Errorf("the span of slot %d begins at row %d, want %d", w.slot, w.offset, row)
		}
		row += w.rows
	}
}
