package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// keepAll keeps all decoded bytes of every shard once, in pieces of whole blocks.
func (r childRun) keepAll(c *Cache, source *origin) error {
	random := rand.New(rand.NewPCG(r.Seed, 0))
	for i := range r.Shards {
		s := originShard(i, "v0", r.Size)
		d := c.OpenDecoded(source, s, "form", r.Decoded)
		for off := int64(0); off < r.Decoded; {
			n := min(blockSize*(1+random.Int64N(30)), r.Decoded-off)
			if err := d.Keep(context.Background(), off, decodedTruth(s, off, n)); err != nil {
				return err
			}
			off += n
		}
	}
	return nil
}

// keepForever keeps and lends decoded bytes of shards whose version changes with time. It often
// closes its files, so that others may damage them: what is open is verified once.
func (r childRun) keepForever(c *Cache, source *origin, random *rand.Rand) error {
	for {
		s := originShard(random.IntN(r.Shards), fmt.Sprintf("v%d", time.Now().Unix()/2%3), r.Size)
		if err := stepDecoded(c.OpenDecoded(source, s, "form", r.Decoded), s, random); err != nil {
			return err
		}
		if random.IntN(2) == 0 {
			c.files.closeIdle(0)
			time.Sleep(time.Millisecond)
		}
	}
}

// stepDecoded keeps and lends some decoded bytes.
func stepDecoded(d *Decoded, s shard.Shard, random *rand.Rand) error {
	off, n := somewhere(d, random)
	err := d.Keep(context.Background(), off, decodedTruth(s, off, n))
	if errors.Is(err, errWrong) {
		return err
	}
	for range 3 {
		off, n := somewhere(d, random)
		n = d.Held(off, n)
		d.ReadAhead(context.Background(), []shard.Span{{Off: off, N: n}})
		if err := lendDecoded(d, s, off, n); errors.Is(err, errWrong) {
			return err
		}
	}
	return nil
}

// somewhere is a run of bytes of a space that begins with a block.
func somewhere(d *Decoded, random *rand.Rand) (off, n int64) {
	off = blockSize * random.Int64N(blocksOf(d.key.size))
	return off, min(1+random.Int64N(1<<20), d.key.size-off)
}
