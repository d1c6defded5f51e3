package shard

import (
	"context"
	"errors"
)

// A Remote is a Store that asks servers.
type Remote interface {
	// Parallel is how many reads of an address's shards to keep under way, since each waits for a
	// network; 0 leaves it to others.
	Parallel(uri string) int
	// Traffic returns the requests of the store so far.
	Traffic() Traffic
	// Place returns the placement of a shard on its servers, or errors.ErrUnsupported if the store
	// does not know it.
	Place(ctx context.Context, s Shard) (Placement, error)
	// Explain describes the connection to an address: endpoint, credentials, configuration; never a
	// secret.
	Explain(ctx context.Context, uri string) ([]Fact, error)
}

// RemoteOf is store as a Remote: itself, or one that says nothing where store asks no servers, as a
// local disk.
func RemoteOf(store Store) Remote {
	if r, ok := store.(Remote); ok {
		return r
	}
	return noServers{}
}

type noServers struct{}

func (noServers) Parallel(string) int                             { return 0 }
func (noServers) Traffic() Traffic                                { return Traffic{} }
func (noServers) Explain(context.Context, string) ([]Fact, error) { return nil, nil }
func (noServers) Place(context.Context, Shard) (Placement, error) {
	return Placement{}, errors.ErrUnsupported
}

// ReadsOf is the most reads that the stores of some shards like to have under way: Parallel of one
// shard of each scheme.
func ReadsOf(store Store, shards []Shard) int {
	remote, most, asked := RemoteOf(store), 0, map[string]bool{}
	for i := range shards {
		scheme, _ := SplitScheme(shards[i].URI)
		if !asked[scheme] {
			asked[scheme] = true
			most = max(most, remote.Parallel(shards[i].URI))
		}
	}
	return most
}

// A Placement describes the location of a shard on its servers.
type Placement struct {
	BlockSize   int64   // bytes
	Replication int     // copies of each block; 0 if a policy decides
	Policy      string  // of erasure coding, or ""
	Encrypted   bool    // at rest, within an encryption zone
	Blocks      []Block // in order; nil if unknown to the store
}

// A Block is a piece of a shard and the hosts that hold it.
type Block struct {
	Span
	Hosts []string
}

// A Fact is one line about how a store reaches an address: "region" is "eu-west-1, found by asking
// the bucket".
type Fact struct{ Name, Value string }
