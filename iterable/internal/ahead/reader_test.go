package ahead

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// listed is a schedule of given loads.
type listed struct{ loads []*Load }

func (l *listed) Next() (*Load, bool) {
	if len(l.loads) == 0 {
		return nil, false
	}
	x := l.loads[0]
	l.loads = l.loads[1:]
	return x, true
}

// table opens a table of row groups of a number of rows each.
func table(t *testing.T, groups int, rows int64) *rowgroup.Reader {
	t.Helper()
	type row struct {
		ID    int64  `parquet:"id"`
		Label string `parquet:"label,dict"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	for g := range groups {
		for i := range rows {
			if _, err := w.Write([]row{{ID: int64(g)*rows + i, Label: fmt.Sprint(i % 7)}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	store := &memstore.Store{}
	store.Put("data/part.parquet", b.Bytes())
	stores := shard.Stores{"mem": store}
	shards, err := shard.Discover(t.Context(), stores, []string{"mem://data/"}, shard.DiscoverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := rowgroup.Open(t.Context(), stores, shards, rowgroup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// listOf returns the load of each row group.
func listOf(m *rowgroup.Reader) (all []*Load) {
	for g, group := range m.Groups() {
		narrow, wide := m.DecodedBytes(g)
		all = append(all, &Load{
			Manifest: m, Place: g, Group: g, Samples: group.Rows, Span: shuffle.Span{To: group.Rows},
			Rows:     rowgroup.Rows{Shard: int(group.Shard), RowGroup: int(group.RowGroup), Hi: group.Rows},
			Wanted:   []Wanted{{Key: Key{Span: int32(g)}, Rows: int(group.Rows)}},
			Estimate: Estimate{Fetch: group.Compressed, Decode: narrow + wide + 48<<10},
		})
	}
	return all
}

// started starts a reader of the row groups of a table, in order, with room for a number of them.
func started(t *testing.T, m *rowgroup.Reader, room int64) (*Reader, []*Load) {
	t.Helper()
	all := listOf(m)
	a, err := mem.NewBudget(0).Reserve(0, mem.Amounts{mem.Fetch: 1 << 30, mem.Decode: room * all[0].Estimate.Decode})
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{Manifest: m, Account: a, Schedule: &listed{loads: all}})
	r.Start(t.Context(), 2, 2)
	t.Cleanup(func() {
		r.Close()
		if used := a.Used(); used != (mem.Amounts{}) {
			t.Errorf("still taken: %v", used)
		}
	})
	return r, all
}

// Loads are admitted while there is room; one that is needed is admitted without, and no further
// one.
func TestReadAheadStopsWithoutRoom(t *testing.T) {
	r, all := started(t, table(t, 8, 20), 3)
	taken := func() int { return int(r.Account.Used()[mem.Decode] / all[0].Estimate.Decode) }
	var got []*Load
	receive := func() *Load {
		t.Helper()
		select {
		case l := <-r.loads:
			<-l.ready
			// What a block takes is measured when it is decoded; here it shall count as foretold.
			if l.Err != nil {
				t.Fatal(l.Err)
			}
			got = append(got, l)
			return l
		case <-time.After(time.Minute):
			t.Fatal("no load")
			return nil
		}
	}
	for range 3 {
		if l := receive(); l != all[len(got)-1] {
			t.Fatal("loads come in another order than that of the schedule")
		}
	}
	// Estimates are high, so a few more may get ready; then it stops, though bytes are fetched
	// ahead.
	var next *Load
	ready := func() bool {
		select {
		case <-next.ready:
			return true
		case <-time.After(50 * time.Millisecond):
			return false
		}
	}
	for next = <-r.loads; ready(); next = <-r.loads {
		got = append(got, next)
	}
	if len(got) >= len(all)-1 {
		t.Fatal("all loads were decoded at once")
	}
	r.want(next.number)
	<-next.ready
	got = append(got, next)
	if next = <-r.loads; ready() && taken() >= 3 {
		t.Error("a load more than was needed")
	}
	for _, l := range got {
		r.Drop(l)
	}
	for { // room was made
		<-next.ready
		r.Drop(next)
		if got = append(got, next); len(got) == len(all) {
			return
		}
		next = <-r.loads
	}
}

// Of room that the shuffle buffer leaves, blocks that only wait take no more than they may; what is
// needed comes all the same, and when one is taken the next comes.
func TestReadAheadLeavesRoom(t *testing.T) {
	m := table(t, 8, 5)
	all := listOf(m)
	a, err := mem.NewBudget(0).Reserve(0, mem.Amounts{mem.Fetch: 1 << 30, mem.Decode: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{Manifest: m, Account: a, Schedule: &listed{loads: all}, Early: 5 * all[0].Estimate.Decode / 2})
	r.Start(t.Context(), 2, 2)
	ready := func(l *Load, want bool) bool {
		within := time.Minute
		if !want {
			within = 50 * time.Millisecond
		}
		select {
		case <-l.ready:
			return true
		case <-time.After(within):
			return false
		}
	}
	got := make([]*Load, len(all))
	for i := range got[:5] { // bytes are fetched ahead of blocks
		got[i] = <-r.loads
	}
	for i, want := range []bool{true, true, false} {
		if got[i] != all[i] || ready(got[i], want) != want {
			t.Fatalf("load %d is ready: %t", i, !want)
		}
	}
	r.want(got[3].number)
	for i, want := range []bool{true, true, true, true, false} {
		if ready(got[i], want) != want {
			t.Fatalf("4 are needed, and load %d is ready: %t", i, !want)
		}
	}
	for i, l := range got[:2] {
		take(t, r, l)
		if ready(got[4], false) {
			t.Fatalf("%d of 4 are taken, and the fifth is ready", i+1)
		}
	}
	for _, l := range got[2:4] {
		take(t, r, l)
	}
	if !ready(got[4], true) {
		t.Fatal("all that were ready are taken, and no more come")
	}
	r.Close()
	r.Drop(got[4])
	if used, early := a.Used(), r.early.Load(); used != (mem.Amounts{}) || early != 0 {
		t.Errorf("still taken: %v; %d bytes are early", used, early)
	}
}

// take takes the blocks of a load that is ready, and releases them.
func take(t *testing.T, r *Reader, l *Load) {
	t.Helper()
	if err := r.Await(t.Context(), l, new(wait.Trail)); err != nil {
		t.Fatal(err)
	}
	r.Take(l).Release()
}

// Closing at any moment leaves nothing behind.
func TestReadAheadCloses(t *testing.T) {
	m := table(t, 8, 20)
	for i := range 20 {
		r, _ := started(t, m, int64(1+i%4))
		time.Sleep(time.Duration(i*50) * time.Microsecond)
		r.Close()
	}
}
