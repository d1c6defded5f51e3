// Package shard finds and opens shards: parquet files at one version, wherever they lie.
//
// A [Store] lists and opens the shards of one place; drivers are sub-packages (local, mem). An [Object] reads one shard. What more a
// driver can do is an optional interface with a helper that tries it, as in io/fs: [View] borrows bytes without a copy.
//
// The package imports nothing of ours, starts no goroutine of its own and keeps no memory beyond the list that it returns.
package shard
