package engine

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

// Files of a dead engine are in no engine's way. The next engine in the directory removes them.
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
	if got := names(t, dir); got != "a.sock a.sock.shardfeed-engine c.sock c.sock.shardfeed-engine" {
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

// Of many engines that begin at once, one wins; the others say so. When it goes, another can take
// its place at once.
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
	write(t, dir, map[string]string{"file": "rows"})
	if _, err := Listen(filepath.Join(dir, "file", "no", "a.sock")); err == nil || !strings.Contains(err.Error(), elsewhere) {
		t.Errorf("below a file: %v", err)
	}
	checkFiles(t, dir, map[string]string{"file": "rows"})
}

// An engine makes its directory, also in one that all may write to, as Kubernetes' emptyDir is. It
// refuses such a directory itself, says where to go, and leaves its mode.
func TestListenMakesItsDirectory(t *testing.T) {
	for _, mode := range []fs.FileMode{0o777, 0o777 | fs.ModeSetgid, 0o770} {
		volume := runtimeDir(t)
		if err := os.Chmod(volume, mode); err != nil {
			t.Fatal(err)
		}
		own := filepath.Join(volume, "engine")
		if _, err := Listen(filepath.Join(volume, "a.sock")); err == nil || !strings.Contains(err.Error(), "others may write to it") ||
			!strings.Contains(err.Error(), "such as "+own+", which serve makes") {
			t.Errorf("mode %v: %v", mode, err)
		}
		for _, dir := range []string{own, own, filepath.Join(volume, "some", "where")} {
			l, err := Listen(filepath.Join(dir, "a.sock"))
			if err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%s has mode %v, error %v", dir, info.Mode(), err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		if info, err := os.Stat(volume); err != nil || info.Mode().Perm() != mode.Perm() {
			t.Errorf("the volume had mode %v and has %v, error %v", mode, info.Mode(), err)
		}
	}
}

// An emptyDir belongs to root, whichever user mounts it.
func TestListenInAnothersDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives a directory to another user")
	}
	volume := runtimeDir(t)
	if err := errors.Join(os.Chown(volume, 12345, 12345), os.Chmod(volume, 0o777)); err != nil {
		t.Fatal(err)
	}
	want := "belongs to user 12345, not to user 0; name a directory below it, such as " + volume + "/engine, which serve makes"
	if _, err := Listen(filepath.Join(volume, "a.sock")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	l, err := Listen(filepath.Join(volume, "engine", "a.sock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// Engines that begin at once may find that another has made the directory.
func TestListenMakesItsDirectoryAtOnce(t *testing.T) {
	dir := filepath.Join(runtimeDir(t), "a", "b")
	var all sync.WaitGroup
	for k := range 8 {
		all.Go(func() {
			l, err := Listen(filepath.Join(dir, string(rune('a'+k))+".sock"))
			if err != nil {
				t.Error(err)
				return
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
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
	another := "/" // a directory of another user
	if os.Geteuid() == 0 {
		another = filepath.Join(base, "another")
		if err := errors.Join(os.Mkdir(another, 0o700), os.Chown(another, 1, 1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ own, xdg, tmp, want, refused string }{
		{own: base + "/mine", xdg: base, tmp: base, want: base + "/mine"},
		{xdg: base, tmp: base, want: base + "/shardfeed"},
		{tmp: base, want: base + "/shardfeed-"},
		{xdg: another, tmp: base, want: base + "/shardfeed-"},
		{own: file, tmp: base, refused: "not a directory"},
		{own: link, tmp: base, refused: "not a directory"},
		{own: open, tmp: base, refused: "others may write"},
		{own: base + "/some/where", tmp: base, want: base + "/some/where"},
		{own: file + "/where", tmp: base, refused: elsewhere},
		{xdg: base + "/no/where", tmp: base, refused: elsewhere},
	} {
		t.Run(c.xdg+c.want+c.refused, func(t *testing.T) {
			t.Setenv("SHARDFEED_RUNTIME_DIR", c.own)
			t.Setenv("XDG_RUNTIME_DIR", c.xdg)
			t.Setenv("TMPDIR", c.tmp)
			dir, err := Dir()
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("%+v: error %v", c, err)
				}
				return
			}
			info, e := os.Stat(dir)
			if err != nil || e != nil || !strings.HasPrefix(dir, c.want) || info.Mode().Perm() != 0o700 {
				t.Errorf("%+v: %s, error %v", c, dir, errors.Join(err, e))
			}
		})
	}
}

// write makes files of a name and a content.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func checkFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, error %v", name, got, err)
		}
	}
}

// deadSocket leaves a socket at which no program listens.
func deadSocket(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// An engine removes nothing in its directory that no engine made, whatever its name.
func TestListenLeavesOthersFiles(t *testing.T) {
	dir := runtimeDir(t)
	files := map[string]string{
		"resnet50": "weights", "resnet50.engine": "a TensorRT engine", "resnet50.new": "more weights",
		"empty": "data", "empty.engine": "", "empty.new": "data",
		"copy": "data", "copy" + markerSuffix: markerOf("another"),
		"model": "data", "model" + markerSuffix: "a file of the user's",
		"a.sock.new": "data", "a.sock.engine": "data", "beside.engine": "a TensorRT engine",
	}
	write(t, dir, files)
	sockets := []string{filepath.Join(dir, "foreign"), filepath.Join(dir, "beside")}
	for _, path := range sockets {
		deadSocket(t, path)
	}
	l, err := Listen(filepath.Join(dir, "a.sock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	checkFiles(t, dir, files)
	for _, path := range sockets {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}

// A marker of an engine's goes, and the file under its socket's name stays.
func TestListenMarkerOfAFile(t *testing.T) {
	dir := runtimeDir(t)
	write(t, dir, map[string]string{"data": "rows", "data" + markerSuffix: markerOf("data")})
	l, err := Listen(filepath.Join(dir, "a.sock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if got := names(t, dir); got != "data" {
		t.Errorf("left: %s", got)
	}
	checkFiles(t, dir, map[string]string{"data": "rows"})
}

// A path at which anything lies that no engine left is refused, and stays as it is.
func TestListenRefusesAnothersPath(t *testing.T) {
	for _, c := range []struct {
		name, says string
		make       func(t *testing.T, path string)
	}{
		{"file", "not a socket but a file", func(t *testing.T, path string) {
			write(t, filepath.Dir(path), map[string]string{filepath.Base(path): "rows"})
		}},
		{"empty file", "not a socket but a file", func(t *testing.T, path string) {
			write(t, filepath.Dir(path), map[string]string{filepath.Base(path): ""})
		}},
		{"file beside an engine's marker", "not a socket but a file", func(t *testing.T, path string) {
			name := filepath.Base(path)
			write(t, filepath.Dir(path), map[string]string{name: "rows", name + markerSuffix: markerOf(name)})
		}},
		{"directory", "not a socket but a directory", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}},
		{"link", "not a socket but a symbolic link", func(t *testing.T, path string) {
			if err := os.Symlink("nowhere", path); err != nil {
				t.Fatal(err)
			}
		}},
		{"dead socket", "no engine left", deadSocket},
		{"socket of another program", "another program listens", func(t *testing.T, path string) {
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
		}},
		{"datagram socket", "another program listens", func(t *testing.T, path string) {
			l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
		}},
		{"marker of another program", "not an engine's marker", func(t *testing.T, path string) {
			write(t, filepath.Dir(path), map[string]string{filepath.Base(path) + markerSuffix: "mine"})
		}},
		{"link as a marker", "not an engine's marker", func(t *testing.T, path string) {
			if err := os.Symlink("nowhere", path+markerSuffix); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := runtimeDir(t)
			path := filepath.Join(dir, "a.sock")
			c.make(t, path)
			before := names(t, dir)
			l, err := Listen(path)
			if err == nil {
				_ = l.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v", err)
			}
			if after := names(t, dir); after != before {
				t.Errorf("the directory had %s and has %s", before, after)
			}
			if content, err := os.ReadFile(path); err == nil && c.name != "empty file" && string(content) != "rows" {
				t.Errorf("the file has %q", content)
			}
		})
	}
}

// A marker that is empty, as a full disk leaves it, is an engine's under its reserved name.
func TestListenAfterAFullDisk(t *testing.T) {
	dir := runtimeDir(t)
	path := filepath.Join(dir, "a.sock")
	deadSocket(t, path)
	write(t, dir, map[string]string{"a.sock" + markerSuffix: ""})
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if got := names(t, dir); got != "" {
		t.Errorf("left: %s", got)
	}
}
