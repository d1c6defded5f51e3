//go:build linux

package cache

import (
	"context"
	"os"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/shard"
)

// dropPages writes a file to the disk and lets the kernel forget its bytes. It says whether the
// kernel did.
func dropPages(t *testing.T, path string, b []byte) bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 20 {
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			t.Fatal(err)
		}
		if pagesInMemory(t, b) == 0 {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// pagesInMemory counts the pages of a mapping that the kernel has in memory.
func pagesInMemory(t *testing.T, b []byte) (n int) {
	t.Helper()
	pages := make([]byte, (len(b)+os.Getpagesize()-1)/os.Getpagesize())
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(unsafe.Pointer(&pages[0])))
	if errno != 0 {
		t.Fatal(errno)
	}
	for _, p := range pages {
		n += int(p & 1)
	}
	return n
}

// TestReadAhead: what is held of the spans is in memory afterwards, and nothing else; a reader that
// has given up waits for none of it.
func TestReadAhead(t *testing.T) {
	const size, mid = 32 << 20, 16 << 20
	s := originShard(1, "v1", 1000)
	c := openTest(t, Options{DecodedLimit: 1 << 30})
	d := openDecoded(t, c, s, size)
	const held = 9<<20 + 100
	keepDecoded(t, d, s, mid, held)
	keepDecoded(t, d, s, 1<<20, blockSize)
	settle(t, c)
	all := mappedOnDisk(t, c, d)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		d.ReadAhead(stopped, []shard.Span{{Off: mid, N: held}})
	}
	if n := pagesInMemory(t, all); n != 0 {
		t.Errorf("%d pages were read for a reader that has given up", n)
	}
	passThrough(stopped, all, shard.Span{Off: mid, N: held})
	if n := pagesInMemory(t, all[mid+aheadBytes+1<<20:]); n != 0 {
		t.Errorf("%d pages were read behind the window in which a reader gave up", n)
	}
	d.ReadAhead(t.Context(), []shard.Span{{Off: 0, N: 100}, {Off: mid, N: 12 << 20}, {Off: size, N: 10}, {Off: -1, N: 5}})
	if n, want := pagesInMemory(t, all[mid:mid+held]), (held+os.Getpagesize()-1)/os.Getpagesize(); n != want {
		t.Errorf("%d pages of %d are in memory", n, want)
	}
	if n := pagesInMemory(t, all[:8<<20]); n != 0 {
		t.Errorf("%d pages were read that nobody asked for", n)
	}
	if n := residentBytes(t, all); n != 0 {
		t.Errorf("%d bytes stay mapped", n)
	}
	expectDecoded(t, d, s, mid, held)
}

// mappedOnDisk maps the data of a shard that is kept decoded. None of its pages is in memory.
func mappedOnDisk(t *testing.T, c *Cache, d *Decoded) []byte {
	t.Helper()
	p, err := c.acquire(t.Context(), d.key, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.files.release(p) })
	all, err := p.file.mapData()
	if err != nil {
		t.Fatal(err)
	}
	if path, _ := fileOfKey(c, d.key); !dropPages(t, path, all) {
		t.Skip("this file system keeps its pages in memory")
	}
	return all
}

// residentBytes is how much of a mapping this process has in its page tables; see
// proc_pid_pagemap(5).
func residentBytes(t *testing.T, b []byte) (n int64) {
	t.Helper()
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page := int64(os.Getpagesize())
	words := make([]byte, 8*((int64(len(b))+page-1)/page))
	if _, err := f.ReadAt(words, 8*(int64(uintptr(unsafe.Pointer(&b[0])))/page)); err != nil {
		t.Fatal(err)
	}
	for ; len(words) > 0; words = words[8:] {
		if leInt(words) < 0 { // bit 63
			n += page
		}
	}
	return n
}

// TestReadAheadMapsLittle: at most a window of the bytes is mapped at a time.
func TestReadAheadMapsLittle(t *testing.T) {
	const size = 24 << 20
	s := originShard(1, "v1", 1000)
	c := openTest(t, Options{DecodedLimit: 1 << 30})
	d := openDecoded(t, c, s, size)
	keepDecoded(t, d, s, 0, size)
	settle(t, c)
	all := mappedOnDisk(t, c, d)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.ReadAhead(t.Context(), []shard.Span{{N: size}})
	}()
	most := int64(0)
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
		}
		most = max(most, residentBytes(t, all))
	}
	if most > 2*aheadBytes { // a look takes a while, and may see two windows
		t.Errorf("%d bytes were mapped at a time", most)
	}
	// What is in memory is left alone.
	d.ReadAhead(t.Context(), []shard.Span{{N: size}})
	if n := pagesInMemory(t, all); n != size/os.Getpagesize() {
		t.Errorf("%d pages are in memory", n)
	}
}
