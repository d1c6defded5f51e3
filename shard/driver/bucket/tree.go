package bucket

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// A Tree lists buckets for driver.Walk, for one List: paths are "bucket/key", and a directory is
// the part of a key before a slash. An object whose name ends with a slash marks a directory and is
// not a file.
type Tree struct {
	source  Source
	prefix  string // of addresses: "s3://" as the user spelled it
	listing *driver.Listing

	mu    sync.Mutex
	first map[string]*Page     // the first page of a directory's keys, by "bucket/prefix"
	dirs  map[string]*siblings // by path
}

var (
	_ driver.Tree      = (*Tree)(nil)
	_ driver.DirFinder = (*Tree)(nil)
)

// NewTree returns the tree of one list, which is counted by listing. Addresses start with prefix.
func NewTree(source Source, prefix string, listing *driver.Listing) *Tree {
	return &Tree{source: source, prefix: prefix, listing: listing, first: make(map[string]*Page), dirs: make(map[string]*siblings)}
}

// URI returns the address of a path.
func (t *Tree) URI(path string) string { return t.prefix + path }

// Stat looks for an object of this name, and then for keys below it. The first needs no right to
// list.
func (t *Tree) Stat(ctx context.Context, path string) (driver.Entry, error) {
	at, err := t.source.Locate(path)
	if err != nil {
		return driver.Entry{}, err
	}
	if at.Key == "" || strings.HasSuffix(at.Key, "/") {
		return t.statDir(ctx, path, at)
	}
	if e, ok, err := t.sibling(ctx, path, at); ok || err != nil {
		return e, err
	}
	e, err := t.source.Look(ctx, path)
	switch {
	case err == nil && e.Size == 0 && !at.Pinned:
		return t.statMark(ctx, path, at, e)
	case err == nil || at.Pinned:
		return e, err
	case !errors.Is(err, shard.ErrNotExist) && !errors.Is(err, shard.ErrDenied) && t.source.Refusal(err) != Silent:
		return e, err
	}
	return t.statNoFile(ctx, path, at, err)
}

// statNoFile describes a path at which a look found no object that it may see.
func (t *Tree) statNoFile(ctx context.Context, path string, at Location, err error) (driver.Entry, error) {
	dir, dirErr := t.statDir(ctx, path, at)
	switch {
	case dirErr == nil:
		return dir, nil
	case t.source.Refusal(err) == Silent && errors.Is(dirErr, shard.ErrNotExist): // the list may have found new credentials
		return t.source.Look(ctx, path)
	case errors.Is(dirErr, shard.ErrDenied) && strings.ContainsAny(at.Key, "{*?["):
		// Without the right to list, S3 denies access to missing keys: the names that match a
		// pattern will show.
		return driver.Entry{}, fmt.Errorf("%w: it is a pattern", shard.ErrNotExist)
	case errors.Is(err, shard.ErrDenied) && t.source.Refusal(dirErr) != Explained:
		return driver.Entry{}, err
	}
	return driver.Entry{}, dirErr
}

// statMark describes an empty object: it marks a directory if there are keys below it.
func (t *Tree) statMark(ctx context.Context, path string, at Location, file driver.Entry) (driver.Entry, error) {
	if dir, err := t.statDir(ctx, path, at); err == nil {
		return dir, nil
	}
	return file, ctx.Err()
}

// statDir looks whether a directory has keys. A bucket is a directory also when it is empty.
func (t *Tree) statDir(ctx context.Context, path string, at Location) (driver.Entry, error) {
	p, err := t.firstPage(ctx, path, at.Bucket, dirPrefix(at.Key))
	if err != nil {
		return driver.Entry{}, err
	}
	if at.Key != "" && len(p.Files) == 0 && !p.Marked {
		return driver.Entry{}, shard.ErrNotExist
	}
	return driver.Entry{Name: path[strings.LastIndexByte(path, '/')+1:], Kind: driver.KindDir}, nil
}

// firstPage returns the first page of all below a directory, which is asked for once in a List.
func (t *Tree) firstPage(ctx context.Context, path, bucket, prefix string) (*Page, error) {
	t.mu.Lock()
	p, ok := t.first[bucket+"/"+prefix]
	t.mu.Unlock()
	if ok {
		return p, nil
	}
	p, err := t.source.Page(ctx, path, Query{Bucket: bucket, Prefix: prefix})
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.first[bucket+"/"+prefix] = p
	return p, nil
}

// took counts a page, and makes sure that another follows it and not the same again.
func (t *Tree) took(path string, pages *driver.Pages, p *Page, wanted []driver.Entry) error {
	err := t.listing.Take(wanted)
	if err == nil && p.Next != "" {
		err = pages.Next(p.Next)
	}
	if err != nil {
		return &shard.Error{Op: "list", URI: t.URI(path), Err: err}
	}
	return nil
}

// dirPrefix returns the common prefix of the keys below a directory: its name, with one slash at
// its end.
func dirPrefix(key string) string {
	if key == "" || strings.HasSuffix(key, "/") {
		return key
	}
	return key + "/"
}
