package shard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Stores maps a scheme ("s3"; "" for bare paths) to the store that serves it, and is itself the Store that asks the right one.
type Stores map[string]Store

var (
	_ Store      = Stores(nil)
	_ Identifier = Stores(nil)
)

// List asks the store of the pattern's scheme.
func (s Stores) List(ctx context.Context, pattern string) ([]Shard, error) {
	store, err := s.find(pattern)
	if err != nil {
		return nil, &Error{Op: "list", URI: pattern, Err: err}
	}
	return store.List(ctx, pattern)
}

// Open asks the store of the shard's scheme.
func (s Stores) Open(ctx context.Context, shard Shard) (Object, error) {
	store, err := s.find(shard.URI)
	if err != nil {
		return nil, &Error{Op: "open", URI: shard.URI, Err: err}
	}
	return store.Open(ctx, shard)
}

// Identity asks the store of the address's scheme.
func (s Stores) Identity(uri string) string {
	store, err := s.find(uri)
	if err != nil {
		return normal(uri)
	}
	return Identity(store, uri)
}

func (s Stores) find(uri string) (Store, error) {
	scheme := Scheme(uri)
	if store, ok := s[scheme]; ok {
		return store, nil
	}
	if scheme == "" {
		return nil, fmt.Errorf("%w: this program has no store for bare paths, only for %s", ErrBadURI, s.names())
	}
	return nil, fmt.Errorf("%w: this program has no store for %s://, only for %s", ErrBadURI, scheme, s.names())
}

// names lists the schemes for a message.
func (s Stores) names() string {
	var names []string
	for _, scheme := range slices.Sorted(maps.Keys(s)) {
		switch scheme {
		case "":
			names = append(names, "bare paths")
		default:
			names = append(names, scheme+"://")
		}
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
