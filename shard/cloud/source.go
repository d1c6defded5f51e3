package cloud

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/driver/bucket"
)

// A source makes the requests of a bucket.Tree. Paths are addresses without their scheme.
type source struct {
	locate func(path string) (bucket.Location, error)
	client client
	prefix string // of addresses: "gs://" as the user spelled it
}

func (s *source) Locate(path string) (bucket.Location, error) { return s.locate(path) }

// Refusal is bare: what the services refuse, they refuse for all objects of a bucket alike.
func (s *source) Refusal(err error) bucket.Refusal {
	if errors.Is(err, shard.ErrDenied) {
		return bucket.Bare
	}
	return bucket.NotRefused
}

// Look describes an object.
func (s *source) Look(ctx context.Context, path string) (driver.Entry, error) {
	e, err := s.look(ctx, path)
	if err != nil {
		return e, s.wrap(ctx, path, err)
	}
	e.Name = path[strings.LastIndexByte(path, '/')+1:]
	return e, nil
}

func (s *source) look(ctx context.Context, path string) (driver.Entry, error) {
	at, err := s.Locate(path)
	if err != nil {
		return driver.Entry{}, err
	}
	location, err := s.client.Object(at, "")
	if err != nil {
		return driver.Entry{}, err
	}
	e, head, err := s.client.web.Look(ctx, location)
	if err != nil {
		return e, err
	}
	e.Kind = s.client.Kind(head)
	return e, nil
}

// Page asks for a page of names. Keys that the prefix does not start are left out: a server that
// sends them misunderstood.
func (s *source) Page(ctx context.Context, path string, q bucket.Query) (*bucket.Page, error) {
	p, err := s.client.page(ctx, q)
	if err != nil {
		return nil, s.wrap(ctx, path, err)
	}
	p.Files = slices.DeleteFunc(p.Files, func(e driver.Entry) bool {
		p.Last = max(p.Last, e.Name)
		mark := strings.HasSuffix(e.Name, "/") || e.Kind == driver.KindDir
		p.Marked = p.Marked || mark
		return mark || !strings.HasPrefix(e.Name, q.Prefix) || q.After != "" && e.Name <= q.After
	})
	p.Dirs = slices.DeleteFunc(p.Dirs, func(dir string) bool { return !strings.HasPrefix(dir, q.Prefix) || dir == q.Prefix })
	return p, nil
}

func (c client) page(ctx context.Context, q bucket.Query) (*bucket.Page, error) {
	location, err := c.List(q)
	if err != nil {
		return nil, err
	}
	body, _, err := c.web.Document(ctx, location)
	if err != nil {
		return nil, err
	}
	return c.ReadPage(body)
}

func (s *source) wrap(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return cause.Of(ctx)
	}
	return s.client.wrap("list", s.prefix+path, err)
}
