package shard

// A Shard is one parquet file at one version.
type Shard struct {
	URI     string // address as the user would write it
	Size    int64  // bytes
	Version string // etag, or modification time in nanoseconds: differs when the content differs

	// Partitions are the typed values that directory names gave this shard (dt=2026-01-01), in path
	// order.
	Partitions []Partition

	Source int32 // number of the address that found it among those given to Discover
}

// A Partition is one key=value directory of a shard's path.
type Partition struct {
	Key   string
	Value string // percent-decoded
	Null  bool   // __HIVE_DEFAULT_PARTITION__
}
