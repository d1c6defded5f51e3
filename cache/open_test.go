package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

func TestOptions(t *testing.T) {
	bad := Options{Limit: 5, Policy: 9, KeepFor: -1, Pending: -1, MinFree: 2}
	_, err := Open(bad)
	for _, want := range []string{"directory", "limit of 5", "policy is 9", "-1ns", "-1 bytes", "2 of the file system"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	for _, small := range []int64{1, minPending - 1} {
		if o := (Options{Pending: small}).withDefaults(); o.Pending != minPending {
			t.Errorf("%d bytes may wait", o.Pending)
		}
	}
}

// TestOpenMakesDirectory: what Open makes is readable by its user alone.
func TestOpenMakesDirectory(t *testing.T) {
	dir := filepath.Join(testDir(t), "a", "b")
	c := openTest(t, Options{Dir: dir})
	text, err := os.ReadFile(filepath.Join(dir, "v1", "CACHEDIR.TAG"))
	if err != nil || !strings.HasPrefix(string(text), "Signature: 8a477f597d28d172789f06886806bc55") {
		t.Errorf("%q, %v", text, err)
	}
	info, err := os.Stat(filepath.Join(dir, "v1"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	names, err := os.ReadDir(c.root.Path())
	if err != nil || len(names) != 3 {
		t.Errorf("%v, %v", names, err)
	}
}

func TestOpenFails(t *testing.T) {
	dir := testDir(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := Open(Options{Dir: file, Limit: 1 << 20}); err == nil {
		closeTest(t, c)
		t.Error("a cache in a file")
	}
	if os.Getuid() != 0 {
		if err := os.Mkdir(filepath.Join(dir, "closed"), 0o500); err != nil {
			t.Fatal(err)
		}
		if c, err := Open(Options{Dir: filepath.Join(dir, "closed"), Limit: 1 << 20}); err == nil {
			closeTest(t, c)
			t.Error("a cache where nothing may be written")
		}
	}
}

// TestUnfit: a cache in memory is refused, with a sentence and before anything is made.
func TestUnfit(t *testing.T) {
	const memory = "/dev/shm"
	if disk, err := diskOf(memory); err != nil || disk.kind != 0x01021994 {
		t.Skip("there is no tmpfs at", memory)
	}
	dir := filepath.Join(memory, "shardfeed-test", "none")
	_, err := Open(Options{Dir: dir, Limit: 1 << 30})
	for _, err := range []error{err, Fit(dir)} {
		if !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), "tmpfs") || !strings.Contains(err.Error(), "memory that training needs") {
			t.Errorf("%v", err)
		}
	}
	if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Error("it was made all the same")
	}
	if err := Fit(testDir(t)); err != nil {
		t.Errorf("a local disk: %v", err)
	}
}

func TestLimits(t *testing.T) {
	dir := filepath.Join(testDir(t), "not", "there")
	free, err := capacityFor(dir)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := DefaultLimit(dir); err != nil || n > maxDefault || n < free/4 && n < maxDefault {
		t.Errorf("%d of %d free, %v", n, free, err)
	}
	for s, want := range map[string]int64{
		"100GiB": 100 << 30, "1.5GB": 1_500_000_000, " 2 tib ": 2 << 40, "64M": 64 << 20, "1048576": 1 << 20, "1e9": 1_000_000_000, "2000kb": 2_000_000,
	} {
		t.Run(s, func(t *testing.T) {
			if n, err := ParseLimit(s, dir); n != want || err != nil {
				t.Errorf("%q: %d, want %d, %v", s, n, want, err)
			}
		})
	}
	for _, s := range []string{"", "x", "-1GB", "10XB", "0", "100", "0%", "101%", "x%", "1e30", "NaN", "nan%", "infGB", "5 %%"} {
		t.Run(fmt.Sprintf("%q", s), func(t *testing.T) {
			if n, err := ParseLimit(s, dir); err == nil || !strings.Contains(err.Error(), s) {
				t.Errorf("%q: %d, %v", s, n, err)
			}
		})
	}
	held := testDir(t)
	c := openTest(t, Options{Dir: held})
	if ok, err := c.usage.reserve(room{bytes: 1 << 29}, amount{all: 1 << 30}); !ok || err != nil {
		t.Fatal(err)
	}
	if with, err := capacityFor(held); err != nil || with < free+1<<28 {
		t.Errorf("%d with what is held, %d without, %v", with, free, err)
	}
	n, err := ParseLimit("50%", dir)
	if err != nil || n < free/4 || n > free*3/4 {
		t.Errorf("%d of %d free, %v", n, free, err)
	}
}

// TestClose: fills that wait are on the disk afterwards; it can be called twice; reads go on
// without the cache, and views live on.
func TestClose(t *testing.T) {
	const size = 8 << 20
	source, s := &origin{}, originShard(1, "v1", size)
	dir := testDir(t)
	c := openTest(t, Options{Dir: dir})
	o := openShard(t, c, source, s)
	if err := readOnly(t.Context(), o, 0, size); err != nil {
		t.Fatal(err)
	}
	closeTest(t, c)
	closeTest(t, c)
	if st := c.Stats(); st.FilledBytes != size || st.Dropped != 0 {
		t.Errorf("%v", st)
	}
	again := openTest(t, Options{Dir: dir})
	o2 := openShard(t, again, source, s)
	l := lendTest(t, o2, 5, size-5)
	closeTest(t, again)
	if err := shard.Guard(func() error { return right(s, l.Bytes(), 5) }); err != nil {
		t.Error(err)
	}
	l.Release()
	l.Release()
	if err := readRight(o2, s, []shard.Range{{Off: 5, P: make([]byte, 100)}}); err != nil {
		t.Error(err)
	}
	if source.fetched.Load() != size+100 {
		t.Errorf("%d bytes fetched", source.fetched.Load())
	}
}

// TestCloseInTime: fills that would take too long are dropped, though there is room for them.
func TestCloseInTime(t *testing.T) {
	const size, taken = 8 << 20, 1<<30 - 1<<20
	source, s := &origin{}, originShard(1, "v1", size)
	c := openTest(t, Options{})
	o := openShard(t, c, source, s)
	if err := readOnly(t.Context(), o, 0, 1000); err != nil { // the file is made
		t.Fatal(err)
	}
	settle(t, c)
	c.evicting.Lock() // writers that need room wait
	if ok, err := c.usage.reserve(room{bytes: taken}, amount{all: 1 << 30}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := readOnly(t.Context(), o, 0, size); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var late sync.WaitGroup
	late.Go(func() {
		for !c.hurry.Load() {
			time.Sleep(time.Millisecond)
		}
		c.usage.word(totalAt).Add(-taken)
		c.evicting.Unlock()
	})
	start := time.Now()
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
	late.Wait()
	if st := c.Stats(); time.Since(start) >= closeFor || st.Dropped < 1<<20 {
		t.Errorf("it took %v, %v", time.Since(start), st)
	}
}

// TestCloseWhileReading: reads that are under way when the cache is closed come to their right end.
func TestCloseWhileReading(t *testing.T) {
	const size = 1 << 20
	for range 5 {
		source := &origin{delay: time.Millisecond}
		c := openTest(t, Options{})
		var wg sync.WaitGroup
		for g := range 4 {
			s := originShard(g, "v1", size)
			o := openShard(t, c, source, s)
			wg.Go(func() {
				for i := range int64(16) {
					if err := readRight(o, s, []shard.Range{{Off: i * 65_000, P: make([]byte, 64_000)}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		time.Sleep(5 * time.Millisecond)
		closeTest(t, c)
		wg.Wait()
		if n := c.files.users; n != 0 {
			t.Errorf("%d uses are never ended", n)
		}
	}
}

// TestFilesAreClosed: at most so many shard files stay open, and idle ones are closed.
func TestFilesAreClosed(t *testing.T) {
	source := &origin{}
	c := openTest(t, Options{})
	c.files.most = 5
	for i := range 20 {
		s := originShard(i, "v1", 100)
		if err := readOnly(t.Context(), openShard(t, c, source, s), 0, 100); err != nil {
			t.Fatal(err)
		}
		settle(t, c)
	}
	if n := len(c.files.open); n > 5 {
		t.Errorf("%d files are open", n)
	}
	c.files.closeIdle(time.Hour)
	if n := len(c.files.open); n == 0 {
		t.Error("files were closed that are not idle")
	}
	c.files.shrink()
	if n := len(c.files.open); n != 0 || c.files.most != minFiles {
		t.Errorf("%d files are open, %d may be", n, c.files.most)
	}
}

// TestCloseLeavesNoFileOpen: also a file whose last user comes after Close is closed, so that it
// can be removed.
func TestCloseLeavesNoFileOpen(t *testing.T) {
	source, s := &origin{}, originShard(1, "v1", 1000)
	c := openTest(t, Options{})
	if err := readOnly(t.Context(), openShard(t, c, source, s), 0, 1000); err != nil {
		t.Fatal(err)
	}
	settle(t, c)
	k, _ := keyOf(source, s)
	p, err := c.files.acquire(t.Context(), k, false)
	if err != nil {
		t.Fatal(err)
	}
	closeTest(t, c)
	if freed, err := Clear(t.Context(), c.options.Dir); err != nil || freed.InUse != 1 {
		t.Errorf("a file in use: %+v, %v", freed, err)
	}
	c.files.release(p)
	if freed, err := Clear(t.Context(), c.options.Dir); err != nil || freed.Shards != 1 {
		t.Errorf("a file that nobody uses: %+v, %v", freed, err)
	}
}
