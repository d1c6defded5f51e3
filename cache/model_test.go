package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// TestModel reads at random through several caches on one directory, from many goroutines, while
// shards change, bytes rot, files are closed and evicted, and compares with the truth.
func TestModel(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit int64
		o     Options
	}{
		{"room", 1 << 30, Options{}},
		{"full, kept", 6 << 20, Options{}},
		{"full, evicting", 6 << 20, Options{KeepFor: 20 * time.Millisecond}},
		{"full, least recently used", 6 << 20, Options{Policy: LRU}},
		{"little memory", 1 << 30, Options{Pending: 2 << 20}},
		{"full, decoded", 16 << 20, Options{DecodedLimit: 8 << 20, KeepFor: 20 * time.Millisecond}},
		{"room, decoded", 1 << 30, Options{DecodedLimit: 1 << 30}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := &model{t: t, source: &origin{delay: 50 * time.Microsecond}}
			c.o.Dir, c.o.Limit = testDir(t), c.limit
			for range 3 {
				m.caches = append(m.caches, openTest(t, c.o))
			}
			m.run(6, 40)
			m.check(c.limit)
		})
	}
}

const (
	modelShards = 5
	modelSize   = 3<<20 + 777
)

type model struct {
	t      *testing.T
	source *origin
	caches []*Cache
	wrong  sync.Once
}

func (m *model) run(goroutines, steps int) {
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 7))
			for range steps {
				if err := m.step(random); err != nil {
					m.wrong.Do(func() { m.t.Error(err) })
					return
				}
			}
		})
	}
	wg.Wait()
}

// step does one thing with one of the caches.
func (m *model) step(random *rand.Rand) error {
	c := m.caches[random.IntN(len(m.caches))]
	s := originShard(random.IntN(modelShards), fmt.Sprintf("v%d", random.IntN(2)), modelSize)
	ranges := randomRanges(random, modelSize)
	switch random.IntN(12) {
	case 0:
		c.files.closeIdle(0)
		return nil
	case 1:
		return m.fill(c, s, ranges)
	case 2:
		return m.cancelled(c, s, ranges, random)
	}
	if d := c.OpenDecoded(m.source, s, "form", modelSize*2); d != nil && random.IntN(2) == 0 {
		return stepDecoded(d, s, random)
	}
	o, err := c.Wrap(m.source).Open(m.t.Context(), s)
	if err != nil {
		return err
	}
	defer o.Close()
	if random.IntN(2) == 0 {
		l, ok, err := shard.Lend(o, ranges[0].Off, int64(len(ranges[0].P)))
		if err != nil {
			return err
		}
		if ok {
			defer l.Release()
			return shard.Use(l, func() error { return right(s, l.Bytes(), ranges[0].Off) })
		}
	}
	return readRight(o, s, ranges)
}

func right(s shard.Shard, b []byte, off int64) error {
	if !isTruth(s, b, off) {
		return fmt.Errorf("%w: %d bytes lent from byte %d on", errWrong, len(b), off)
	}
	return nil
}

func (m *model) fill(c *Cache, s shard.Shard, ranges []shard.Range) error {
	var spans []shard.Span
	for _, r := range ranges {
		spans = append(spans, r.Span())
	}
	_, err := c.Fill(m.t.Context(), m.source, s, spans, nil)
	if errors.Is(err, ErrFull) {
		return nil
	}
	return err
}

// cancelled gives up soon: the read is right, or says so.
func (m *model) cancelled(c *Cache, s shard.Shard, ranges []shard.Range, random *rand.Rand) error {
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Duration(random.IntN(200))*time.Microsecond)
	defer cancel()
	o, err := c.Wrap(m.source).Open(ctx, s)
	if err == nil {
		defer o.Close()
		err = shard.ReadRanges(ctx, o, ranges)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, r := range ranges {
		if err := right(s, r.P, r.Off); err != nil {
			return err
		}
	}
	return nil
}

// check looks at what is left when all is quiet.
func (m *model) check(limit int64) {
	t := m.t
	for _, c := range m.caches {
		settle(t, c)
		if s := c.Stats(); s.Bad > 0 || s.Trouble > 0 {
			t.Errorf("%v", s)
		}
	}
	dir := m.caches[0].options.Dir
	space, err := Usage(dir)
	if err != nil || space.Bytes > limit {
		t.Errorf("%d bytes on the disk, limit %d, %v", space.Bytes, limit, err)
	}
	if r, err := Verify(t.Context(), dir, nil); err != nil || r.Bad > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if most := m.caches[0].options.DecodedLimit; space.DecodedBytes > most {
		t.Errorf("%d decoded bytes on the disk, limit %d", space.DecodedBytes, most)
	}
	counted, err := m.caches[0].usage.amount()
	if err != nil || counted.all < space.Bytes-64<<10 || counted.decoded < space.DecodedBytes-64<<10 {
		t.Errorf("%+v on the disk, %+v counted", space, counted)
	}
}

// TestNarrow: what is asked for is fetched, and no more than that: to the byte for ranges in blocks
// of their own, and with what lies between for ranges that share a block, so that a block has one
// run.
func TestNarrow(t *testing.T) {
	type r = []int // off, n pairs
	for _, c := range []struct {
		name string
		asks []r
		want []int // bytes fetched by each
	}{
		{"apart", []r{{100, 10, 200_000, 20}}, []int{30}},
		{"twice", []r{{100, 10}, {100, 10}}, []int{10, 0}},
		{"inside", []r{{100, 10}, {105, 5}}, []int{10, 0}},
		{"grows to the right", []r{{100, 10}, {105, 10}}, []int{10, 5}},
		{"grows to the left", []r{{100, 10}, {95, 10}}, []int{10, 5}},
		{"grows both ways", []r{{100, 10}, {90, 30}}, []int{10, 20}},
		{"gap within a block", []r{{100, 10}, {120, 10}}, []int{10, 20}},
		{"gap before", []r{{120, 10}, {100, 10}}, []int{10, 20}},
		{"two in a block at once", []r{{100, 10, 120, 10}}, []int{30}},
		{"over an edge", []r{{65_000, 1000}, {65_536, 10}, {66_000, 10}}, []int{1000, 0, 10}},
		{"many blocks", []r{{10, 300_000}, {300_010, 100}, {0, 10}}, []int{300_000, 100, 10}},
		{"last byte", []r{{999_999, 1}, {0, 1}}, []int{1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			content := random(3, 1_000_000)
			meter, s := one(t, content)
			cache := openTest(t, Options{})
			o := openShard(t, cache, meter, s)
			for i, ask := range c.asks {
				before := meter.ReadBytes()
				var ranges []shard.Range
				for k := 0; k < len(ask); k += 2 {
					ranges = append(ranges, shard.Range{Off: int64(ask[k]), P: make([]byte, ask[k+1])})
				}
				if err := shard.ReadRanges(t.Context(), o, ranges); err != nil {
					t.Fatal(err)
				}
				for _, r := range ranges {
					if !bytes.Equal(r.P, content[r.Off:r.Span().End()]) {
						t.Errorf("%d bytes from byte %d on are wrong", len(r.P), r.Off)
					}
				}
				if got := int(meter.ReadBytes() - before); got != c.want[i] {
					t.Errorf("ask %d fetched %d bytes, want %d", i, got, c.want[i])
				}
				settle(t, cache)
			}
			if r, err := Verify(t.Context(), cache.options.Dir, nil); err != nil || r.Bad > 0 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}
