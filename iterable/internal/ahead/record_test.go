package ahead

import (
	"testing"

	"github.com/shardfeed/shardfeed/internal/loads"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/wait"
)

func TestLoadsAreRecorded(t *testing.T) {
	m := table(t, 4, 20)
	all := listOf(m)
	a, err := mem.NewBudget(0).Reserve(0, mem.Amounts{mem.Fetch: 1 << 30, mem.Decode: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	var log loads.Log
	follower := log.Follow(loads.Rank{Dataset: "d", Rank: 3})
	defer follower.Close()
	before := wait.Now()
	r := New(Options{Manifest: m, Account: a, Schedule: &listed{loads: all}})
	r.Start(loads.With(t.Context(), log.Recorder(follower.Rank)), 1, 1)
	defer r.Close()
	for range all {
		l := <-r.loads
		<-l.ready
		take(t, r, l)
	}
	found, missed := follower.Read()
	if len(found) != len(all) || missed != 0 {
		t.Fatalf("%d loads recorded, %d missed, want %d", len(found), missed, len(all))
	}
	for n, l := range found {
		if l.Unit != n || l.RowGroup != n || l.Rows != all[n].Rows.Hi || l.Shard != m.Shards()[0].URI || l.Fetched == 0 || l.Decoded == 0 || l.Failed {
			t.Errorf("load %d: %+v", n, l)
		}
		at := l.Begin
		if at < before {
			t.Errorf("load %d began at %d, before %d", n, at, before)
		}
		for _, mark := range l.Marks {
			if mark.End < at {
				t.Errorf("load %d: marks %v from %d on", n, l.Marks, l.Begin)
			}
			at = mark.End
		}
		if last := l.Marks[len(l.Marks)-1]; last.Cause != "decode" || last.End > wait.Now() {
			t.Errorf("load %d ends with %+v", n, last)
		}
	}
}
