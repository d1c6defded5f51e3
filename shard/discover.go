package shard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/internal/text"
)

// maxAddress is the length of the longest address, braces and all.
const maxAddress = 64 << 10 // bytes

// DiscoverOptions of Discover. The zero value leaves out what the data of a folder is described by,
// without a word.
type DiscoverOptions struct {
	// Strict refuses a directory that holds descriptions and checksums beside its parquet files,
	// instead of leaving them out.
	Strict bool
	// Noted, if set, reports once each that files of directories were left out, that some were
	// named twice, and that some belong to a table.
	Noted func(text string)
}

// Discover lists what all addresses together name: one list, sorted by URI, in which a file counts
// once however often and in whatever spelling it is named (links are not followed: two names that
// lead to one file are two shards). An address that names nothing is an error.
//
// An address of a directory matches all files below it, except descriptions, checksums (*.md,
// *.json, *.txt, *.crc) and empty files without an extension, which mark directories in buckets, if
// all the others are parquet by name. A file that is named itself, or by a pattern, is never left
// out.
//
// A directory of a Delta, Iceberg, Hudi or Hive ACID table is an error, since its files also hold
// rows that the table deleted or replaced. Files of a table that are named themselves, or by a
// pattern, are read, and noted once.
//
// An address that starts with @ is a list file: one address a line; blank lines and lines that
// start with # are skipped; relative paths start in the working directory, not beside the list. A
// list cannot name another. (A file whose name starts with @ is ./@name.)
//
// The order does not depend on the spelling of paths ("./b" sorts as "b"), on the order of the
// addresses, or on the machine. If a file was found in several ways, the one with the most
// partitions is kept.
func Discover(ctx context.Context, store Store, addresses []string, o DiscoverOptions) ([]Shard, error) {
	if len(addresses) == 0 {
		return nil, fmt.Errorf("%w: no address was given", ErrBadURI)
	}
	f := finder{store: store, strict: o.Strict, found: make(map[string]Shard), tables: tables{store: TablesOf(store)}}
	for i, address := range addresses {
		f.source = int32(i)
		if err := f.discover(ctx, address); err != nil {
			return nil, err
		}
	}
	if o.Noted != nil {
		if err := f.note(ctx, o.Noted); err != nil {
			return nil, err
		}
	}
	all := slices.Collect(maps.Values(f.found))
	Sort(all, func(s *Shard) string { return s.URI })
	return all, nil
}

// A finder is one Discover under way.
type finder struct {
	store  Store
	strict bool
	source int32            // number of the address under way
	found  map[string]Shard // by identity
	tables tables
	named  map[string]string // a file of each directory whose files were named, themselves or by a pattern

	left  []string          // files that were left out of directories
	from  string            // the first of these directories
	twice map[string]string // address of a file that was named more than once, by identity
}

func (f *finder) discover(ctx context.Context, address string) error {
	if len(address) > maxAddress {
		return &Error{Op: "list", URI: address, Err: fmt.Errorf("%w: it has %d bytes, and an address has at most %d", ErrBadURI, len(address), maxAddress)}
	}
	if list, ok := strings.CutPrefix(address, "@"); ok {
		return f.discoverList(ctx, list)
	}
	if name := path.Base(address); name == "_metadata" || name == "_common_metadata" {
		return &Error{
			Op: "list", URI: address, Err: fmt.Errorf("%w: it describes the shards of its directory and has no rows", ErrBadURI),
			Hint: "give the directory",
		}
	}
	address, err := Pin(ctx, f.store, address)
	if err != nil {
		return err
	}
	shards, err := f.store.List(ctx, address)
	if err != nil {
		return err
	}
	if len(shards) == 0 { // a store must not do this; a run without rows must not follow from it
		return &Error{Op: "list", URI: address, Err: fmt.Errorf("%w: it names no shard", ErrNotExist)}
	}
	if err := f.checkTable(ctx, address, shards); err != nil {
		return err
	}
	shards, left, err := leaveOut(address, shards)
	if err != nil {
		return err
	}
	if len(left) > 0 && f.strict {
		return &Error{
			Op: "list", URI: address, Err: fmt.Errorf("%w: beside parquet files it holds %s", ErrBadURI, few(left)), Hint: onlyParquet(address),
		}
	}
	if f.left = append(f.left, left...); f.from == "" && len(left) > 0 {
		f.from = address
	}
	for _, s := range shards {
		f.add(s)
	}
	return nil
}

// add takes one file, which may have been found before.
func (f *finder) add(s Shard) {
	id := Identity(f.store, s.URI)
	old, again := f.found[id]
	s.Source = f.source
	if again { // the first address of a file is its source
		s.Source = old.Source
	}
	if !again || better(s, old) {
		f.found[id] = s
	}
	if again {
		if f.twice == nil {
			f.twice = make(map[string]string)
		}
		f.twice[id] = s.URI
	}
}

// note reports how the list differs from its addresses, and that files of tables are read.
func (f *finder) note(ctx context.Context, say func(text string)) error {
	if n := len(f.left); n > 0 {
		say(fmt.Sprintf("%s left out of %s, where the other files are parquet: %s", count(n, "file"), brief(Redact(f.from), longestAddress), few(f.left)))
	}
	if n := len(f.twice); n > 0 {
		first := slices.Min(slices.Collect(maps.Values(f.twice)))
		say(fmt.Sprintf("%s named more than once and read once, such as %s", count(n, "file"), brief(Redact(first), longestAddress)))
	}
	table, err := f.tables.ofNamed(ctx, f.named)
	if table.Format != "" {
		say(table.note())
	}
	return err
}

// count returns a number of things with its verb: "1 file is", "2 files are".
func count(n int, noun string) string {
	if n == 1 {
		return text.Plural(n, noun) + " is"
	}
	return text.Plural(n, noun) + " are"
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

// Sort sorts what has a shard's URI each, in the order of [Discover].
func Sort[T any](all []T, uri func(*T) string) {
	type keyed struct {
		key, uri string
		value    T
	}
	keys := make([]keyed, len(all))
	for i := range all {
		at := uri(&all[i])
		keys[i] = keyed{normal(at), at, all[i]}
	}
	slices.SortFunc(keys, func(a, b keyed) int {
		return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.uri, b.uri))
	})
	for i, k := range keys {
		all[i] = k.value
	}
}

// RelativePaths returns each shard's path below the deepest directory that holds them all: what
// stays equal when a data set is copied to another place. Shards that share no directory keep their
// whole addresses.
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
