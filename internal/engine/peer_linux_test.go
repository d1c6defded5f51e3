package engine

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

// dialAs connects as another user, by a thread that is that user until it ends.
func dialAs(t *testing.T, uid int, path string) (net.Conn, error) {
	t.Helper()
	type dialed struct {
		conn net.Conn
		err  error
	}
	done := make(chan dialed)
	go func() {
		runtime.LockOSThread() // and never unlocked, so the thread ends with the goroutine
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
			done <- dialed{nil, errno}
			return
		}
		conn, err := net.Dial("unix", path)
		done <- dialed{conn, err}
	}()
	d := <-done
	return d.conn, d.err
}

// Another user's process gets an error, and nothing else.
func TestServeRefusesOthers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	path := serveWares(t, wares(t, 1, 20, noImages), nil)
	if _, err := dialAs(t, 65534, path); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("the directory lets another user in: %v", err)
	}
	if err := errors.Join(os.Chmod(filepath.Dir(path), 0o755), os.Chmod(path, 0o666)); err != nil {
		t.Fatal(err)
	}
	conn, err := dialAs(t, 65534, path)
	if err != nil {
		t.Fatal(err)
	}
	c := &testClient{conn: conn.(*net.UnixConn), rings: map[uint32]*clientRing{}, held: map[uint64]*clientBatch{}}
	defer c.close()
	kind, payload, err := c.next()
	if err != nil || kind != wire.FrameError || !strings.Contains(string(payload), "belongs to user 65534") {
		t.Errorf("%v %s, error %v", kind, payload, err)
	}
	if _, _, err := c.next(); err == nil {
		t.Error("the connection stays")
	}
}
