package feed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// A Server serves the batches of the data sets that trainers ask for.
type Server struct {
	options Options
	engine  *engine
	open    opener
	limits  frameLimits // of each connection

	mu          sync.Mutex
	connected   int
	full        bool        // and it was logged
	idle        *time.Timer // begins when the last one has left
	ending      bool        // no connection is taken any more
	connections sync.WaitGroup
}

// New returns a server. It opens nothing before a trainer asks.
func New(o Options) *Server {
	e := newEngine(o)
	limits := frameLimits{time: e.FrameTime, capacity: semaphore.NewWeighted(maxUnfinished)}
	return &Server{options: e.Options, engine: e, limits: limits, open: func(ctx context.Context, h Hello, o Open, told func(Progress)) (handler, Opened, error) {
		s, opened, err := e.open(ctx, h, o, told)
		if err != nil {
			return nil, Opened{}, err
		}
		return s, opened, nil
	}}
}

// errIdle is why a server ends that nobody needs.
var errIdle = errors.New("nobody is connected any more")

// Serve takes connections from l, which it closes, until ctx ends or nobody has been connected for the grace period. When it returns, all
// that was opened is closed. It is called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	if s.options.Grace >= 0 {
		s.idle = time.AfterFunc(s.options.Grace, func() { s.expire(cancel) })
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

// expire ends a server that nobody has come back to. The timer is not stopped when somebody does.
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

// acceptPause is the time after a refusal of the system, which has no descriptors left.
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
				s.options.Logger.Error("a connection cannot be taken", "error", err)
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
			s.turnAway(conn, err)
		}
	}
}

// errEnding is why a server that ends takes no connection.
var errEnding = errors.New("the engine takes no connections any more")

// begin gives a connection its goroutine, unless the server ends or has as many as it takes.
func (s *Server) begin(ctx context.Context, conn net.Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return errEnding
	}
	if limit := s.options.MaxConnections; s.connected >= limit {
		err := newFailure(KindInternal, "the engine has %d connections, the most that it takes: close data sets that are not used any more, "+
			"or use fewer torch workers", limit)
		if !s.full {
			s.options.Logger.Error("a connection is refused", "error", err)
		}
		s.full = true
		return err
	}
	s.full = false
	s.connected++
	s.connections.Go(func() {
		defer s.left()
		if err := s.serve(ctx, conn); err != nil {
			_ = conn.Close()
			s.options.Logger.Error("a connection is refused", "error", err)
		}
	})
	return nil
}

// turnAway closes a connection that was not begun, and tells the trainer why. One that comes to an engine that ends sees it close,
// and looks for the next engine.
func (s *Server) turnAway(conn net.Conn, err error) {
	if u, ok := conn.(*net.UnixConn); ok && !errors.Is(err, errEnding) {
		if t, failed := newTrainer(u, s.options.Logger); failed == nil {
			t.refuse(err)
		}
	}
	_ = conn.Close()
}

// left begins the grace period after the last connection.
func (s *Server) left() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connected--
	if s.connected == 0 && s.idle != nil && !s.ending {
		s.idle.Reset(s.options.Grace)
	}
}

func (s *Server) serve(ctx context.Context, conn net.Conn) error {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("%T is no Unix socket", conn)
	}
	t, err := newTrainer(u, s.options.Logger)
	if err != nil {
		return err
	}
	p, err := checkPeer(u)
	if err != nil {
		t.refuse(err)
		return err
	}
	stop := onDeath(p.pid, func() { _ = u.CloseRead() })
	defer stop()
	welcome := Welcome{Version: Version, Build: s.options.Build, PID: os.Getpid(), Log: s.options.Log}
	newConnection(t, welcome, s.limits, s.open).serve(ctx)
	return nil
}
