package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

// A Store reads http:// and https:// addresses. Its methods are safe for concurrent use.
type Store struct {
	options   Options
	meters    driver.Meters
	outage    driver.Outage
	seen      driver.Seen
	transport func() (*http.Transport, error) // made at the first use

	mu      sync.Mutex
	servers map[string]*server // by origin
}

var (
	_ shard.Identifier = (*Store)(nil)
	_ shard.Remote     = (*Store)(nil)
	_ shard.Metered    = (*Store)(nil)
	_ io.Closer        = (*Store)(nil)
)

// New returns a store. It asks no server before the first use.
func New(o Options) *Store {
	s := &Store{options: o.withDefaults(), outage: driver.Outage{Note: o.Waiting}, servers: make(map[string]*server)}
	s.transport = sync.OnceValues(connect.Options{CABundle: o.CABundle, Proxy: o.Proxy}.Transport)
	return s
}

// at returns the server of an address.
func (s *Store) at(uri string) (address, *server, error) {
	a, err := parse(uri)
	if err != nil {
		return address{}, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	origin := strings.ToLower(a.origin)
	to := s.servers[origin]
	if to == nil {
		to = newServer(s, origin)
		s.servers[origin] = to
	}
	return a, to, nil
}

// List returns the shards of an address, which may have braces; see driver.Walk.
func (s *Store) List(ctx context.Context, pattern string) ([]shard.Shard, error) {
	a, to, err := s.at(pattern)
	if err != nil {
		return nil, wrap("list", pattern, err)
	}
	all, err := driver.Walk(ctx, &tree{server: to, address: a, looked: make(map[string]looked)}, a.path, driver.WalksAtOnce)
	if err != nil {
		return nil, wrap("list", pattern, err)
	}
	return all, nil
}

// Open returns an object of a shard. The look at the shard is left to the first read.
func (s *Store) Open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	a, to, err := s.at(sh.URI)
	switch {
	case ctx.Err() != nil:
		err = cause.Of(ctx)
	case err == nil && isDirectory(a.path):
		err = ErrUnlisted
	}
	if err != nil {
		return nil, wrap("open", sh.URI, err)
	}
	return &object{server: to, address: a, shard: sh, hole: maxHole}, nil
}

// OpenPinned returns an object of a shard that is read from a URL whose content never changes: only
// its size is compared. Up to hole bytes between two ranges are read over, and chunk bytes are
// worth a request, as of shard.Chunked. Errors name sh.URI.
func (s *Store) OpenPinned(ctx context.Context, location string, sh shard.Shard, hole, chunk int64) (shard.Object, error) {
	o, err := s.openAt(ctx, location, sh)
	if err != nil {
		return nil, err
	}
	o.pinned, o.hole, o.chunk = true, hole, chunk
	return o, nil
}

// OpenAt returns an object of a shard that is read from a URL. Errors name sh.URI.
func (s *Store) OpenAt(ctx context.Context, location string, sh shard.Shard) (shard.Object, error) {
	o, err := s.openAt(ctx, location, sh)
	if err != nil {
		return nil, err
	}
	return o, nil
}

func (s *Store) openAt(ctx context.Context, location string, sh shard.Shard) (*object, error) {
	a, to, err := s.at(location)
	if err == nil {
		err = cause.Of(ctx)
	}
	if err != nil {
		return nil, wrap("open", sh.URI, err)
	}
	return &object{server: to, address: a, shard: sh, hole: maxHole}, nil
}

// Identity returns the address without what does not matter to the server.
func (s *Store) Identity(uri string) string {
	a, err := parse(uri)
	if err != nil {
		return uri
	}
	return a.identity()
}

// parallelReads is how many objects to read at once: each waits for a network.
const parallelReads = 16

// Parallel is how many objects are best read at once.
func (s *Store) Parallel(string) int { return min(parallelReads, s.options.MaxRequests) }

// Traffic counts the requests to all servers so far.
func (s *Store) Traffic() shard.Traffic { return s.meters.Traffic() }

// ByStore measures the requests to each server.
func (s *Store) ByStore() []shard.StoreTraffic { return s.meters.ByStore() }

// Place is not told by web servers.
func (s *Store) Place(context.Context, shard.Shard) (shard.Placement, error) {
	return shard.Placement{}, errors.ErrUnsupported
}

// Explain looks at a file. Failures are facts too.
func (s *Store) Explain(ctx context.Context, uri string) ([]shard.Fact, error) {
	a, to, err := s.at(uri)
	if err != nil {
		return nil, wrap("explain", uri, err)
	}
	facts := []shard.Fact{{Name: "server", Value: a.origin}}
	say := func(name, format string, args ...any) {
		facts = append(facts, shard.Fact{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	if n := len(s.options.Headers); n > 0 {
		say("headers", "%d of your own", n)
	}
	if isDirectory(a.path) || strings.ContainsAny(a.path, "{*") {
		return facts, nil
	}
	found, _, err := to.look(ctx, a, a.path)
	switch {
	case err == nil && found.Kind == driver.KindFile:
		say("access", "the file has %d bytes, and the server serves ranges", found.Size)
		say("version", "%s", describe(found.Version))
	case err == nil:
		say("problem", "%v", ErrUnlisted)
	default:
		say("problem", "%v", err)
		if h := hint(err); h != "" {
			say("try", "%s", h)
		}
	}
	return facts, nil
}

// Close closes the idle connections.
func (s *Store) Close() error {
	if t, err := s.transport(); err == nil {
		t.CloseIdleConnections()
	}
	return nil
}
