package feed

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// kept stands for a listener that a helper process holds until it is killed.
const kept = "SHARDFEED_TEST_LISTEN"

func TestHelperListen(t *testing.T) {
	path := os.Getenv(kept)
	if path == "" {
		t.Skip("not the helper")
	}
	if _, err := Listen(path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stdout.WriteString("listens\n"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
}

// listenElsewhere listens in another process, and returns what kills it.
func listenElsewhere(t *testing.T, path string) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=TestHelperListen$")
	cmd.Env = append(os.Environ(), kept+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(kill)
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	return kill
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func TestListen(t *testing.T) {
	dir := runtimeDir(t)
	path := filepath.Join(dir, "a.sock")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, error %v", info.Mode(), err)
	}
	if _, err := Listen(path); !errors.Is(err, ErrServing) {
		t.Errorf("a second one: %v", err)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if left := names(t, dir); left != "" {
		t.Errorf("left behind: %s", left)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v", err)
	}
	if l, err = Listen(path); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// What a dead engine left stands in nobody's way, and goes with the next engine that begins beside it.
func TestListenAfterDeath(t *testing.T) {
	dir := runtimeDir(t)
	path, beside, alive := filepath.Join(dir, "a.sock"), filepath.Join(dir, "b.sock"), filepath.Join(dir, "c.sock")
	kill := listenElsewhere(t, path)
	killBeside := listenElsewhere(t, beside)
	listenElsewhere(t, alive)
	if _, err := Listen(path); !errors.Is(err, ErrServing) {
		t.Errorf("where another lives: %v", err)
	}
	kill()
	killBeside()
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); got != "a.sock a.sock.engine c.sock c.sock.engine" {
		t.Errorf("the directory has %s", got)
	}
	if c, err := net.Dial("unix", alive); err != nil {
		t.Errorf("the living one: %v", err)
	} else {
		_ = c.Close()
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// Of many engines that begin at once, one wins; the others say so. When it goes, another can take its place at once.
func TestListenAtOnce(t *testing.T) {
	dir := runtimeDir(t)
	for range 20 {
		path := filepath.Join(dir, "a.sock")
		var mu sync.Mutex
		var won []net.Listener
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				l, err := Listen(path)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, l)
				} else if !errors.Is(err, ErrServing) {
					t.Errorf("%v", err)
				}
			})
		}
		all.Wait()
		if len(won) != 1 {
			t.Fatalf("%d engines won", len(won))
		}
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		if err := won[0].Close(); err != nil {
			t.Error(err)
		}
	}
}

// However engines begin and end, there is one at a time.
func TestListenChurn(t *testing.T) {
	path := filepath.Join(runtimeDir(t), "a.sock")
	var living, lived atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 300 {
				l, err := Listen(path)
				if errors.Is(err, ErrServing) {
					continue
				}
				if err != nil {
					t.Errorf("%v", err)
					return
				}
				if n := living.Add(1); n != 1 {
					t.Errorf("%d engines at once", n)
				}
				lived.Add(1)
				runtime.Gosched()
				living.Add(-1)
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if lived.Load() == 0 {
		t.Error("none lived")
	}
}

// An engine that ends does not take away another's socket.
func TestListenerClosesItsOwn(t *testing.T) {
	path := filepath.Join(runtimeDir(t), "a.sock")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the other's socket: %v", err)
	}
}

func TestListenRefused(t *testing.T) {
	dir := runtimeDir(t)
	if _, err := Listen(filepath.Join(dir, strings.Repeat("x", 200))); err == nil || !strings.Contains(err.Error(), "SHARDFEED_RUNTIME_DIR") {
		t.Errorf("a long path: %v", err)
	}
	if _, err := Listen(filepath.Join(dir, "no", "a.sock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(filepath.Join(dir, "a.sock")); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("a directory of everybody's: %v", err)
	}
}

func TestDir(t *testing.T) {
	base := runtimeDir(t)
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link, open := filepath.Join(base, "link"), filepath.Join(base, "open")
	if err := errors.Join(os.Symlink(base, link), os.Mkdir(open, 0o700), os.Chmod(open, 0o770)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ own, xdg, tmp, want, refused string }{
		{own: base + "/mine", xdg: base, tmp: base, want: base + "/mine"},
		{xdg: base, tmp: base, want: base + "/shardfeed"},
		{tmp: base, want: base + "/shardfeed-"},
		{own: file, tmp: base, refused: "not a directory"},
		{own: link, tmp: base, refused: "not a directory"},
		{own: open, tmp: base, refused: "others may write"},
		{own: base + "/no/where", tmp: base, refused: "SHARDFEED_RUNTIME_DIR names another place"},
	} {
		t.Setenv("SHARDFEED_RUNTIME_DIR", c.own)
		t.Setenv("XDG_RUNTIME_DIR", c.xdg)
		t.Setenv("TMPDIR", c.tmp)
		dir, err := Dir()
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%+v: error %v", c, err)
			}
			continue
		}
		info, e := os.Stat(dir)
		if err != nil || e != nil || !strings.HasPrefix(dir, c.want) || info.Mode().Perm() != 0o700 {
			t.Errorf("%+v: %s, error %v", c, dir, errors.Join(err, e))
		}
	}
}
