package s3

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/semaphore"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// A Store lists and opens objects of buckets. Its methods are safe for concurrent use.
type Store struct {
	o        Options
	clients  clients
	meters   driver.Meters
	outage   driver.Outage
	seen     driver.Seen
	pageKeys int32 // keys per page of a list; 0 for the server's default
	loans    shard.Loans[*Store]
	lentBy   *Store // of a store with borrowed credentials; else nil
}

var (
	_ shard.Identifier = (*Store)(nil)
	_ shard.Remote     = (*Store)(nil)
	_ shard.Metered    = (*Store)(nil)
	_ shard.Borrower   = (*Store)(nil)
	_ io.Closer        = (*Store)(nil)
)

// New returns a store. It reads no file and asks no server before the first use; what is wrong with
// the options is said then.
func New(o Options) *Store {
	return &Store{o: o.withDefaults(), outage: driver.Outage{Note: o.Events.Waiting}, clients: clients{
		outside: semaphore.NewWeighted(1), endpoints: make(map[string]*endpoint), regions: make(map[string]region),
	}}
}

// List returns the shards of an address or a pattern; see driver.Walk. The keys below a directory
// are listed in pages, several pages at a time if there are many.
func (s *Store) List(ctx context.Context, pattern string) ([]shard.Shard, error) {
	if _, err := parse(pattern); err != nil {
		return nil, &shard.Error{Op: listing.op, URI: pattern, Err: err}
	}
	_, rest := shard.SplitScheme(pattern)
	return driver.Walk(ctx, newTree(s.of(pattern), pattern[:len(pattern)-len(rest)]), rest, driver.WalksAtOnce)
}

// Open returns an object that reads one shard at the version that it was listed with. It sends no
// request: what is wrong with the shard comes from the first read.
func (s *Store) Open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	at, err := parse(sh.URI)
	switch {
	case ctx.Err() != nil:
		err = cause.Of(ctx)
	case err == nil && at.key == "":
		err = fmt.Errorf("%w: it names a bucket, not an object", shard.ErrBadURI)
	}
	if err != nil {
		return nil, &shard.Error{Op: opening.op, URI: sh.URI, Err: err}
	}
	return &object{store: s.of(sh.URI), shard: sh, at: at}, nil
}

// Identity is the address with scheme s3, as s3a and s3n are the same.
func (s *Store) Identity(uri string) string {
	l, err := parse(uri)
	if err != nil {
		return uri
	}
	return l.identity()
}

// Above returns the directories around an address, up to its bucket.
func (s *Store) Above(address string) []string {
	scheme, rest := shard.SplitScheme(address)
	return driver.Above(scheme+"://", rest)
}

// TableAt reports the table whose root is a directory.
func (s *Store) TableAt(ctx context.Context, dir string) (shard.Table, error) {
	_, rest := shard.SplitScheme(dir)
	return driver.TableAt(ctx, newTree(s.of(dir), dir[:len(dir)-len(rest)]), rest)
}

// parallelReads keep the network busy: a connection to S3 carries some 60 to 90 MB/s.
const parallelReads = 64

// Parallel is the same for all addresses, within the window.
func (s *Store) Parallel(string) int { return min(parallelReads, s.o.MaxRequests) }

// Traffic counts the requests to all endpoints so far.
func (s *Store) Traffic() shard.Traffic { return s.meters.Traffic() }

// ByStore measures the requests to each bucket.
func (s *Store) ByStore() []shard.StoreTraffic { return s.meters.ByStore() }

func (s *Store) meter(bucket string) *driver.Meter {
	if s.lentBy != nil {
		return s.lentBy.meter(bucket)
	}
	return s.meters.Of("s3://" + bucket)
}

// Place is not told by buckets.
func (s *Store) Place(context.Context, shard.Shard) (shard.Placement, error) {
	return shard.Placement{}, errors.ErrUnsupported
}

func (s *Store) payer() types.RequestPayer {
	if s.o.RequesterPays {
		return types.RequestPayerRequester
	}
	return ""
}

// Close ends idle connections. A store that is used again connects again.
func (s *Store) Close() error {
	for _, lent := range s.loans.All() {
		_ = lent.Close() // never an error
	}
	if ses := s.clients.current(); ses != nil {
		ses.close()
	}
	return nil
}
