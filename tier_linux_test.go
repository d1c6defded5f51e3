package shardfeed

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
)

// mappedBytes is how much of files below a directory is in this process's resident memory.
func mappedBytes(t *testing.T, dir string) (n int64) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	ours := false
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case !strings.HasSuffix(f[0], ":"): // a mapping, with its file if it has one
			ours = strings.Contains(line, dir)
		case ours && f[0] == "Rss:":
			kib, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			n += kib << 10
		}
	}
	return n
}

// TestTierStaysMapped: what an epoch read of the tier stays in memory for the next one, until it is
// cut, others need the memory, or the data set is closed; and not where memory is short.
func TestTierStaysMapped(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(dirVariable, dir)
	s := Spec{Addresses: []string{shop}, Order: Order{Shuffle: true, Seed: 3}, BatchSize: 64, Caching: Caching{DecodedLimit: "256MiB"}, Memory: "1GiB"}
	const all = 2 << 30
	h := NewHost(iterable.NewBudget(all))
	open := func(s Spec) *Dataset {
		t.Helper()
		d, err := h.Open(t.Context(), s, Events{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := open(s)
	keepAllDecoded(t, d)
	space, _ := d.KeptSpace()
	want := batchesOf(t, d, s.LoaderOptions())
	stays := mappedBytes(t, dir)
	if stays < space.Held/2 || h.Budget().Admitted() == 0 {
		t.Errorf("%d bytes of %d stay mapped, %d admitted", stays, space.Held, h.Budget().Admitted())
	}
	if got := batchesOf(t, d, s.LoaderOptions()); !slices.Equal(got, want) {
		t.Error("the second epoch has other batches")
	}
	// The look at an image lets go of pages beside it, which the epoch brings back.
	if n := mappedBytes(t, dir); n < stays || n > space.Held+1<<20 {
		t.Errorf("%d bytes stay mapped where %d did, of %d", n, stays, space.Held)
	}

	whole, err := (*mem.Budget)(h.Budget()).Reserve(0, mem.Amounts{mem.Fetch: all})
	if err != nil {
		t.Fatal(err)
	}
	if n := mappedBytes(t, dir); n > 1<<20 {
		t.Errorf("%d bytes stay mapped where others took the memory", n)
	}
	whole.Close()

	if got := batchesOf(t, d, s.LoaderOptions()); !slices.Equal(got, want) || mappedBytes(t, dir) == 0 {
		t.Error("an epoch after others had the memory differs, or nothing stays mapped")
	}
	for _, path := range decodedFiles(t, dir) {
		if err := os.Truncate(path, 100_000); err != nil {
			t.Fatal(err)
		}
	}
	if got := batchesOf(t, d, s.LoaderOptions()); !slices.Equal(got, want) {
		t.Error("an epoch after the files were cut differs")
	}
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if n, admitted := mappedBytes(t, dir), h.Budget().Admitted(); n > 1<<20 || admitted != 0 {
		t.Errorf("after the end %d bytes stay mapped, %d are admitted", n, admitted)
	}

	s.Memory, s.ShuffleBuffer = "24MiB", "500"
	d = open(s)
	keepAllDecoded(t, d)
	batchesOf(t, d, s.LoaderOptions())
	if n := mappedBytes(t, dir); n > 24<<20 {
		t.Errorf("%d bytes stay mapped in a memory of 24 MiB", n)
	}
	if err := errors.Join(d.Close(t.Context()), h.Close(t.Context())); err != nil {
		t.Error(err)
	}
}

// limitFiles lets this process have so many files open until the test ends.
func limitFiles(t *testing.T, n uint64) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	set := func(l unix.Rlimit) {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
			t.Fatal(err)
		}
	}
	set(unix.Rlimit{Cur: n, Max: before.Max})
	t.Cleanup(func() { set(before) })
}

// mappedFiles is how many files below a directory this process has mapped.
func mappedFiles(t *testing.T, dir string) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	files := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		if _, path, ok := strings.Cut(line, dir); ok {
			files[path] = true
		}
	}
	return len(files)
}

// TestTierOfManyShards: more shards are kept decoded than the process may have open files. Blocks
// lie in a part of them, and the rows of others are copied out.
func TestTierOfManyShards(t *testing.T) {
	table, dir := t.TempDir(), t.TempDir()
	t.Setenv(dirVariable, dir)
	type row struct {
		ID   int64
		Text string
	}
	rows, rng := make([]row, 300), rand.New(rand.NewPCG(1, 1))
	for n := range 150 {
		for i := range rows {
			rows[i] = row{int64(n*len(rows) + i), strings.Repeat(strconv.FormatUint(rng.Uint64(), 36), 40)}
		}
		if err := parquet.WriteFile(filepath.Join(table, fmt.Sprint(n, ".parquet")), rows, parquet.Compression(&parquet.Snappy)); err != nil {
			t.Fatal(err)
		}
	}
	s := Spec{Addresses: []string{table}, Order: Order{Shuffle: true, Seed: 3}, BatchSize: 64, Memory: "2GiB"}
	want := epochsOf(t, s, nil, nil)

	limitFiles(t, 160)
	s.DecodedLimit = "1GiB"
	d, err := Open(t.Context(), s, Events{})
	if err != nil {
		t.Fatal(err)
	}
	keepAllDecoded(t, d)
	for epoch := range 2 {
		if got := batchesOf(t, d, s.LoaderOptions()); !slices.Equal(got, want) {
			t.Errorf("epoch %d has other batches", epoch)
		}
		if n := mappedFiles(t, dir); n < 20 || n > 80 {
			t.Errorf("%d files stay mapped, and 40 may be in use for long", n)
		}
	}
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestTierFlippedWhileMapped: bytes that change in a file of decoded rows between two epochs, while
// it is open and mapped, are noticed at its next use.
func TestTierFlippedWhileMapped(t *testing.T) {
	for _, memory := range []string{"1GiB", "40MiB"} { // images stay mapped, or rows are copied out
		dir := t.TempDir()
		t.Setenv(dirVariable, dir)
		s := Spec{Addresses: []string{shop}, Order: Order{Shuffle: true, Seed: 3}, BatchSize: 64, ShuffleBuffer: "500", Caching: Caching{DecodedLimit: "256MiB"}, Memory: memory}
		d := openSpec(t, s)
		keepAllDecoded(t, d)
		want := batchesOf(t, d, s.LoaderOptions())
		files, err := filepath.Glob(filepath.Join(dir, "v1", "d*", "*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		for range 3 {
			for _, path := range files {
				flipAll(t, path)
			}
			if got := batchesOf(t, d, s.LoaderOptions()); !slices.Equal(got, want) {
				t.Errorf("memory %s: other rows after the flips", memory)
			}
			keepAllAgain(t, d)
		}
	}
}

// keepAllAgain keeps discarded row groups again.
func keepAllAgain(t *testing.T, d *Dataset) iterable.KeptDecoded {
	t.Helper()
	k, err := d.KeepDecoded(t.Context(), func(shard.Shard, int32) bool { return true }, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// flipAll changes a byte of each page of a file behind its first blocks that is not a hole.
func flipAll(t *testing.T, path string) {
	t.Helper()
	time.Sleep(20 * time.Millisecond) // more than a tick of the file system's clock
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for at := int64(2 * 64 << 10); ; at += 4096 {
		if at, err = unix.Seek(int(f.Fd()), at, unix.SEEK_DATA); err != nil {
			return
		}
		var b [1]byte
		if _, err := f.ReadAt(b[:], at+77); err != nil {
			return
		}
		b[0] ^= 1
		if _, err := f.WriteAt(b[:], at+77); err != nil {
			t.Fatal(err)
		}
	}
}
