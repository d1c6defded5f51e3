package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/hdfs/conf"
	"github.com/shardfeed/shardfeed/shard/hdfs/webhdfs"
	"github.com/shardfeed/shardfeed/shard/hdfs/wire"
)

// A Store lists and opens files of HDFS. Make it with New, and Close it.
type Store struct {
	options  Options
	setup    func() (*setup, error) // read at the first use, once
	web      *webhdfs.Store         // of other addresses, and of files that are not read natively
	meters   driver.Meters
	transfer wire.Counters

	outage driver.Outage
	seen   driver.Seen

	mu       sync.Mutex
	clusters map[string]*cluster // by nameservice
	warned   map[string]bool
	closed   bool
}

var (
	_ shard.Identifier = (*Store)(nil)
	_ shard.Remote     = (*Store)(nil)
	_ shard.Metered    = (*Store)(nil)
	_ io.Closer        = (*Store)(nil)
)

// New returns a store. It reads no file and opens no connection before its first use.
func New(o Options) *Store {
	s := &Store{
		options: o.withDefaults(), outage: driver.Outage{Note: o.Events.Waiting},
		clusters: make(map[string]*cluster), warned: make(map[string]bool),
	}
	s.setup = sync.OnceValues(func() (*setup, error) { return newSetup(s.options) })
	s.web = s.newWeb(o.RetryFor)
	return s
}

// List returns the shards that an address or a pattern names; see driver.Walk. Hadoop's own names
// for no user's files, which start with a dot or an underscore, are skipped there.
func (s *Store) List(ctx context.Context, pattern string) ([]shard.Shard, error) {
	prefix, path, err := split(pattern)
	if err == nil {
		err = cause.Of(ctx)
	}
	if err != nil {
		return nil, &shard.Error{Op: "list", URI: pattern, Err: err}
	}
	if _, err := s.locate(prefix + "/"); err != nil && !errors.Is(err, conf.ErrMounts) && !errors.Is(err, shard.ErrNotExist) {
		return nil, wrap("list", pattern, err)
	}
	return driver.Walk(ctx, &tree{store: s, prefix: prefix, list: driver.NewListing(s.options.Events.Listed)}, path, driver.WalksAtOnce)
}

// Above returns the directories around an address.
func (s *Store) Above(address string) []string {
	prefix, path, err := split(address)
	if err != nil {
		return nil
	}
	return driver.Above(prefix, path)
}

// TableAt reports the table whose root is a directory.
func (s *Store) TableAt(ctx context.Context, dir string) (shard.Table, error) {
	prefix, path, err := split(dir)
	if err != nil {
		return shard.Table{}, wrap("list", dir, err)
	}
	t := &tree{store: s, prefix: prefix, list: driver.NewListing(s.options.Events.Listed)}
	table, err := driver.TableAt(ctx, t, path)
	if err != nil {
		return shard.Table{}, wrap("list", dir, err)
	}
	return table, nil
}

// Open opens one file at the size and version that sh carries. It sends no request, except for an
// empty file: the first read looks at the file in any case.
func (s *Store) Open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	o, err := s.open(ctx, sh)
	if err != nil {
		return nil, wrap("open", sh.URI, err)
	}
	return o, nil
}

func (s *Store) open(ctx context.Context, sh shard.Shard) (*object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := s.locate(sh.URI)
	if err != nil {
		return nil, err
	}
	o := &object{store: s, at: p, shard: sh}
	if sh.Size == 0 { // a file whose first block is being written looks empty, and no read will look at it
		return o, o.look(ctx)
	}
	return o, nil
}

// Parallel is how many streams the store keeps at a time.
func (s *Store) Parallel(string) int { return s.options.Slots }

// Traffic counts the requests of the store to namenodes and datanodes. Reads by WebHDFS count in
// that store.
func (s *Store) Traffic() shard.Traffic { return s.meters.Traffic() }

// ByStore measures the requests to each name service.
func (s *Store) ByStore() []shard.StoreTraffic { return s.meters.ByStore() }

func (s *Store) cluster(ns conf.Nameservice) (*cluster, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("the store is closed: %w", fs.ErrClosed)
	}
	c, ok := s.clusters[ns.Name]
	if !ok {
		c = newCluster(s, ns)
		s.clusters[ns.Name] = c
	}
	return c, nil
}

func (s *Store) warn(text string) {
	s.mu.Lock()
	said := s.warned[text]
	s.warned[text] = true
	s.mu.Unlock()
	if !said && s.options.Events.Warn != nil {
		s.options.Events.Warn(text)
	}
}

// Close closes all connections and waits for the store's goroutines. Objects are closed before;
// reads under way end with an error.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	clusters := s.clusters
	s.clusters = nil
	s.mu.Unlock()
	for _, c := range clusters {
		c.close()
	}
	err := s.web.Close()
	if setup, bad := s.setup(); bad == nil && setup.kerberos != nil {
		setup.kerberos.Close()
	}
	return err
}
