package cache

import "time"

// An Entry is what a cache directory holds of one shard version: of its own bytes, or of decoded
// ones.
type Entry struct {
	URI       string    `json:"uri"`
	Size      int64     `json:"size"` // of the whole shard, or of the space of its decoded bytes
	Version   string    `json:"version"`
	Decoded   bool      `json:"decoded"`   // the bytes were decoded of the shard
	Held      int64     `json:"held"`      // bytes that are there
	Allocated int64     `json:"allocated"` // bytes on the disk, the cache's own included
	Used      time.Time `json:"used"`      // last, to the minute
	KeptUntil time.Time `json:"kept_until"`
	// Superseded says that the same shard is there at a version that was used later.
	Superseded bool   `json:"superseded"`
	Path       string `json:"path"`
}

// Space is how much disk space a cache directory takes.
type Space struct {
	Path   string `json:"path"`   // of the directory of this format
	Shards int    `json:"shards"` // shard versions
	Bytes  int64  `json:"bytes"`  // on the disk, decoded ones included

	Decoded      int   `json:"decoded"`       // shard versions of which decoded bytes are there
	DecodedBytes int64 `json:"decoded_bytes"` // on the disk

	Limit int64 `json:"limit"` // of the process that opened it last; 0 when none did
	Free  int64 `json:"free"`  // bytes of the file system that are not in use

	ReadOnly bool `json:"read_only"` // this process can read the directory and not write to it
}

// Report is what Verify found.
type Report struct {
	Shards  int   `json:"shards"`  // shard versions that were read
	Decoded int   `json:"decoded"` // shard versions whose decoded bytes were read
	Blocks  int64 `json:"blocks"`  // blocks that were read
	Bytes   int64 `json:"bytes"`   // and their bytes
	Bad     int64 `json:"bad"`     // blocks that failed their checksum and were dropped
	// BadURIs names the shards of bad blocks, and the paths of files that are not cache files.
	BadURIs []string `json:"bad_uris,omitempty"`
}

// CollectOptions say what Collect removes. The zero value removes leftovers of killed processes
// alone.
type CollectOptions struct {
	OlderThan  time.Duration // shards that were not used for so long; 0 means none
	ToBytes    int64         // then those used longest ago, kept or not, until so many bytes are left; 0 means no such bound
	Superseded bool          // versions of a shard that has a newer one
	Decoded    bool          // all decoded bytes
}

// Freed is what Collect or Clear removed.
type Freed struct {
	Shards  int   `json:"shards"`  // shard versions
	Decoded int   `json:"decoded"` // shard versions whose decoded bytes were removed
	Bytes   int64 `json:"bytes"`
	InUse   int   `json:"in_use"` // selected files that stayed because a job reads them now
}
