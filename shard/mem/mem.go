package mem

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// prefix precedes a name in its address.
const prefix = "mem://"

// A Store holds shards in memory. The zero value is empty and ready for use; its methods are safe
// for concurrent use.
type Store struct {
	mu    sync.RWMutex
	files map[string]file
	last  int64 // version of the latest Put

	meters driver.Meters
	seen   driver.Seen
}

var _ shard.Metered = (*Store)(nil)

// ByStore measures the reads.
func (s *Store) ByStore() []shard.StoreTraffic { return s.meters.ByStore() }

// file is one name's content at one version.
type file struct {
	content []byte
	version string
}

// Put stores content under a name such as "table/dt=2026-01-01/a.parquet", at a new version. The
// caller must not change content afterwards.
func (s *Store) Put(name string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = make(map[string]file)
	}
	s.last++
	s.files[clean(name)] = file{content, strconv.FormatInt(s.last, 10)}
}

// Remove forgets a name. Objects that are open stay readable.
func (s *Store) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, clean(name))
}

// List returns the shards that an address names; see driver.Walk.
func (s *Store) List(ctx context.Context, pattern string) ([]shard.Shard, error) {
	scheme, name := shard.SplitScheme(pattern)
	if scheme != "mem" {
		return nil, &shard.Error{Op: "list", URI: pattern, Err: fmt.Errorf("%w: no address in memory", shard.ErrBadURI)}
	}
	if path := strings.TrimRight(name, "/"); path != name {
		name = path + "/" // d// is d
	}
	return driver.Walk(ctx, s.tree(), name, 1)
}

// Above returns the directories around an address.
func (*Store) Above(address string) []string {
	_, name := shard.SplitScheme(address)
	return driver.Above(prefix, name)
}

// TableAt reports the table whose root is a directory.
func (s *Store) TableAt(ctx context.Context, dir string) (shard.Table, error) {
	_, name := shard.SplitScheme(dir)
	return driver.TableAt(ctx, s.tree(), name)
}

// Open opens one shard at the size and version that it was listed with.
func (s *Store) Open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	f, err := s.open(ctx, sh)
	if err != nil {
		return nil, &shard.Error{Op: "open", URI: sh.URI, Err: err}
	}
	return &object{content: f.content, uri: sh.URI, meter: s.meters.Of(prefix)}, nil
}

func (s *Store) open(ctx context.Context, sh shard.Shard) (file, error) {
	if err := ctx.Err(); err != nil {
		return file{}, err
	}
	_, name := shard.SplitScheme(sh.URI)
	s.mu.RLock()
	f, ok := s.files[clean(name)]
	s.mu.RUnlock()
	switch size := int64(len(f.content)); {
	case !ok:
		return file{}, shard.ErrNotExist
	case size != sh.Size:
		return file{}, fmt.Errorf("%w: was %d bytes, is %d", shard.ErrChanged, sh.Size, size)
	case !sh.Admits(f.version):
		return file{}, fmt.Errorf("%w: was version %s, is %s", shard.ErrChanged, sh.Version, f.version)
	}
	return f, s.seen.Hold(sh, f.version)
}

// clean returns the name of a path; the root's is "".
func clean(name string) string {
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}

type object struct {
	content []byte
	uri     string
	meter   *driver.Meter
	closed  atomic.Bool
}

var _ shard.Lender = (*object)(nil)

func (o *object) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := ctx.Err(); err != nil {
		return o.wrap(err)
	}
	b, err := o.read(ctx, off, int64(len(p)))
	if err != nil {
		return o.wrap(err)
	}
	copy(p, b)
	return nil
}

// Lend lends the content itself; nothing has to be released.
func (o *object) Lend(off, n int64) (shard.Lease, error) {
	b, err := o.read(context.Background(), off, n)
	if err != nil {
		return nil, o.wrap(err)
	}
	return lease(b), nil
}

// A lease is content, which never changes.
type lease []byte

func (l lease) Bytes() []byte         { return l }
func (lease) Verify(shard.Span) error { return nil }
func (lease) Forget(shard.Span)       {}
func (lease) Release()                {}

// read is slice as a request.
func (o *object) read(ctx context.Context, off, n int64) ([]byte, error) {
	read := o.meter.Start(ctx, driver.ReadRequest)
	b, err := o.slice(off, n)
	if err == nil {
		read.Answered()
		read.Took(len(b))
	}
	read.End(err)
	return b, err
}

func (o *object) slice(off, n int64) ([]byte, error) {
	if o.closed.Load() {
		return nil, fs.ErrClosed
	}
	if err := (shard.Span{Off: off, N: n}).Within(int64(len(o.content))); err != nil {
		return nil, err
	}
	return o.content[off : off+n : off+n], nil
}

func (o *object) wrap(err error) error {
	return &shard.Error{Op: "read", URI: o.uri, Err: err}
}

func (o *object) Close() error {
	o.closed.Store(true)
	return nil
}
