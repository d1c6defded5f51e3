package ahead

import (
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// Bytes are fetched far ahead of the memory for their blocks; what is needed gets that memory at
// once.
func TestFetchedAheadOfBlocks(t *testing.T) {
	m := table(t, 8, 20)
	all := listOf(m)
	a, err := mem.NewBudget(0).Reserve(0, mem.Amounts{mem.Fetch: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{Manifest: m, Account: a, Schedule: &listed{loads: all}})
	r.Start(t.Context(), len(all), 2)
	defer r.Close()
	waitFor(t, func() bool { return len(r.fetch) == 0 && a.Used()[mem.Fetch] > 0 && len(r.loads) >= 6 })
	for n := range len(all) {
		l := <-r.loads
		select {
		case <-l.ready:
			t.Fatalf("load %d has a block without memory for it", n)
		case <-time.After(5 * time.Millisecond):
		}
		take(t, r, l)
	}
	if used := a.Used(); used != (mem.Amounts{}) {
		t.Errorf("still taken: %v", used)
	}
}
