package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

// A Server serves batches of the data sets that trainers ask for.
type Server struct {
	engine *engine
	limits wire.Limits // of each connection

	meetings *meetings

	mu          sync.Mutex
	connected   int
	full        bool        // and it was logged
	idle        *time.Timer // starts when the last client has left
	used        time.Time   // when it did
	ending      bool        // takes no connection any more
	connections sync.WaitGroup
}

// New returns a server. It opens nothing before a trainer asks.
func New(o Options) *Server {
	e := newEngine(o)
	return &Server{engine: e, meetings: newMeetings(), limits: wire.Limits{Timeout: e.FrameTimeout, Capacity: semaphore.NewWeighted(maxUnfinished)}}
}

// Snapshot describes what the engine does now.
func (s *Server) Snapshot() Snapshot { return s.engine.snapshot() }

// errIdle ends a server that has no connection.
var errIdle = errors.New("no trainer is connected any more")

// Serve accepts connections from l, and closes l. It returns when ctx ends, or when there has been
// no client for the grace period, after it closed everything. Call it once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if socket, ok := l.Addr().(*net.UnixAddr); ok {
		s.engine.dir, s.engine.socket = filepath.Dir(socket.Name), socket.Name
	}
	s.mu.Lock()
	s.used = time.Now()
	if s.engine.Grace >= 0 {
		s.idle = time.AfterFunc(s.engine.Grace, func() { s.expire(cancel) })
	}
	s.mu.Unlock()
	unlisten := sync.OnceValue(l.Close)
	stop := context.AfterFunc(ctx, func() {
		s.end()
		_ = unlisten()
	})
	err := s.accept(ctx, l)
	cancel(err)
	stop()
	s.end()
	err = errors.Join(err, unlisten())
	s.connections.Wait()
	s.engine.close()
	return err
}

// expire ends a server that still has no connection. A new connection does not stop the timer.
func (s *Server) expire(cancel context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connected == 0 {
		s.ending = true
		cancel(errIdle)
	}
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
	if s.idle != nil {
		s.idle.Stop()
	}
}

// acceptPause is the pause after accept failed, as it does without free descriptors.
const acceptPause = 50 * time.Millisecond

func (s *Server) accept(ctx context.Context, l net.Listener) error {
	for refused := false; ; {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return nil
		}
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		if err != nil {
			if !refused {
				s.engine.Logger.Error("a connection cannot be taken", "error", err)
			}
			refused = true
			select {
			case <-time.After(acceptPause):
			case <-ctx.Done():
			}
			continue
		}
		refused = false
		if err := s.begin(ctx, conn); err != nil {
			s.reject(conn, err)
		}
	}
}

// errEnding refuses connections to a server that ends.
var errEnding = errors.New("the engine takes no connections any more")

// begin starts the goroutine of a connection, unless the server stops or is full.
func (s *Server) begin(ctx context.Context, conn net.Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return errEnding
	}
	if limit := s.engine.MaxConnections; s.connected >= limit {
		err := wire.NewFailure(wire.KindInternal, "the engine has %d connections, the most that it takes: close data sets that are not used any more, "+
			"or use fewer torch workers", limit)
		if !s.full {
			s.engine.Logger.Error("a connection is refused", "error", err)
		}
		s.full = true
		return err
	}
	s.full = false
	s.connected++
	s.connections.Go(func() {
		client, err := s.serve(ctx, conn)
		if err != nil {
			_ = conn.Close()
			s.engine.Logger.Error("a connection is refused", "error", err)
		}
		s.left(client)
	})
	return nil
}

// reject closes a connection that was not started, and sends the trainer the reason. A trainer that
// connects to a stopping server only sees the close, and looks for the next engine.
func (s *Server) reject(conn net.Conn, err error) {
	if u, ok := conn.(*net.UnixConn); ok && !errors.Is(err, errEnding) {
		if t, failed := newSender(u, s.engine.Logger); failed == nil {
			t.refuse(err)
		}
	}
	_ = conn.Close()
}

// left starts the grace period after the last connection. It runs from the last client's end: what
// only asked whether the engine answers does not make it live longer.
func (s *Server) left(client bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connected--
	if client {
		s.used = time.Now()
	}
	if s.connected == 0 && s.idle != nil && !s.ending {
		s.idle.Reset(s.engine.Grace - time.Since(s.used))
	}
}

// serve serves a connection. It reports whether a client was there, which asked for data.
func (s *Server) serve(ctx context.Context, conn net.Conn) (client bool, err error) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return false, fmt.Errorf("%T is not a Unix socket", conn)
	}
	p, stranger := wire.CheckPeer(u)
	t, err := newSender(u, s.engine.Logger)
	if err != nil {
		return false, err
	}
	if stranger != nil {
		t.refuse(stranger)
		return false, stranger
	}
	stop := onDeath(p.PID, func() { _ = t.conn.CloseRead() })
	defer stop()
	welcome := wire.Welcome{Version: wire.Version, Build: s.engine.Build, PID: os.Getpid(), ID: s.engine.id, Log: s.engine.Log}
	c := newConnection(t, welcome, s.limits, s.meetings, s.engine)
	c.serve(ctx)
	return c.asked, nil
}
