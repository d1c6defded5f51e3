package shardtest

import (
	"testing"

	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/shard"
)

// readMeasured checks the figures of a store that measures its requests, and that a load knows that
// it waits for the store.
func readMeasured(t *testing.T, f Fixture) {
	m, ok := f.Store().(shard.Metered)
	if !ok {
		t.Skip("the store does not measure its requests")
	}
	all := content(1, 100_000)
	o := open(t, f, "a", all)
	before := sumOf(m)
	var trail wait.Trail
	p := wait.NewProbe(&trail, wait.Decode)
	if err := o.ReadAt(wait.With(t.Context(), p), make([]byte, len(all)), 0); err != nil {
		t.Fatal(err)
	}
	p.Stop()
	read := false
	for _, mark := range trail.Marks() {
		read = read || mark.Cause == wait.Storage
	}
	if !read {
		t.Errorf("a read left the trail %v", trail.Marks())
	}
	got := sumOf(m).Since(before)
	if got.Reads < 1 || got.ReadBytes < int64(len(all)) || got.Answers != got.Reads || got.Errors != 0 || got.InFlight != 0 {
		t.Errorf("figures of one read: %+v", got)
	}
	// Seconds are differences of sums, rounded on their own.
	const ns = 1e-9
	if got.BusySeconds <= 0 || got.Seconds < got.BusySeconds-ns || got.FirstByteSeconds > got.Seconds+ns || got.Latency() <= 0 || got.Throughput() <= 0 {
		t.Errorf("times of one read: %+v", got)
	}
	if err := o.ReadAt(cancelled(t), make([]byte, 10), 0); err == nil {
		t.Error("a read under a cancelled context succeeded")
	}
	if got := sumOf(m).Since(before); got.InFlight != 0 || got.Errors != 0 {
		t.Errorf("figures after a read that was given up: %+v", got)
	}
}

func sumOf(m shard.Metered) (sum shard.StoreTraffic) {
	for _, one := range m.ByStore() {
		sum = sum.Merge(one)
	}
	return sum
}
