package local

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/shard"
)

// mappedBytes is how much of files is resident in this process.
func mappedBytes(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(status)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "RssFile: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	t.Skip("no RssFile")
	return 0
}

// TestReleaseDropsPages: bytes that were lent and released are no longer resident, whatever order
// and sizes the views have.
func TestReleaseDropsPages(t *testing.T) {
	const size = 64 << 20
	o := openOne(t, write(t, t.TempDir()+"/a", bytes.Repeat([]byte{7}, size)))
	before := mappedBytes(t)
	l, _, err := shard.Lend(o, 0, size)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(l.Bytes(), []byte{7}); n != size {
		t.Fatalf("%d bytes", n)
	}
	if grown := mappedBytes(t) - before; grown < size*9/10 {
		t.Fatalf("touching %d bytes made %d resident: the test sees nothing", size, grown)
	}
	l.Release()
	for off := int64(5000); off+10_000 < size; off += 100_000 { // a few columns out of many
		l, _, err := shard.Lend(o, off, 10_000)
		if err != nil || bytes.Count(l.Bytes(), []byte{7}) != 10_000 {
			t.Fatalf("view at %d: %v", off, err)
		}
		l.Release()
	}
	if grown := mappedBytes(t) - before; grown > 1<<20 {
		t.Fatalf("%d bytes stay resident after release", grown)
	}
}

// TestForgetDropsPages: of a view that was used, wherever it begins, the pages that end in what is
// forgotten are no longer resident. They stay readable.
func TestForgetDropsPages(t *testing.T) {
	const size, piece = 16 << 20, 1<<20 + 999
	o := openOne(t, write(t, t.TempDir()+"/a", bytes.Repeat([]byte{7}, size)))
	l, _, err := shard.Lend(o, 5000, size-5000)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	b := l.Bytes()
	before := mappedBytes(t)
	for at := 0; at < len(b); at += piece {
		used := b[at:min(len(b), at+piece)]
		if n := bytes.Count(used, []byte{7}); n != len(used) {
			t.Fatalf("%d bytes at %d", n, at)
		}
		if grown := mappedBytes(t) - before; at == 0 && grown < piece/2 {
			t.Fatalf("touching %d bytes made %d resident: the test sees nothing", piece, grown)
		}
		l.Forget(shard.Span{Off: 5000 + int64(at), N: int64(len(used))})
		if grown := mappedBytes(t) - before; grown > piece/2 {
			t.Fatalf("%d bytes are resident after %d were forgotten", grown, at+len(used))
		}
	}
	l.Forget(shard.Span{Off: 5000})
	l.Forget(shard.Span{Off: 5100, N: 100})
	if n := bytes.Count(b, []byte{7}); n != len(b) {
		t.Errorf("%d bytes are right after all were forgotten", n)
	}
}

// TestLeaseOfColdFile: pages that are not in memory are brought in by Lend, not by touching.
func TestLeaseOfColdFile(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<17)
	path := write(t, t.TempDir()+"/a", content)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Skip(err)
	}
	mapped, err := unix.Mmap(int(f.Fd()), 0, len(content), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mapped)
	if resident(mapped) {
		t.Skip("this file system keeps the pages")
	}
	o := openOne(t, path)
	l, _, err := shard.Lend(o, 3, int64(len(content)-3))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if !resident(mapped) {
		t.Error("the lease's pages are not in memory")
	}
	if !bytes.Equal(l.Bytes(), content[3:]) {
		t.Error("wrong bytes")
	}
}

// TestPopulatePastEnd: a mapping whose file ended is an error before it is a fault.
func TestPopulatePastEnd(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/a")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mapped, err := unix.Mmap(int(f.Fd()), 0, 1<<20, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mapped)
	err = populate(mapped)
	if unix.Madvise(mapped[:page], unix.MADV_POPULATE_READ) == unix.EINVAL {
		t.Skip("this kernel does not populate")
	}
	if err == nil {
		t.Fatal("populated pages that are not there")
	}
}
