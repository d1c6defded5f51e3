//go:build linux

package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/shard"
)

// complaints collects what a cache says.
type complaints struct {
	mu  sync.Mutex
	all []error
}

func (c *complaints) events() Events {
	return Events{Trouble: func(err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all = append(c.all, err)
	}}
}

func (c *complaints) said() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// after closes a cache, which may be complaining in the background, and returns all it said.
func (c *complaints) after(t *testing.T, cache *Cache) []error {
	t.Helper()
	closeTest(t, cache)
	return c.said()
}

// smallDisk mounts a file system of so many bytes, which takes root.
func smallDisk(t *testing.T, bytes int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Skip("no small file system can be mounted:", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestNoRoom: a disk that is full from the start is another error than a directory that cannot hold
// a cache.
func TestNoRoom(t *testing.T) {
	dir := smallDisk(t, 1<<20)
	if _, err := DefaultLimit(dir); !errors.Is(err, ErrNoRoom) {
		t.Errorf("by default: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "other"), make([]byte, 2<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("2 MiB on a disk of 1: %v", err)
	}
	if _, err := ParseLimit("50%", dir); !errors.Is(err, ErrNoRoom) {
		t.Errorf("a part of it: %v", err)
	}
	_, err := Open(Options{Dir: filepath.Join(dir, "c"), Limit: 1 << 30, anyFileSystem: true})
	if !errors.Is(err, ErrNoRoom) || !errors.Is(err, unix.ENOSPC) || errors.Is(err, ErrUnfit) {
		t.Errorf("open: %v", err)
	}
}

// TestFullDisk: a disk that is full costs nothing but fetches: reads are right, what is held is
// still served, and it is said once.
func TestFullDisk(t *testing.T) {
	const size = 6 << 20
	var heard complaints
	source := &origin{}
	c := openTest(t, Options{Dir: smallDisk(t, 4<<20), anyFileSystem: true, MinFree: 1e-9, Events: heard.events()})
	for range 2 {
		for i := range 4 {
			s := originShard(i, "v1", size)
			o := openShard(t, c, source, s)
			for off := int64(0); off < size; off += 1 << 20 {
				if err := readRight(o, s, []shard.Range{{Off: off, P: make([]byte, 1<<20)}}); err != nil {
					t.Fatal(err)
				}
				settle(t, c)
			}
		}
	}
	st := c.Stats()
	if st.HitBytes < 1<<20 || st.FilledBytes < 1<<20 {
		t.Errorf("what is held is not served: %v", st)
	}
	if r, err := Verify(t.Context(), c.options.Dir, nil); err != nil || r.Bad != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	s := originShard(9, "v1", size)
	if _, err := c.Fill(t.Context(), source, s, []shard.Span{{N: size}}, nil); err == nil {
		t.Error("a Fill does not say that the disk is full")
	}
	if said := heard.after(t, c); len(said) != 1 || !errors.Is(said[0], unix.ENOSPC) || st.Trouble != 1 {
		t.Errorf("said %v", said)
	}
}

// TestFullDiskDecoded: when decoded bytes fill a disk, what is held is lent and the rest is not
// kept.
func TestFullDiskDecoded(t *testing.T) {
	const size = 6 << 20
	var heard complaints
	c := openTest(t, Options{
		Dir: smallDisk(t, 4<<20), anyFileSystem: true, MinFree: 1e-9, DecodedLimit: 1 << 30, Events: heard.events(),
	})
	refused := 0
	for i := range 3 {
		s := originShard(i, "v1", size)
		d := openDecoded(t, c, s, size)
		for off := int64(0); off < size; off += 1 << 20 {
			if err := d.Keep(t.Context(), off, decodedTruth(s, off, 1<<20)); err != nil {
				refused++
			}
			settle(t, c)
			if err := lendDecoded(d, s, 0, d.Held(0, size)); err != nil && !errors.Is(err, errors.ErrUnsupported) {
				t.Error(err)
			}
		}
	}
	st := c.Stats()
	if said := heard.after(t, c); len(said) != 1 || !errors.Is(said[0], unix.ENOSPC) || refused == 0 {
		t.Errorf("said %v, %d were refused", said, refused)
	}
	if st.DecodedHitBytes < 1<<20 || st.DecodedFilledBytes < 1<<20 {
		t.Errorf("what is held is not lent: %+v", st)
	}
	if r, err := Verify(t.Context(), c.options.Dir, nil); err != nil || r.Bad != 0 || r.Decoded == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestFloorIsKept: a disk that fills up within the second between two looks keeps its free part,
// and it is said once that no more is kept.
func TestFloorIsKept(t *testing.T) {
	const size, disk = 6 << 20, 16 << 20
	var heard complaints
	source := &origin{}
	c := openTest(t, Options{Dir: smallDisk(t, disk), anyFileSystem: true, MinFree: 0.25, Events: Events{Low: heard.events().Trouble}})
	for i := range 4 {
		s := originShard(i, "v1", size)
		if err := readRight(openShard(t, c, source, s), s, []shard.Range{{P: make([]byte, size)}}); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, c)
	d, err := diskOf(c.options.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if d.free < disk/4-1<<20 || c.Stats().FilledBytes < 4<<20 {
		t.Errorf("%d of %d bytes are free, %d were filled", d.free, d.total, c.Stats().FilledBytes)
	}
	if said := heard.after(t, c); len(said) != 1 || !strings.Contains(said[0].Error(), "of its disk's 16.0 MiB are free, and 25% of them stay so") {
		t.Errorf("said %v", said)
	}
}

// TestTrouble: what each error of the disk means, and that a trouble is said once until the disk is
// well again.
func TestTrouble(t *testing.T) {
	for _, c := range []struct {
		err                 error
		reads, fills, saids bool // off, off, said
	}{
		{unix.ENOSPC, false, true, true},
		{unix.EDQUOT, false, true, true},
		{unix.EROFS, false, true, true},
		{unix.EIO, true, true, true},
		{unix.ENODEV, true, true, true},
		{unix.EACCES, false, false, true},
		{unix.EMFILE, false, false, false},
		{errStale, false, false, false},
		{ErrFull, false, false, false},
		{ErrClosed, false, false, false},
		{fs.ErrNotExist, false, false, false},
		{context.Canceled, false, false, false},
	} {
		t.Run(c.err.Error(), func(t *testing.T) {
			var heard complaints
			cache := openTest(t, Options{Events: heard.events()})
			for range 3 {
				cache.diskError(&fs.PathError{Op: "write", Path: "x", Err: c.err})
			}
			said := heard.said()
			if cache.disk.readsOff() != c.reads || cache.disk.fillsOff() != c.fills || (len(said) == 1) != c.saids || len(said) > 1 {
				t.Errorf("%v: reads off %v, fills off %v, said %v", c.err, cache.disk.readsOff(), cache.disk.fillsOff(), said)
			}
			cache.disk.well()
			cache.diskError(c.err)
			said = heard.said()
			if again := len(said) == 2; again != (c.saids && !notAllowed(c.err)) {
				t.Errorf("%v: said %d times", c.err, len(said))
			}
		})
	}
}

// TestRemovedDirectory: a cache whose directory is removed costs fetches, and is reported once.
func TestRemovedDirectory(t *testing.T) {
	var heard complaints
	source := &origin{}
	c := openTest(t, Options{DecodedLimit: 1 << 20, Events: heard.events()})
	for i := range 6 {
		if i == 2 {
			if err := os.RemoveAll(c.options.Dir); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range []int{i, i / 2} { // a new one, and an earlier one
			s := originShard(n, "v1", 1000)
			if err := readRight(openShard(t, c, source, s), s, []shard.Range{{P: make([]byte, 1000)}}); err != nil {
				t.Error(err)
			}
			settle(t, c)
		}
	}
	if said := heard.after(t, c); len(said) != 1 || !errors.Is(said[0], errRemoved) {
		t.Errorf("reported: %v", said)
	}
}

// TestUsageCutWhileOpen: without an account nothing is added, which is reported once, and held
// bytes are served.
func TestUsageCutWhileOpen(t *testing.T) {
	var heard complaints
	source := &origin{}
	c := openTest(t, Options{Events: heard.events()})
	for i := range 5 {
		for _, n := range []int{0, i} {
			s := originShard(n, "v1", 1000)
			if err := readRight(openShard(t, c, source, s), s, []shard.Range{{P: make([]byte, 1000)}}); err != nil {
				t.Error(err)
			}
			settle(t, c)
		}
		if i == 1 {
			if err := os.Truncate(filepath.Join(c.options.Dir, formatDir, usageName), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	st := c.Stats()
	if said := heard.after(t, c); len(said) != 1 || !errors.Is(said[0], errUsageCut) || st.HitBytes < 5000 {
		t.Errorf("reported: %v; %+v", said, st)
	}
}

// TestOff: while the cache is off, reads are right and leave the disk alone.
func TestOff(t *testing.T) {
	source, s := &origin{}, originShard(1, "v1", 100_000)
	c := openTest(t, Options{})
	o := openShard(t, c, source, s)
	for i, fetched := range []int64{1000, 1000, 2000} {
		t.Run(fmt.Sprintf("read %d", i), func(t *testing.T) {
			if i == 2 {
				c.diskError(unix.EIO)
			}
			if err := readRight(o, s, []shard.Range{{Off: 5, P: make([]byte, 1000)}}); err != nil {
				t.Error(err)
			}
			settle(t, c)
			if got := source.fetched.Load(); got != fetched {
				t.Errorf("read %d: %d bytes fetched, want %d", i, got, fetched)
			}
		})
	}
	if _, ok, err := shard.Lend(o, 5, 10); ok || err != nil {
		t.Errorf("a lease while the cache is off: %v, %v", ok, err)
	}
	c.options.DecodedLimit = 1 << 20
	d := openDecoded(t, c, s, 1000)
	if _, err := d.Lend(0, 10); !errors.Is(err, errors.ErrUnsupported) || d.Held(0, 10) != 0 || d.MayKeep(10) {
		t.Errorf("decoded bytes while the cache is off: %v", err)
	}
	if err := d.Keep(t.Context(), 0, make([]byte, 10)); !errors.Is(err, errOff) {
		t.Errorf("a Keep while the cache is off: %v", err)
	}
}

// TestUnwritableFile: a shard file that this user may not open costs fetches and is said once.
func TestUnwritableFile(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may open everything")
	}
	source, s := &origin{}, originShard(1, "v1", 1000)
	var heard complaints
	c := openTest(t, Options{Events: heard.events()})
	o := openShard(t, c, source, s)
	if err := readOnly(t.Context(), o, 0, 1000); err != nil {
		t.Fatal(err)
	}
	settle(t, c)
	c.files.closeIdle(0)
	path, _ := fileOf(t, c, source, s)
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := readRight(o, s, []shard.Range{{P: make([]byte, 1000)}}); err != nil {
			t.Error(err)
		}
	}
	if said := heard.after(t, c); len(said) != 1 {
		t.Errorf("said %v", said)
	}
}

// TestTooManyFiles: a process that runs out of file descriptors gives some of the cache's back.
func TestTooManyFiles(t *testing.T) {
	source := &origin{}
	c := openTest(t, Options{})
	for i := range 20 {
		if err := readOnly(t.Context(), openShard(t, c, source, originShard(i, "v1", 100)), 0, 100); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, c)
	var held []*os.File
	var old, low unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	low = old
	low.Cur = 100
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Skip(err)
	}
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		held = append(held, f)
	}
	for i := range 20 {
		s := originShard(100+i, "v1", 100)
		if err := readRight(openShard(t, c, source, s), s, []shard.Range{{P: make([]byte, 100)}}); err != nil {
			t.Error(err)
		}
	}
	for _, f := range held {
		f.Close()
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	settle(t, c)
	if st := c.Stats(); st.Trouble != 0 || st.FilledBytes < 2100 {
		t.Errorf("%v", st)
	}
}
