package shard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Stores maps a scheme ("s3"; "" for bare paths) to the store that serves it, and is itself the
// Store that asks the right one.
type Stores map[string]Store

var (
	_ Identifier = Stores(nil)
	_ Pinner     = Stores(nil)
	_ Remote     = Stores(nil)
	_ Metered    = Stores(nil)
	_ TableStore = Stores(nil)
	_ Borrower   = Stores(nil)
	_ io.Closer  = Stores(nil)
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

// Pin asks the store of the pattern's scheme.
func (s Stores) Pin(ctx context.Context, pattern string) (string, error) {
	store, err := s.find(pattern)
	if err != nil {
		return "", &Error{Op: "list", URI: pattern, Err: err}
	}
	return Pin(ctx, store, pattern)
}

// Borrow asks the store of the prefix's scheme, or returns errors.ErrUnsupported.
func (s Stores) Borrow(prefix string, first Credentials, renew Renew) error {
	store, err := s.find(prefix)
	if err != nil {
		return errors.ErrUnsupported
	}
	return Borrow(store, prefix, first, renew)
}

// Identity asks the store of the address's scheme.
func (s Stores) Identity(uri string) string {
	store, err := s.find(uri)
	if err != nil {
		return normal(uri)
	}
	return Identity(store, uri)
}

// Above asks the store of the address's scheme.
func (s Stores) Above(address string) []string {
	store, err := s.find(address)
	if err != nil {
		return nil
	}
	return TablesOf(store).Above(address)
}

// Instance asks the store of the address's scheme.
func (s Stores) Instance(uri string) string {
	store, err := s.find(uri)
	if err != nil {
		return ""
	}
	return InstanceOf(store, uri)
}

// TableAt asks the store of the directory's scheme.
func (s Stores) TableAt(ctx context.Context, dir string) (Table, error) {
	store, err := s.find(dir)
	if err != nil {
		return Table{}, &Error{Op: "list", URI: dir, Err: err}
	}
	return TablesOf(store).TableAt(ctx, dir)
}

// Parallel asks the store of the address's scheme.
func (s Stores) Parallel(uri string) int {
	store, err := s.find(uri)
	if err != nil {
		return 0
	}
	return RemoteOf(store).Parallel(uri)
}

// Place asks the store of the shard's scheme, or returns errors.ErrUnsupported.
func (s Stores) Place(ctx context.Context, shard Shard) (Placement, error) {
	store, err := s.find(shard.URI)
	if err != nil {
		return Placement{}, &Error{Op: "place", URI: shard.URI, Err: err}
	}
	return RemoteOf(store).Place(ctx, shard)
}

// Explain asks the store of the address's scheme; nil when there is nothing to say.
func (s Stores) Explain(ctx context.Context, uri string) ([]Fact, error) {
	store, err := s.find(uri)
	if err != nil {
		return nil, &Error{Op: "explain", URI: uri, Err: err}
	}
	return RemoteOf(store).Explain(ctx, uri)
}

// Traffic returns the sum over all stores.
func (s Stores) Traffic() (sum Traffic) {
	for _, store := range s.distinct() {
		sum = sum.Add(RemoteOf(store).Traffic())
	}
	return sum
}

// ByStore returns the figures of all places of the stores that measure theirs, sorted by name.
func (s Stores) ByStore() []StoreTraffic {
	all := []StoreTraffic{}
	for _, store := range s.distinct() {
		if m, ok := store.(Metered); ok {
			all = append(all, m.ByStore()...)
		}
	}
	slices.SortFunc(all, func(a, b StoreTraffic) int { return strings.Compare(a.Store, b.Store) })
	return all
}

// Close closes the stores that hold connections. Objects are closed before.
func (s Stores) Close() error {
	var errs []error
	for _, store := range s.distinct() {
		if c, ok := store.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// distinct lists each store once, though several schemes may share it.
func (s Stores) distinct() []Store {
	var all []Store
	for _, scheme := range slices.Sorted(maps.Keys(s)) {
		if store := s[scheme]; !slices.Contains(all, store) {
			all = append(all, store)
		}
	}
	return all
}

func (s Stores) find(uri string) (Store, error) {
	scheme, _ := SplitScheme(uri)
	if store, ok := s[scheme]; ok {
		return store, nil
	}
	if scheme == "" {
		return nil, fmt.Errorf("%w: this program has no store for bare paths, only for %s", ErrBadURI, s.names())
	}
	return nil, fmt.Errorf("%w: this program has no store for %s://, only for %s%s", ErrBadURI, scheme, s.names(), elsewhere[scheme])
}

// elsewhere names the addresses that this program reads in place of other programs' schemes.
var elsewhere = map[string]string{
	"thrift": ofHive, "hive2": ofHive, "jdbc": ofHive,
	"azure": ofAzure, "adl": ofAzure, "abs": ofAzure,
	"minio": ofS3, "oss": ofS3, "cos": ofS3, "cosn": ofS3, "obs": ofS3, "tos": ofS3, "r2": ofS3, "b2": ofS3,
	"dbfs":        "; Databricks shows it as the directory /dbfs",
	"huggingface": "; the hub is hf://datasets/OWNER/NAME",
}

const (
	ofHive  = "; a table of a Hive metastore is hive://HOST:PORT/DATABASE.TABLE"
	ofAzure = "; Azure is az://CONTAINER/PATH or abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH"
	ofS3    = "; a store that speaks S3 is s3://BUCKET/PATH, with its endpoint"
)

func (s Stores) names() string {
	names := slices.Sorted(maps.Keys(s))
	for i, scheme := range names {
		if names[i] = "bare paths"; scheme != "" {
			names[i] = scheme + "://"
		}
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
