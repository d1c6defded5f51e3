package cache

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// A childRun is what a process that a test starts does with the cache; see TestMain.
type childRun struct {
	Dir      string
	Scratch  string // files of the test
	Limit    int64
	KeepFor  time.Duration
	NoVerify bool
	Shards   int
	Size     int64
	Decoded  int64 // if not 0, the child keeps and lends so many decoded bytes of each shard, and reads none
	Seed     uint64
	Forever  bool // read at random until killed; else everything once
	Delay    time.Duration
	Trim     bool // fill and trim until killed
}

const childEnv = "SHARDFEED_CACHE_TEST_CHILD"

// The exit status of a child that was served a wrong byte.
const exitWrong = 3

func startChild(t testing.TB, r childRun) *exec.Cmd {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(b))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// child is the main function of a child.
func child(config string) {
	var r childRun
	err := json.Unmarshal([]byte(config), &r)
	if err == nil {
		err = r.run()
	}
	switch {
	case errors.Is(err, errWrong):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitWrong)
	case err != nil:
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

var errWrong = errors.New("a wrong byte was served")

func (r childRun) run() error {
	log, err := os.OpenFile(filepath.Join(r.Scratch, "fetched"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	c, err := Open(Options{Dir: r.Dir, Limit: r.Limit, DecodedLimit: r.Limit / 4 * 3, KeepFor: r.KeepFor, noVerify: r.NoVerify, MinFree: 0.0001})
	if err != nil {
		return err
	}
	source := &origin{delay: r.Delay, log: log}
	if r.Trim {
		return r.trimForever(c, source)
	}
	once, forever := r.readAll, r.readForever
	if r.Decoded > 0 {
		once, forever = r.keepAll, r.keepForever
	}
	if !r.Forever {
		err := errors.Join(once(c, source), c.Close(context.Background()))
		if n := c.Stats().DecodedFilledBytes; n > 0 {
			fmt.Fprintf(log, "0 %d decoded\n", n)
		}
		return err
	}
	failed := make(chan error)
	for i := range 3 {
		go func() { failed <- forever(c, source, rand.New(rand.NewPCG(r.Seed, uint64(i)))) }()
	}
	return <-failed
}

// readAll reads every shard once, in pieces.
func (r childRun) readAll(c *Cache, source *origin) error {
	random := rand.New(rand.NewPCG(r.Seed, 0))
	store := c.Wrap(source)
	for i := range r.Shards {
		s := originShard(i, "v0", r.Size)
		o, err := store.Open(context.Background(), s)
		if err != nil {
			return err
		}
		for off := int64(0); off < r.Size; {
			n := min(1+random.Int64N(2<<20), r.Size-off)
			if err := readRight(o, s, []shard.Range{{Off: off, P: make([]byte, n)}}); err != nil {
				return err
			}
			off += n
		}
		if err := o.Close(); err != nil {
			return err
		}
	}
	return nil
}

// readForever reads what it likes of shards whose version changes with time.
func (r childRun) readForever(c *Cache, source *origin, random *rand.Rand) error {
	store := c.Wrap(source)
	for {
		version := fmt.Sprintf("v%d", time.Now().Unix()/2%3)
		s := originShard(random.IntN(r.Shards), version, r.Size)
		o, err := store.Open(context.Background(), s)
		if err != nil {
			return err
		}
		for range 1 + random.IntN(4) {
			ranges := randomRanges(random, r.Size)
			if random.IntN(2) == 0 {
				err = lendRight(o, s, ranges[0])
			} else {
				err = readRight(o, s, ranges)
			}
			if err != nil {
				return err
			}
		}
		if err := o.Close(); err != nil {
			return err
		}
	}
}

// randomRanges are one to four ranges, small and large, some in one block.
func randomRanges(random *rand.Rand, size int64) (ranges []shard.Range) {
	most := []int64{200, 70_000, 3 << 20}[random.IntN(3)]
	off := random.Int64N(size)
	for range 1 + random.IntN(4) {
		n := min(1+random.Int64N(most), size-off)
		if n <= 0 {
			break
		}
		ranges = append(ranges, shard.Range{Off: off, P: make([]byte, n)})
		off += n + random.Int64N(2)*random.Int64N(most)
		if off >= size {
			break
		}
	}
	return ranges
}

// readRight reads ranges and compares them with the truth.
func readRight(o shard.Object, s shard.Shard, ranges []shard.Range) error {
	if err := shard.ReadRanges(context.Background(), o, ranges); err != nil {
		return err
	}
	for _, r := range ranges {
		if !isTruth(s, r.P, r.Off) {
			return fmt.Errorf("%w: %s at %s, %d bytes from byte %d on, one of %d ranges", errWrong, s.URI, s.Version, len(r.P), r.Off, len(ranges))
		}
	}
	return nil
}

// lendRight borrows a range, if it is lent, and compares it with the truth when it has turned out
// to be what is to be believed.
func lendRight(o shard.Object, s shard.Shard, r shard.Range) error {
	l, ok, err := shard.Lend(o, r.Off, int64(len(r.P)))
	if !ok || err != nil {
		return err
	}
	defer l.Release()
	b := l.Bytes()
	err = shard.Guard(func() error {
		if !isTruth(s, b, r.Off) {
			return fmt.Errorf("%w: %s at %s, %d bytes lent from byte %d on", errWrong, s.URI, s.Version, len(b), r.Off)
		}
		return nil
	})
	if l.Verify(r.Span()) != nil {
		return nil
	}
	return err
}

func isTruth(s shard.Shard, b []byte, off int64) bool {
	want := make([]byte, len(b))
	truth(seedOf(s), want, off)
	return bytes.Equal(b, want)
}

// trimForever fills the shards and trims them to some of their bytes, until the process is killed.
func (r childRun) trimForever(c *Cache, source shard.Store) error {
	random := rand.New(rand.NewPCG(r.Seed, 1))
	for {
		s := originShard(random.IntN(r.Shards), "v1", r.Size)
		if _, err := c.Fill(context.Background(), source, s, []shard.Span{{N: r.Size}}, nil); err != nil {
			return err
		}
		w := Wanted{Shard: s}
		for range random.IntN(5) {
			off := random.Int64N(r.Size)
			w.Spans = append(w.Spans, shard.Span{Off: off, N: random.Int64N(min(r.Size-off, 3*blockSize))})
		}
		room, err := c.RoomFor(source, []Wanted{w})
		if err == nil {
			_, err = c.Trim(room, 1<<40)
		}
		if err != nil {
			return err
		}
	}
}
