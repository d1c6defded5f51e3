package shard

// A Shard is one parquet file at one version.
type Shard struct {
	URI     string // address as the user would write it
	Size    int64  // bytes
	Version string // etag, or modification time in nanoseconds: differs when the content differs

	// Instance distinguishes a local file from a replacement with the same size and time, as made
	// by cp -p and reproducible builds: its inode and change time. A copy on another machine has
	// the same Version and another Instance. It is "" for a store whose Version suffices.
	Instance string

	// Immutable reports that a shard without a version never changes, as the files of tables.
	Immutable bool

	// Partitions are the typed values that directory names gave this shard (dt=2026-01-01), in path
	// order.
	Partitions []Partition

	Source int32 // number of the address that found it among those given to Discover
}

// Admits reports whether the shard may be read at a version: any, if the shard carries no version,
// as files in the metadata of tables.
func (s Shard) Admits(version string) bool { return s.Version == "" || s.Version == version }

// VersionHere is Version and Instance: what this machine keeps of a shard belongs to both. It is ""
// for a shard without a version, of which nothing is kept, unless the shard is immutable.
func (s Shard) VersionHere() string {
	switch {
	case s.Version == "" && s.Immutable:
		return "immutable"
	case s.Version == "" || s.Instance == "":
		return s.Version
	}
	return s.Version + "@" + s.Instance
}

// A Partition is one key=value directory of a shard's path.
type Partition struct {
	Key   string
	Value string // percent-decoded
	Null  bool   // __HIVE_DEFAULT_PARTITION__
}
