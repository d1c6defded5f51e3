//go:build linux || darwin

package local

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/shard"
)

var page = os.Getpagesize()

// lend makes a file of pages of sevens and lends all of it.
func lend(t *testing.T, pages int) (path string, l shard.Lease, b []byte) {
	t.Helper()
	path = write(t, t.TempDir()+"/a.parquet", bytes.Repeat([]byte{7}, pages*page))
	l, ok, err := shard.Lend(openOne(t, path), 0, int64(pages*page))
	if !ok || err != nil {
		t.Fatalf("a lease: %v, %v", ok, err)
	}
	t.Cleanup(l.Release)
	return path, l, l.Bytes()
}

// TestTruncatedWhileTouched: the process survives, and the error has the sizes.
func TestTruncatedWhileTouched(t *testing.T) {
	path, l, b := lend(t, 64)
	touched := 0
	touch := func() error {
		for i := 0; i < len(b); i += page {
			if i == 10*page {
				if err := os.Truncate(path, 100); err != nil {
					return err
				}
			}
			if b[i] == 7 {
				touched++
			}
		}
		return nil
	}
	err := shard.Use(l, touch)
	if !errors.Is(err, shard.ErrChanged) {
		t.Fatalf("error %v", err)
	}
	want := path + ": read: changed since it was listed: was 262144 bytes, is 100"
	if page == 4096 && err.Error() != want {
		t.Fatalf("got  %q\nwant %q", err, want)
	}
	if touched != 10 {
		t.Fatalf("touched %d pages before the fault, want 10", touched)
	}
	if err := shard.Guard(touch); !errors.Is(err, shard.ErrChanged) {
		t.Fatalf("without the object: %v", err)
	}
}

// TestTruncatedUnderMany: several goroutines read views while the file goes away.
func TestTruncatedUnderMany(t *testing.T) {
	path, l, b := lend(t, 256)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			<-start
			for {
				err := shard.Use(l, func() error {
					if n := bytes.Count(b, []byte{7}); n != len(b) {
						return errors.New("zeros were read as data")
					}
					return nil
				})
				if err != nil {
					if !errors.Is(err, shard.ErrChanged) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	close(start)
	if err := os.Truncate(path, 0); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if err := l.Verify(shard.Span{}); !errors.Is(err, shard.ErrChanged) {
		t.Errorf("afterwards: %v", err)
	}
}

// TestOverwrittenUnderView: bytes that change in place are noticed after they were used.
func TestOverwrittenUnderView(t *testing.T) {
	path, l, b := lend(t, 1)
	err := shard.Use(l, func() error {
		write(t, path, bytes.Repeat([]byte{8}, page))
		if b[0] == 7 {
			return nil
		}
		return errors.New("looks corrupt")
	})
	if !errors.Is(err, shard.ErrChanged) {
		t.Fatalf("error %v", err)
	}
}

// TestSystemCallsOnTruncated: system calls given such bytes fail instead of faulting, which must
// not look like success.
func TestSystemCallsOnTruncated(t *testing.T) {
	path, _, b := lend(t, 4)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	null, err := os.Create(t.TempDir() + "/copy")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, err := null.Write(b); !errors.Is(err, syscall.EFAULT) {
		t.Fatalf("write of bytes that are gone: %v", err)
	}
}

func TestViewsAreReadOnly(t *testing.T) {
	_, _, b := lend(t, 1)
	if err := shard.Guard(func() error { b[0] = 1; return nil }); err == nil {
		t.Fatal("wrote to lent bytes")
	}
}

// TestNotAFile: pipes and directories are refused without waiting for anything.
func TestNotAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := unix.Mkfifo("pipe", 0o644); err != nil {
		t.Skip(err)
	}
	write(t, "a", nil)
	if got, want := list(t, "."), "./a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := list(t, "*"), "a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := list(t, "pipe"), "error: pipe: list: bad address: it is neither a file nor a directory"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, uri := range []string{"pipe", "."} {
		_, err := Store{}.Open(t.Context(), shard.Shard{URI: uri})
		if !errors.Is(err, shard.ErrBadURI) {
			t.Errorf("%s: %v", uri, err)
		}
	}
}
