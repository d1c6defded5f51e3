package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

// checkTimeout is how long an engine may take to answer a check.
const checkTimeout = 5 * time.Second

// ErrNoEngine is a socket at which no engine listens.
var ErrNoEngine = errors.New("no engine listens there")

// Check greets the engine that listens at path and returns its welcome. It is an error that no
// engine answers there within 5 s, or one of another protocol version. The engine's grace period
// goes on: a check is not a client.
func Check(ctx context.Context, path string) (wire.Welcome, error) {
	return visit(ctx, path, func(net.Conn, *wire.Reader) error { return nil })
}

// visit greets the engine that listens at path, and then talks to it.
func visit(ctx context.Context, path string, talk func(net.Conn, *wire.Reader) error) (wire.Welcome, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return wire.Welcome{}, fmt.Errorf("%s: %w", path, unreachable(path, err))
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	frames := wire.NewReader(conn)
	w, err := greet(conn, &frames)
	if err == nil {
		err = talk(conn, &frames)
	}
	_ = conn.Close()
	if err != nil {
		return wire.Welcome{}, fmt.Errorf("%s: %w", path, unanswered(ctx, err))
	}
	return w, nil
}

// unreachable describes why no connection to a socket can be made, by the file at its path.
func unreachable(path string, err error) error {
	info, missing := os.Stat(path)
	switch {
	case len(path) > maxSocket:
		return fmt.Errorf("longer than the %d bytes that a socket's path may have", maxSocket)
	case errors.Is(missing, fs.ErrNotExist):
		return fmt.Errorf("%w: there is no such file", ErrNoEngine)
	case missing == nil && info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%w but %s", errNotSocket, kindOfFile(info.Mode()))
	case errors.Is(err, unix.ECONNREFUSED):
		return fmt.Errorf("%w: connection refused, its engine has ended", ErrNoEngine)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("no connection within %v", checkTimeout)
	}
	var sys *os.SyscallError
	if errors.As(err, &sys) {
		return sys
	}
	return err
}

// greet sends HELLO and reads the answer.
func greet(conn net.Conn, frames *wire.Reader) (w wire.Welcome, err error) {
	hello, err := wire.AppendMessage(nil, wire.FrameHello, wire.Hello{Version: wire.Version, PID: os.Getpid()})
	if err != nil {
		return w, err
	}
	if _, err := conn.Write(hello); err != nil {
		return w, err
	}
	err = answerOf(frames, wire.FrameWelcome, &w)
	if err == nil && w.Version != wire.Version {
		err = fmt.Errorf("the engine speaks version %d of the protocol, this program %d; install one version of shardfeed for both", w.Version, wire.Version)
	}
	return w, err
}

// answerOf reads the engine's answer, which must be of a kind, into v.
func answerOf(frames *wire.Reader, want wire.FrameKind, v any) error {
	kind, payload, err := frames.Next()
	if err != nil {
		return err
	}
	switch kind {
	case want:
		return wire.Decode(kind, payload, false, v)
	case wire.FrameError:
		var f wire.Failure
		if err := wire.Decode(kind, payload, false, &f); err != nil {
			return err
		}
		return fmt.Errorf("the engine refuses: %w", &f)
	}
	return wire.ProtocolError("%v where %v has to be", kind, want)
}

// unanswered says why a greeting got no welcome.
func unanswered(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("no answer within %v", checkTimeout)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, io.EOF), errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.EPIPE):
		return errors.New("the connection was closed without an answer")
	case errors.Is(err, wire.ErrProtocol):
		return fmt.Errorf("what answers there is not an engine: %w", err)
	}
	return err
}
