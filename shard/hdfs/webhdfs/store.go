package webhdfs

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
	"github.com/shardfeed/shardfeed/shard/hdfs/krb"
)

// A Store reads webhdfs:// and swebhdfs:// addresses.
type Store struct {
	options Options

	outage driver.Outage
	seen   driver.Seen

	meters driver.Meters
	asking sync.WaitGroup // of the KDC

	// What is read once, at the first use.
	transport func() (*http.Transport, error)
	tokens    func() (*tokenFile, error)

	mu       sync.Mutex
	clusters map[string]*cluster // by their bases
}

var (
	_ shard.Identifier = (*Store)(nil)
	_ shard.Remote     = (*Store)(nil)
	_ shard.Metered    = (*Store)(nil)
	_ io.Closer        = (*Store)(nil)
)

// parallelReads is how many objects to read at once: each read waits for a namenode and a datanode.
const parallelReads = 16

// New returns a store. It reads no file and asks no server before the first use.
func New(o Options) *Store {
	s := &Store{
		options: o.withDefaults(), outage: driver.Outage{Note: o.Waiting},
		clusters: make(map[string]*cluster),
	}
	s.transport = sync.OnceValues(connect.Options{CABundle: s.options.CABundle, Proxy: s.options.Proxy}.Transport)
	s.tokens = sync.OnceValues(func() (*tokenFile, error) { return loadTokens(s.options.TokenFile) })
	return s
}

func (s *Store) kerberos() (*krb.Source, error) {
	_, source, err := s.options.Setup()
	return source, err
}

func (s *Store) cluster(uri string) (address, *cluster, error) {
	a, err := parse(uri, s.options.Gateway)
	if err != nil {
		return address{}, nil, err
	}
	configuration, _, err := s.options.Setup()
	if err != nil {
		return address{}, nil, err
	}
	bases, err := a.bases(configuration)
	if err != nil {
		return address{}, nil, err
	}
	c, err := s.at(bases)
	if err == nil && !strings.Contains(a.authority, ":") {
		s.serve(c, a.authority)
	}
	return a, c, err
}

func (s *Store) at(bases []string) (*cluster, error) {
	if len(bases) == 0 {
		return nil, fmt.Errorf("%w: no server is known", shard.ErrBadURI)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.Join(bases, " ")
	if c, ok := s.clusters[key]; ok {
		return c, nil
	}
	c, err := newCluster(s, bases)
	if err == nil {
		s.clusters[key] = c
	}
	return c, err
}

// serve notes the nameservice of a cluster's servers, by which tokens are kept.
func (s *Store) serve(c *cluster, service string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range c.bases {
		b.service = service
	}
}

func (s *Store) serviceOf(b *base) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return b.service
}

// List returns the shards that an address or a pattern names; see driver.Walk.
func (s *Store) List(ctx context.Context, pattern string) ([]shard.Shard, error) {
	a, c, err := s.cluster(pattern)
	if err != nil {
		return nil, wrap("list", pattern, err)
	}
	t := &tree{cluster: c, prefix: a.prefix, listing: driver.NewListing(s.options.Listed)}
	all, err := driver.Walk(ctx, t, a.path, driver.WalksAtOnce)
	if err != nil {
		return nil, wrap("list", pattern, err)
	}
	return all, nil
}

// Above returns the directories around an address.
func (s *Store) Above(address string) []string {
	a, err := parse(address, s.options.Gateway)
	if err != nil {
		return nil
	}
	return driver.Above(a.prefix, clean(a.path))
}

// TableAt reports the table whose root is a directory.
func (s *Store) TableAt(ctx context.Context, dir string) (shard.Table, error) {
	a, c, err := s.cluster(dir)
	if err != nil {
		return shard.Table{}, wrap("list", dir, err)
	}
	t := &tree{cluster: c, prefix: a.prefix, listing: driver.NewListing(s.options.Listed)}
	table, err := driver.TableAt(ctx, t, a.path)
	if err != nil {
		return shard.Table{}, wrap("list", dir, err)
	}
	return table, nil
}

// Open returns an object of a shard. The look at the shard is left to the first read.
func (s *Store) Open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	a, c, err := s.cluster(sh.URI)
	if err == nil {
		err = cause.Of(ctx)
	}
	if err != nil {
		return nil, wrap("open", sh.URI, err)
	}
	return newObject(c, clean(a.path), sh), nil
}

// OpenAt returns an object of a shard that is read from servers given as "http://host:port", at a
// path within HDFS. Errors name sh.URI.
func (s *Store) OpenAt(ctx context.Context, bases []string, path string, sh shard.Shard) (shard.Object, error) {
	c, err := s.at(bases)
	if err == nil {
		err = cause.Of(ctx)
	}
	if err != nil {
		return nil, wrap("open", sh.URI, err)
	}
	return newObject(c, clean(path), sh), nil
}

// Identity returns the address with a clean path, including the gateway's path and the scheme,
// since these may select other servers.
func (s *Store) Identity(uri string) string {
	a, err := parse(uri, s.options.Gateway)
	if err != nil {
		return uri
	}
	return strings.ToLower(a.prefix) + clean(a.path)
}

// Parallel is how many objects are best read at once.
func (s *Store) Parallel(string) int { return min(parallelReads, s.options.MaxRequests) }

// Traffic counts the requests to all servers so far.
func (s *Store) Traffic() shard.Traffic { return s.meters.Traffic() }

// ByStore measures the requests to each cluster, under the name of its first server.
func (s *Store) ByStore() []shard.StoreTraffic { return s.meters.ByStore() }

// Close closes the idle connections, and waits for what is asked of the KDC.
func (s *Store) Close() error {
	s.asking.Wait()
	t, err := s.transport()
	if err == nil {
		t.CloseIdleConnections()
	}
	return nil
}

func wrap(op, uri string, err error) error {
	if e := (*shard.Error)(nil); errors.As(err, &e) { // of driver.Walk, which knows the path
		if e.Hint == "" {
			e.Hint = hint(err)
		}
		return err
	}
	return &shard.Error{Op: op, URI: uri, Err: err, Hint: hint(err)}
}

func hint(err error) string {
	if known, ok := errors.AsType[*hinted](err); ok {
		return known.hint
	}
	_, ticket := errors.AsType[*krb.Error](err)
	remote, ok := errors.AsType[*remoteError](err)
	switch {
	case ticket:
		return "" // it holds its own
	case errors.Is(err, errNoAPI):
		return "is this the web port of a namenode (9870, 9871 for https), or does a gateway's path belong in front of /webhdfs/v1?"
	case ok && remote.Exception == "InvalidToken":
		return "the delegation token has expired or was cancelled: get a new one"
	case ok && remote.Status == http.StatusUnauthorized:
		return "the server did not take the credentials"
	case ok && remote.Exception == "SafeModeException":
		return "the namenode is in safe mode"
	case errors.Is(err, errForeign):
		return "a proxy, a login page or another service answers in place of the cluster: see the address and http_proxy"
	case errors.Is(err, ErrUnfinished):
		return "wait until its writer closes it, or leave it out; where the writer died, hdfs debug recoverLease closes it"
	case connect.IsUnreachable(err):
		return "see whether the server's web port, or the proxy, can be reached from here; shardfeed doctor tries it"
	}
	return ""
}
