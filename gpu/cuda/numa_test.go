//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/internal/fakecuda"
)

// sysfs is a folder that says on which NUMA node the fake's device is; "" says nothing.
func sysfs(t *testing.T, node string) string {
	t.Helper()
	root := t.TempDir()
	if node == "" {
		return root
	}
	dir := filepath.Join(root, "bus/pci/devices/0000:3a:00.0")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "numa_node"), []byte(node), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestNode looks at the memory policy of the thread that page-locked memory is asked for on, and at
// what is left of it afterwards.
func TestNode(t *testing.T) {
	for _, c := range []struct {
		text  string
		node  int
		asked int // node that the thread prefers when the driver is called
	}{
		{text: "0\n", node: 0, asked: 0},
		{text: "-1\n", node: -1, asked: -1},
		{text: "", node: -1, asked: -1},
		{text: "first\n", node: -1, asked: -1},
		{text: "5000\n", node: -1, asked: -1},
		{text: "1023\n", node: 1023, asked: -1}, // the machine has no such node: then not
	} {
		t.Run(c.text, func(t *testing.T) {
			f := fakecuda.Open(t)
			r := &rig{T: t, fake: f}
			driver, err := load(f.Library, sysfs(t, c.text))
			r.must(err)
			r.driver = driver
			dev := r.open(0)
			if dev.Info().Node != c.node {
				t.Errorf("node %d, want %d", dev.Info().Node, c.node)
			}
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			before := policy(t)
			r.host(dev, 4096)
			if after := policy(t); after != before {
				t.Errorf("the thread's policy was %d and is %d", before, after)
			}
			log := f.Log()
			if call := log[len(log)-1]; call.Op != "cuMemHostAlloc" || call.Node != c.asked {
				t.Errorf("%+v: the thread preferred node %d, want %d", call, call.Node, c.asked)
			}
		})
	}
}

// TestNodeRestored asks on a thread that has a policy of its own.
func TestNodeRestored(t *testing.T) {
	f := fakecuda.Open(t)
	r := &rig{T: t, fake: f}
	driver, err := load(f.Library, sysfs(t, "0\n"))
	r.must(err)
	r.driver = driver
	dev := r.open(0)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const interleave = 3
	defer preferNode(0)()
	mask := nodeMask{1}
	if errno := memoryPolicy(unix.SYS_SET_MEMPOLICY, interleave, uintptr(unsafe.Pointer(&mask)), maxNodes+1, 0, 0); errno != 0 {
		t.Skip("SKIPPED: set_mempolicy:", errno)
	}
	r.host(dev, 4096)
	if mode := policy(t); mode != interleave {
		t.Errorf("the thread's policy is %d, want its own, %d", mode, interleave)
	}
}

// policy is the mode of the thread's memory policy.
func policy(t *testing.T) int32 {
	t.Helper()
	var mode int32
	if errno := memoryPolicy(unix.SYS_GET_MEMPOLICY, uintptr(unsafe.Pointer(&mode)), 0, 0, 0, 0); errno != 0 {
		t.Skip("SKIPPED: get_mempolicy:", errno)
	}
	return mode
}
