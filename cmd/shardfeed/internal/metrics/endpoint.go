package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/internal/engine"
)

const (
	retryEvery  = 2 * time.Second // to listen
	headTimeout = 10 * time.Second
	idleTimeout = 2 * time.Minute
	maxHead     = 64 << 10
)

// An Endpoint serves metrics at an address. While another program has the address it waits: the
// engine of the job before may be about to end.
type Endpoint struct {
	address string
	log     *slog.Logger
	server  http.Server
	ctx     context.Context
	cancel  context.CancelFunc
	serving sync.WaitGroup

	mu      sync.Mutex
	url     string
	trouble error
}

// New returns an endpoint at an address of ParseAddress; nil without an address.
func New(address string, log *slog.Logger) *Endpoint {
	if address == "" {
		return nil
	}
	e := &Endpoint{address: address, log: log, server: http.Server{
		ReadHeaderTimeout: headTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHead, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e
}

// Start serves the metrics of snapshots, from its return on if the address is free. Call it once,
// and close the endpoint. A nil endpoint serves nothing.
func (e *Endpoint) Start(snapshot func() engine.Snapshot) {
	if e == nil {
		return
	}
	e.server.Handler = handler(snapshot)
	l := e.listen()
	e.serving.Go(func() { e.serve(l) })
}

// serve serves at l. While that is nil it tries to listen again.
func (e *Endpoint) serve(l net.Listener) {
	for ; l == nil; l = e.listen() {
		select {
		case <-e.ctx.Done():
			return
		case <-time.After(retryEvery):
		}
	}
	if err := e.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		e.log.Warn("metrics are not served any more", "error", err)
	}
}

// listen listens, or returns nil and warns of the first failure.
func (e *Endpoint) listen() net.Listener {
	l, err := (&net.ListenConfig{}).Listen(e.ctx, "tcp", e.address)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil {
		e.url, e.trouble = "http://"+l.Addr().String()+path, nil
		e.log.Info("metrics are served", "url", e.url)
		return l
	}
	if e.trouble == nil && e.ctx.Err() == nil {
		e.trouble = e.explain(err)
		e.log.Warn(e.trouble.Error())
	}
	return nil
}

// explain says why there are no metrics, and what to do.
func (e *Endpoint) explain(err error) error {
	if errors.Is(err, unix.EADDRINUSE) {
		return fmt.Errorf("metrics are not served yet: another engine or program listens at %s, and this engine waits until it is free; "+
			"give each job of a machine an address of its own in SHARDFEED_METRICS, or 127.0.0.1:0 for any free port, which shardfeed top shows", e.address)
	}
	return fmt.Errorf("metrics are not served yet, and this engine tries again: %w; set SHARDFEED_METRICS to an address of this machine, such as 127.0.0.1:9464", err)
}

// URL returns where the metrics are served now, or "" if they are not.
func (e *Endpoint) URL() string {
	if e == nil {
		return ""
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.url
}

// Trouble returns why the metrics are not served, or nil.
func (e *Endpoint) Trouble() error {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.trouble
}

// Close ends the scrapes under way.
func (e *Endpoint) Close() error {
	if e == nil {
		return nil
	}
	e.cancel()
	err := e.server.Close()
	e.serving.Wait()
	return err
}
