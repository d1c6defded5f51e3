// Package shard finds and opens shards: parquet files of one version in any store.
//
// A [Store] lists and opens the shards of one place; drivers are sub-packages (local, mem, s3,
// hdfs). An [Object] reads one shard. What more a driver can do is an optional interface with a
// helper that tries it, as in io/fs: [Lend] borrows bytes without a copy.
//
// From an address to bytes: [Discover] merges the shards of many addresses into one sorted list; a
// store's List does that for one address. A store opens a shard only at the listed version. The
// bytes of a [Lease] may be a mapping of a file, and must only be read inside [Use] or [Guard].
//
// [Stores] chooses a store by an address's scheme. It is a store itself, as is the cache: each
// passes on what it does not change, the optional interfaces included.
//
// Package driver holds what stores share: walking directories for an address with globs and braces,
// and for remote servers planning, retries, limits of requests and of lists.
//
// The package imports nothing of ours, starts no goroutine that outlives the call that needs it,
// and keeps no memory beyond the list that it returns.
package shard
