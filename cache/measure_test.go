//go:build unix

package cache

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

// BenchmarkHit compares what is held with the same bytes of a local file: lent and verified in
// place, read and verified, and both as the local store does it, where nothing is verified. Each
// byte is touched once, as a decoder does.
func BenchmarkHit(b *testing.B) {
	const size = 256 << 20
	f := &localFixture{Directory: shardtest.Directory{Root: b.TempDir()}}
	f.Write(b, "a", random(1, size))
	s := listOne(b, local.Store{}, f.Root+"/a")
	c := openTest(b, Options{})
	if _, err := c.Fill(b.Context(), local.Store{}, s, []shard.Span{{N: size}}, nil); err != nil {
		b.Fatal(err)
	}
	cached := openShard(b, c, local.Store{}, s)
	direct, err := local.Store{}.Open(b.Context(), s)
	if err != nil {
		b.Fatal(err)
	}
	defer direct.Close()
	for _, n := range []int{64 << 10, 1 << 20, 8 << 20} {
		for _, way := range []struct {
			name string
			o    shard.Object
			view bool
		}{{"cache/view", cached, true}, {"cache/read", cached, false}, {"local/view", direct, true}, {"local/read", direct, false}} {
			b.Run(fmt.Sprintf("%s/%dKiB", way.name, n>>10), func(b *testing.B) {
				b.SetBytes(int64(n))
				p := make([]byte, n)
				used := processorTime(b)
				for i := 0; b.Loop(); i++ {
					off := int64(i*n) % size
					if way.view {
						benchLease(b, way.o, off, int64(n))
					} else if err := way.o.ReadAt(context.Background(), p, off); err != nil {
						b.Fatal(err)
					} else {
						touch(p)
					}
				}
				b.ReportMetric(float64(n)*float64(b.N)/float64(processorTime(b)-used), "GB/cpu-s")
			})
		}
	}
}

// processorTime is what this process has used: it tells more than the clock on a machine that
// others use too.
func processorTime(b *testing.B) time.Duration {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func benchLease(b *testing.B, o shard.Object, off, n int64) {
	l := lendTest(b, o, off, n)
	defer l.Release()
	if err := shard.Guard(func() error { touch(l.Bytes()); return nil }); err != nil {
		b.Fatal(err)
	}
}

// touch reads each page.
//
//go:noinline
func touch(b []byte) (sum byte) {
	for i := 0; i < len(b); i += 512 {
		sum += b[i]
	}
	return sum
}
