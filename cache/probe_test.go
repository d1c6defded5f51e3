package cache

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/shard"
)

// probe reads a shard, and adds to a trail what the read waits for.
func probe(t *testing.T, o shard.Object, s shard.Shard, trail *wait.Trail) {
	p := wait.NewProbe(trail, wait.Cache)
	defer p.Stop()
	b := make([]byte, s.Size)
	err := shard.ReadRanges(wait.With(t.Context(), p), o, []shard.Range{{P: b}})
	if err != nil || !isTruth(s, b, 0) {
		t.Errorf("wrong bytes, or %v", err)
	}
}

// causes of a trail until now.
func causes(trail *wait.Trail) (all []wait.Cause) {
	for _, m := range trail.At(wait.Now()) {
		all = append(all, m.Cause)
	}
	return all
}

// A read waits for the store while bytes are fetched, also by another reader, and for the cache
// while they come from the disk.
func TestProbeOfReads(t *testing.T) {
	const size = 200_000
	source, s := &origin{hold: make(chan struct{})}, originShard(1, "v1", size)
	c := openTest(t, Options{})
	o := openShard(t, c, source, s)
	var cold [2]wait.Trail
	var readers sync.WaitGroup
	for i := range cold {
		readers.Go(func() { probe(t, o, s, &cold[i]) })
	}
	for i := range cold {
		end := time.Now().Add(time.Minute)
		for slices.Index(causes(&cold[i]), wait.Storage) < 0 {
			if time.Sleep(time.Millisecond); time.Now().After(end) {
				t.Errorf("reader %d waits for %v while the store holds the bytes", i, causes(&cold[i]))
				break
			}
		}
	}
	close(source.hold)
	readers.Wait()
	settle(t, c)
	if source.fetched.Load() != size {
		t.Errorf("%d bytes fetched", source.fetched.Load())
	}
	var warm wait.Trail
	probe(t, o, s, &warm)
	if got := causes(&warm); !slices.Equal(slices.Compact(got), []wait.Cause{wait.Cache}) {
		t.Errorf("held bytes: %v", got)
	}
	st := c.Stats()
	if st.DiskReadBytes != 2*size || st.DiskReadSeconds <= 0 || st.DiskWriteSeconds <= 0 || st.PendingBytes != 0 {
		t.Errorf("%+v", st)
	}
}
