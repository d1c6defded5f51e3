package shard

import "context"

// A Placement is how a shard lies on its servers.
type Placement struct {
	BlockSize   int64   // bytes
	Replication int     // copies of each block; 0 where the policy says how it is kept
	Policy      string  // of erasure coding, or ""
	Encrypted   bool    // at rest, within an encryption zone
	Blocks      []Block // in order; nil where the store cannot tell
}

// A Block is a piece of a shard and the hosts that hold it.
type Block struct {
	Span
	Hosts []string
}

// A Placer is a Store that knows how shards lie on its servers.
type Placer interface {
	Place(ctx context.Context, s Shard) (Placement, error)
}

// A Fact is one line about how a store reaches an address: "region" is "eu-west-1, found by asking the bucket".
type Fact struct{ Name, Value string }

// An Explainer is a Store that can say how it reaches an address: endpoint, credentials, configuration; never a secret.
type Explainer interface {
	Explain(ctx context.Context, uri string) ([]Fact, error)
}
