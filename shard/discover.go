package shard

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// maxAddress is the length of the longest address, braces and all.
const maxAddress = 64 << 10 // bytes

// Discover lists what all addresses together name: one list, sorted by URI, in which a file counts once however often and in whatever
// spelling it is named (links are not followed: two names that lead to one file are two shards). An address that names nothing is an error.
//
// An address that starts with @ is a list file: one address a line; blank lines and lines that start with # are skipped; relative paths
// start in the working directory, not beside the list. A list cannot name another. (A file whose name starts with @ is ./@name.)
//
// The order does not depend on how paths are spelled ("./b" sorts as "b"), on the order of the addresses, or on the machine. Where one
// file was found in several ways, the finding that gives it the most partitions stays.
func Discover(ctx context.Context, store Store, addresses []string) ([]Shard, error) {
	if len(addresses) == 0 {
		return nil, fmt.Errorf("%w: no address was given", ErrBadURI)
	}
	found := make(map[string]Shard)
	for _, address := range addresses {
		if err := discover(ctx, store, address, found); err != nil {
			return nil, err
		}
	}
	all := make([]Shard, 0, len(found))
	for _, s := range found {
		all = append(all, s)
	}
	sortShards(all)
	return all, nil
}

// discover adds what one address names to found, which is keyed by identity.
func discover(ctx context.Context, store Store, address string, found map[string]Shard) error {
	if len(address) > maxAddress {
		return &Error{Op: "list", URI: address, Err: fmt.Errorf("%w: it has %d bytes, and an address has at most %d", ErrBadURI, len(address), maxAddress)}
	}
	if list, ok := strings.CutPrefix(address, "@"); ok {
		return discoverList(ctx, store, list, found)
	}
	shards, err := store.List(ctx, address)
	if err != nil {
		return err
	}
	if len(shards) == 0 { // a store must not do this; a run without rows must not follow from it
		return &Error{Op: "list", URI: address, Err: fmt.Errorf("%w: it names no shard", ErrNotExist)}
	}
	for _, s := range shards {
		id := Identity(store, s.URI)
		if old, ok := found[id]; !ok || better(s, old) {
			found[id] = s
		}
	}
	return nil
}

// better decides between two findings of one file, by rules that know no order of addresses.
func better(s, old Shard) bool {
	if len(s.Partitions) != len(old.Partitions) {
		return len(s.Partitions) > len(old.Partitions)
	}
	if len(s.URI) != len(old.URI) {
		return len(s.URI) < len(old.URI)
	}
	return s.URI < old.URI
}

func sortShards(all []Shard) {
	type keyed struct {
		key string
		Shard
	}
	keys := make([]keyed, len(all))
	for i, s := range all {
		keys[i] = keyed{normal(s.URI), s}
	}
	slices.SortFunc(keys, func(a, b keyed) int {
		if c := strings.Compare(a.key, b.key); c != 0 {
			return c
		}
		return strings.Compare(a.URI, b.URI)
	})
	for i, k := range keys {
		all[i] = k.Shard
	}
}

// RelativePaths returns each shard's path below the deepest directory that holds them all: what stays equal when a data set is copied to
// another place. Shards that share no directory keep their whole addresses.
func RelativePaths(shards []Shard) []string {
	paths := make([]string, len(shards))
	for i, s := range shards {
		paths[i] = normal(s.URI)
	}
	if len(paths) == 0 {
		return paths
	}
	root := parent(paths[0])
	for _, p := range paths[1:] {
		for !strings.HasPrefix(p, root) {
			root = parent(strings.TrimSuffix(root, "/"))
		}
	}
	for i := range paths {
		paths[i] = paths[i][len(root):]
	}
	return paths
}

// parent is the directory of a path with its slash, or "".
func parent(p string) string {
	dir, _ := path.Split(p)
	return dir
}
