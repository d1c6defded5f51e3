package wire

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const patience = time.Minute // of tests that wait for an event

// pair returns the two ends of a socket.
func pair(t *testing.T) (here, there *net.UnixConn) {
	t.Helper()
	dir, err := os.MkdirTemp("", "wire")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if there, err = net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr)); err != nil {
		t.Fatal(err)
	}
	if here, err = l.AcceptUnix(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = here.Close()
		_ = there.Close()
	})
	return here, there
}

// descriptors counts the open descriptors of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	return len(entries)
}

// eventually waits until holds reports true.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}
