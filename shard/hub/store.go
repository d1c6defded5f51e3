package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
	"github.com/shardfeed/shardfeed/shard/web"
)

// A Store reads hf:// addresses. Its methods are safe for concurrent use.
type Store struct {
	options Options
	files   shard.Store // of this machine
	start   func() (client, error)
	started atomic.Pointer[web.Store] // nil before the first use
}

var (
	_ shard.Pinner  = (*Store)(nil)
	_ shard.Nearby  = (*Store)(nil)
	_ shard.Remote  = (*Store)(nil)
	_ shard.Metered = (*Store)(nil)
	_ io.Closer     = (*Store)(nil)
)

// A client makes the requests, by the settings as they were at the first use.
type client struct {
	settings
	web *web.Store
}

// New returns a store. Files of the hub's own client are read by the store of files of this
// machine. It reads no file and asks no server before the first use.
func New(o Options, files shard.Store) *Store {
	s := &Store{options: o, files: files}
	s.start = sync.OnceValues(func() (client, error) {
		found, err := o.settings()
		if err != nil {
			return client{}, err
		}
		requests := web.Options{CABundle: o.CABundle, RetryFor: o.RetryFor, Waiting: o.Waiting, PartSize: chunk}
		if found.token != "" {
			requests.Headers = http.Header{"Authorization": {"Bearer " + found.token}}
		}
		c := client{found, web.New(requests)}
		s.started.Store(c.web)
		return c, nil
	})
	return s
}

// Pin returns an address with the commit of its revision.
func (s *Store) Pin(ctx context.Context, pattern string) (string, error) {
	a, _, commit, err := s.at(ctx, pattern)
	if err != nil {
		return "", wrap("list", pattern, err)
	}
	return a.uri(commit, a.path), nil
}

// at returns the parts of an address, and its commit.
func (s *Store) at(ctx context.Context, pattern string) (a address, c client, commit string, err error) {
	if a, err = parse(pattern); err == nil {
		err = cause.Of(ctx)
	}
	if err == nil {
		c, err = s.start()
	}
	if err == nil {
		commit, err = c.commit(ctx, a)
	}
	return a, c, commit, err
}

// List returns the shards of an address or a pattern; see driver.Walk.
func (s *Store) List(ctx context.Context, pattern string) ([]shard.Shard, error) {
	all, err := s.list(ctx, pattern)
	if err != nil {
		return nil, wrap("list", pattern, err)
	}
	return all, nil
}

func (s *Store) list(ctx context.Context, pattern string) ([]shard.Shard, error) {
	a, c, commit, err := s.at(ctx, pattern)
	if err != nil {
		return nil, err
	}
	t := newTree(c, a, commit, driver.NewListing(s.options.Listed))
	all, err := driver.Walk(ctx, t, a.path, driver.WalksAtOnce)
	if err != nil {
		return nil, err
	}
	if format := otherFormat(all); t.walked && format != "" {
		return nil, fmt.Errorf("%w: it has files of %s instead of parquet", errNoParquet, format)
	}
	return all, nil
}

// errNoParquet is a data set of other formats.
var errNoParquet = errors.New("another format")

// otherFormats lists endings of files that the hub converts to parquet.
var otherFormats = []string{".jsonl", ".json", ".csv", ".tsv", ".txt", ".arrow", ".tar", ".zip", ".jsonl.gz", ".json.gz", ".csv.gz", ".jsonl.zst", ".zst"}

// otherFormat returns a format that the hub converts, if no file is parquet by its name, else "".
func otherFormat(all []shard.Shard) (format string) {
	for _, s := range all {
		if strings.Contains(path.Base(s.URI), ".parq") || strings.HasSuffix(s.URI, ".pq") {
			return ""
		}
		for _, ending := range otherFormats {
			if strings.HasSuffix(s.URI, ending) {
				format = ending
			}
		}
	}
	return format
}

// Requests are scarcer than bytes: a free account has 5,000 in 5 minutes.
const (
	maxHole = 4 << 20  // the longest hole between two ranges that is read over
	chunk   = 32 << 20 // asked for at once; small files, of an eighth of it, come whole
)

// Open returns an object of a shard: of the file that the hub's own client has, or of the hub.
func (s *Store) Open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	a, err := parse(sh.URI)
	if err == nil {
		err = cause.Of(ctx)
	}
	if err == nil && !commits.MatchString(a.revision) {
		err = fmt.Errorf("%w: a shard's address has a commit", shard.ErrBadURI)
	}
	if err != nil {
		return nil, wrap("open", sh.URI, err)
	}
	c, err := s.start()
	if err != nil {
		return nil, wrap("open", sh.URI, err)
	}
	if o, ok := c.downloaded(ctx, s.files, a, sh); ok {
		return o, nil
	}
	if c.offline {
		return nil, wrap("open", sh.URI, errOffline)
	}
	o, err := c.web.OpenPinned(ctx, c.endpoint+"/datasets/"+a.repo+"/resolve/"+a.revision+"/"+connect.EscapePath(a.path), sh, maxHole, chunk)
	if err != nil {
		return nil, wrap("open", sh.URI, err)
	}
	return &object{o.(rangeObject), sh.URI}, nil
}

// OpenHere opens the file that the hub's own client has of a shard.
func (s *Store) OpenHere(ctx context.Context, sh shard.Shard) (shard.Object, bool) {
	a, err := parse(sh.URI)
	if err != nil {
		return nil, false
	}
	c, err := s.start()
	if err != nil {
		return nil, false
	}
	return c.downloaded(ctx, s.files, a, sh)
}

// parallelReads is how many objects to read at once.
const parallelReads = 16

// Parallel is the same for all addresses.
func (s *Store) Parallel(string) int { return parallelReads }

// Traffic counts the requests so far.
func (s *Store) Traffic() shard.Traffic {
	if started := s.started.Load(); started != nil {
		return started.Traffic()
	}
	return shard.Traffic{}
}

// ByStore measures the requests to the hub.
func (s *Store) ByStore() []shard.StoreTraffic {
	if started := s.started.Load(); started != nil {
		return started.ByStore()
	}
	return nil
}

// Place is not told by the hub.
func (s *Store) Place(context.Context, shard.Shard) (shard.Placement, error) {
	return shard.Placement{}, errors.ErrUnsupported
}

// Explain describes how the hub is reached, and asks for the commit of an address. Failures are
// facts too.
func (s *Store) Explain(ctx context.Context, uri string) ([]shard.Fact, error) {
	a, err := parse(uri)
	if err != nil {
		return nil, wrap("explain", uri, err)
	}
	c, err := s.start()
	if err != nil {
		return nil, wrap("explain", uri, err)
	}
	token := "none"
	if c.token != "" {
		token = "one, not shown"
	}
	facts := []shard.Fact{{Name: "hub", Value: c.endpoint}, {Name: "token", Value: token}, {Name: "downloads", Value: c.cache}}
	if c.offline {
		facts = append(facts, shard.Fact{Name: "offline", Value: "only downloads are read (HF_HUB_OFFLINE)"})
	}
	commit, err := c.commit(ctx, a)
	if err != nil {
		facts = append(facts, shard.Fact{Name: "problem", Value: err.Error()})
		if h := hint(err); h != "" {
			facts = append(facts, shard.Fact{Name: "try", Value: h})
		}
		return facts, nil
	}
	return append(facts, shard.Fact{Name: "commit", Value: commit + " is " + a.revision}), nil
}

// Close closes the idle connections.
func (s *Store) Close() error {
	if started := s.started.Load(); started != nil {
		return started.Close()
	}
	return nil
}
