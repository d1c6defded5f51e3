package web

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// ErrUnlisted is an address that needs a list of files, which web servers do not have.
var ErrUnlisted = fmt.Errorf("%w: web servers do not list their files", shard.ErrBadURI)

// A tree shows driver.Walk the files of a server, each of which is asked for by its name.
type tree struct {
	server  *server
	address address

	mu     sync.Mutex
	looked map[string]looked // by path, as a walk may ask twice
}

type looked struct {
	entry driver.Entry
	err   error
}

// Stat describes a file. A path that ends in a slash, itself or after redirects, is a directory.
func (t *tree) Stat(ctx context.Context, path string) (driver.Entry, error) {
	switch {
	case strings.Contains(path, "{"):
		return driver.Entry{}, shard.ErrNotExist // no URL has one: it is a pattern's
	case isDirectory(path):
		return driver.Entry{Kind: driver.KindDir}, nil
	}
	t.mu.Lock()
	found, ok := t.looked[path]
	t.mu.Unlock()
	if ok {
		return found.entry, found.err
	}
	found.entry, _, found.err = t.server.look(ctx, t.address, path)
	if ctx.Err() == nil {
		t.mu.Lock()
		t.looked[path] = found
		t.mu.Unlock()
	}
	return found.entry, found.err
}

// ReadAll is asked for directories and globs.
func (t *tree) ReadAll(context.Context, string, string, driver.Keep) ([]driver.Entry, error) {
	return nil, ErrUnlisted
}

// URI returns the address of a path.
func (t *tree) URI(path string) string { return t.address.uri(path) }
