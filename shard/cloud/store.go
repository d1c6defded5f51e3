package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/driver/bucket"
	"github.com/shardfeed/shardfeed/shard/web"
)

// Options define the store of a service.
type Options struct {
	// Locate cuts an address without its scheme into its parts. Its errors are shard.ErrBadURI.
	Locate func(path string) (bucket.Location, error)
	// Start reads the settings, at the first use. It asks no server.
	Start func() (Service, error)
	// Lend returns a store that reads what is below a place with credentials that a catalog lends,
	// or errors.ErrUnsupported.
	Lend func(at bucket.Location, first shard.Credentials, renew shard.Renew) (*Store, error)

	Web    web.Options
	Listed func(n int) // called with the shards found so far by the list under way; may be nil
}

// Requests in flight to one service: as for S3.
const (
	firstRequests = 64
	mostRequests  = 128
	parallelReads = 64
)

// A Store reads the objects of a service. Its methods are safe for concurrent use.
type Store struct {
	options Options
	start   func() (client, error)
	started atomic.Pointer[web.Store] // nil before the first use
	loans   shard.Loans[*Store]       // by bucket and key
}

// A client makes the requests to a service.
type client struct {
	Service
	web *web.Store
}

var (
	_ shard.Identifier = (*Store)(nil)
	_ shard.Remote     = (*Store)(nil)
	_ shard.Metered    = (*Store)(nil)
	_ shard.TableStore = (*Store)(nil)
	_ shard.Borrower   = (*Store)(nil)
	_ io.Closer        = (*Store)(nil)
)

// New returns a store. It reads no file and asks no server before the first use.
func New(o Options) *Store {
	s := &Store{options: o}
	s.start = sync.OnceValues(func() (client, error) {
		service, err := o.Start()
		if err != nil {
			return client{}, err
		}
		requests := o.Web
		requests.Protocol = service
		requests.FirstRequests, requests.MaxRequests = firstRequests, mostRequests
		c := client{service, web.New(requests)}
		s.started.Store(c.web)
		return c, nil
	})
	return s
}

// find returns the client, and where an address is.
func (s *Store) find(address string) (c client, at bucket.Location, err error) {
	_, path := shard.SplitScheme(address)
	if at, err = s.options.Locate(path); err != nil {
		return c, at, err
	}
	if lent, ok := s.loans.Of(at.Bucket + "/" + at.Key); ok {
		s = lent
	}
	c, err = s.start()
	return c, at, err
}

// Borrow makes the store use a catalog's credentials below a prefix, by a store of their own.
func (s *Store) Borrow(prefix string, first shard.Credentials, renew shard.Renew) error {
	_, path := shard.SplitScheme(prefix)
	at, err := s.options.Locate(path)
	if err != nil {
		return &shard.Error{Op: "borrow", URI: prefix, Err: err}
	}
	lent, err := s.options.Lend(at, first, renew)
	if err != nil {
		return err
	}
	s.loans.Add(at.Bucket+"/"+at.Key, lent)
	return nil
}

// servers returns the store's own requests so far, and those with borrowed credentials.
func (s *Store) servers() (all []*web.Store) {
	for _, one := range append(s.loans.All(), s) {
		if started := one.started.Load(); started != nil {
			all = append(all, started)
		}
	}
	return all
}

// tree returns the tree of an address, and the address without its scheme.
func (s *Store) tree(address string) (t *bucket.Tree, path string, err error) {
	c, _, err := s.find(address)
	if err != nil {
		return nil, "", err
	}
	_, path = shard.SplitScheme(address)
	prefix := strings.TrimSuffix(address, path)
	return bucket.NewTree(&source{s.options.Locate, c, prefix}, prefix, driver.NewListing(s.options.Listed)), path, nil
}

// List returns the shards of an address or a pattern; see driver.Walk.
func (s *Store) List(ctx context.Context, pattern string) ([]shard.Shard, error) {
	t, path, err := s.tree(pattern)
	if err != nil {
		return nil, &shard.Error{Op: "list", URI: pattern, Err: err}
	}
	return driver.Walk(ctx, t, path, driver.WalksAtOnce)
}

// Open returns an object of a shard. It sends no request.
func (s *Store) Open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	o, err := s.open(ctx, sh)
	if err != nil {
		return nil, &shard.Error{Op: "open", URI: sh.URI, Err: err}
	}
	return o, nil
}

func (s *Store) open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	if ctx.Err() != nil {
		return nil, cause.Of(ctx)
	}
	c, at, err := s.find(sh.URI)
	if err == nil && at.Key == "" {
		err = fmt.Errorf("%w: it names no object", shard.ErrBadURI)
	}
	if err != nil {
		return nil, err
	}
	location, err := c.Object(at, sh.Version)
	if err != nil {
		return nil, err
	}
	o, err := c.web.OpenAt(ctx, location, sh)
	if err != nil {
		return nil, err
	}
	return &object{o.(rangeObject), c, at, sh}, nil
}

// Identity is the object's URL, which all spellings of its address share.
func (s *Store) Identity(uri string) string {
	c, at, err := s.find(uri)
	if err != nil {
		return uri
	}
	location, err := c.Object(at, "")
	if err != nil {
		return uri
	}
	return location
}

// Above returns the directories around an address, up to its bucket.
func (s *Store) Above(address string) []string {
	scheme, rest := shard.SplitScheme(address)
	return driver.Above(scheme+"://", rest)
}

// TableAt reports the table whose root is a directory.
func (s *Store) TableAt(ctx context.Context, dir string) (shard.Table, error) {
	t, path, err := s.tree(dir)
	if err != nil {
		return shard.Table{}, err
	}
	return driver.TableAt(ctx, t, path)
}

// Parallel is the same for all addresses.
func (s *Store) Parallel(string) int { return parallelReads }

// Traffic counts the requests so far.
func (s *Store) Traffic() (sum shard.Traffic) {
	for _, server := range s.servers() {
		sum = sum.Add(server.Traffic())
	}
	return sum
}

// ByStore measures the requests to each server.
func (s *Store) ByStore() (all []shard.StoreTraffic) {
	for _, server := range s.servers() {
		for _, one := range server.ByStore() {
			i := slices.IndexFunc(all, func(other shard.StoreTraffic) bool { return other.Store == one.Store })
			if i < 0 {
				all = append(all, one)
				continue
			}
			all[i] = all[i].Merge(one)
		}
	}
	return all
}

// Place is not told by clouds.
func (s *Store) Place(context.Context, shard.Shard) (shard.Placement, error) {
	return shard.Placement{}, errors.ErrUnsupported
}

// Explain describes the settings, and lists one name. Failures are facts too.
func (s *Store) Explain(ctx context.Context, uri string) ([]shard.Fact, error) {
	c, at, err := s.find(uri)
	if err != nil {
		return nil, &shard.Error{Op: "explain", URI: uri, Err: err}
	}
	facts := c.Facts()
	if _, err = c.page(ctx, bucket.Query{Bucket: at.Bucket, Prefix: at.Key, Level: true}); err == nil {
		return append(facts, shard.Fact{Name: "access", Value: "its names can be listed"}), nil
	}
	facts = append(facts, shard.Fact{Name: "problem", Value: err.Error()})
	if h := c.Hint(err); h != "" {
		facts = append(facts, shard.Fact{Name: "try", Value: h})
	}
	return facts, nil
}

// Close closes the idle connections.
func (s *Store) Close() error {
	var errs []error
	for _, server := range s.servers() {
		errs = append(errs, server.Close())
	}
	return errors.Join(errs...)
}

// wrap makes the error that a user reads, with the service's own hint.
func (c client) wrap(op, uri string, err error) error {
	e := (*shard.Error)(nil)
	if !errors.As(err, &e) {
		e = &shard.Error{Op: op, URI: uri, Err: err}
	}
	if h := c.Hint(e.Err); h != "" {
		e.Hint = h
	}
	return e
}
