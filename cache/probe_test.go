package cache

import (
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/shard"
)

// probed reads a range, and returns what the read waited for.
func probed(t *testing.T, o shard.Object, s shard.Shard, n int) (parts wait.Parts) {
	t.Helper()
	var trail wait.Trail
	p := wait.NewProbe(&trail, wait.Cache)
	begin := wait.Now()
	b := make([]byte, n)
	err := shard.ReadRanges(wait.With(t.Context(), p), o, []shard.Range{{P: b}})
	p.Stop()
	if err != nil || !isTruth(s, b, 0) {
		t.Errorf("wrong bytes, or %v", err)
	}
	trail.Charge(&parts, begin, trail.End())
	return parts
}

// A read waits for the store while bytes are fetched, also by another reader, and for the cache
// while they come from the disk.
func TestProbeOfReads(t *testing.T) {
	const size, delay = 200_000, 100 * time.Millisecond
	source, s := &origin{delay: delay}, originShard(1, "v1", size)
	c := openTest(t, Options{})
	o := openShard(t, c, source, s)
	other := make(chan wait.Parts)
	go func() { other <- probed(t, o, s, size) }()
	cold := probed(t, o, s, size)
	for i, parts := range []wait.Parts{cold, <-other} {
		if parts[wait.Storage] < delay/2 || parts[wait.Storage] < 3*parts[wait.Cache] {
			t.Errorf("reader %d of bytes that are not held: %v", i, parts.Seconds())
		}
	}
	settle(t, c)
	if source.fetched.Load() != size {
		t.Errorf("%d bytes fetched", source.fetched.Load())
	}
	if warm := probed(t, o, s, size); warm[wait.Storage] != 0 || warm[wait.Cache] == 0 {
		t.Errorf("held bytes: %v", warm.Seconds())
	}
	st := c.Stats()
	if st.DiskReadBytes != 2*size || st.DiskReadSeconds <= 0 || st.DiskWriteSeconds <= 0 || st.PendingBytes != 0 {
		t.Errorf("%+v", st)
	}
}
