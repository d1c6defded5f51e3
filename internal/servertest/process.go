package servertest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// ReadyWithin is how long a server may take to answer for the first time.
const ReadyWithin = 60 * time.Second

// watcher runs "$@" until its own standard input ends, which it does with the process that holds
// the other end, even one that is killed. Then it kills the server and removes its directory. A
// server that ends early leaves the file "ended", with its exit code: a rename puts it there, so it
// is never seen empty.
const watcher = `
root=$1; shift
exec 3<&0
"$@" </dev/null 3<&- & server=$!
{ cat <&3; [ -e "$root/ended" ] || kill -9 "$server"; } >/dev/null & holder=$!
wait "$server" 2>/dev/null; echo $? >"$root/ending"; mv "$root/ending" "$root/ended"
wait "$holder"
rm -rf -- "$root"
`

// talker is the watcher of a server that takes commands on the same standard input, and ends with
// it. Its answers end when it does.
const talker = `
root=$1; shift
"$@"; echo $? >"$root/ending"; mv "$root/ending" "$root/ended"
exec >/dev/null
cat
rm -rf -- "$root"
`

// A process is a server under watch. It has no goroutine: stop waits for its end.
type process struct {
	root string // removed when it ends; holds log and data
	cmd  *exec.Cmd
	hold *os.File // the watcher's standard input
}

// newRoot makes a directory for a server: its watcher removes it.
func newRoot(name string) (string, error) {
	root, err := os.MkdirTemp("", "shardfeed-"+name+"-")
	if err != nil {
		return "", err
	}
	return root, os.Mkdir(data(root), 0o755)
}

// data is where a server under root keeps its files.
func data(root string) string { return filepath.Join(root, "data") }

// launch starts a program under a watcher. It writes to root's log, and its output to out, if set.
func launch(script, root string, env []string, out *os.File, args ...string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(root, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	in, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	cmd := exec.Command("sh", append([]string{"-c", script, "watcher", root}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, log, log
	if out != nil {
		cmd.Stdout = out
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt from the terminal is not the watcher's to die of
	if err := cmd.Start(); err != nil {
		hold.Close()
		return nil, err
	}
	return &process{root: root, cmd: cmd, hold: hold}, nil
}

// ready calls answers until it returns nil, the program ended, or ReadyWithin has passed.
func (p *process) ready(answers func() error) error {
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := answers()
		if err == nil {
			return nil
		}
		if err := p.ended(); err != nil {
			return err
		}
		if time.Since(start) > ReadyWithin {
			return fmt.Errorf("no answer within %v: %w: %s", ReadyWithin, err, p.logTail())
		}
	}
}

var errEnded = errors.New("the server ended")

// ended is nil while the program runs.
func (p *process) ended() error {
	code, err := os.ReadFile(filepath.Join(p.root, "ended"))
	if err != nil {
		return nil
	}
	return fmt.Errorf("%w with code %s: %s", errEnded, bytes.TrimSpace(code), p.logTail())
}

// logTail is the end of the program's output.
func (p *process) logTail() []byte {
	text, _ := os.ReadFile(filepath.Join(p.root, "log"))
	return text[max(0, len(text)-2000):]
}

// stop ends the program and waits until its files are gone.
func (p *process) stop() {
	p.hold.Close()
	p.cmd.Wait() // its exit code says nothing: it was killed
}

// NoListener returns an address without a listener.
func NoListener(t testing.TB) string {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// freePort is a loopback port that nothing listens on at the moment. The kernel gives higher ports
// to outgoing connections, which could take one of these before its server listens.
func freePort() (int, error) {
	const first, end, tries = 16384, 32768, 100
	var err error
	for range tries {
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(end-first))); err == nil {
			return l.Addr().(*net.TCPAddr).Port, l.Close()
		}
	}
	return 0, err
}
