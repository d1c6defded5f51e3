package cache

import "time"

// An Entry describes a file of a cache directory: the bytes held of one shard version, its own or
// decoded ones.
type Entry struct {
	URI       string    `json:"uri"`
	Size      int64     `json:"size"` // of the whole shard, or of the space of its decoded bytes
	Version   string    `json:"version"`
	Decoded   bool      `json:"decoded"`   // the bytes were decoded of the shard
	Held      int64     `json:"held"`      // bytes held
	Allocated int64     `json:"allocated"` // bytes on the disk, with header and table
	Used      time.Time `json:"used"`      // last, to the minute
	KeptUntil time.Time `json:"kept_until"`
	// Superseded reports that another version of the shard was used later.
	Superseded bool   `json:"superseded"`
	Path       string `json:"path"`
}

// Space is the disk space of a cache directory.
type Space struct {
	Path   string `json:"path"`   // of the directory of this format
	Shards int    `json:"shards"` // shard versions
	Bytes  int64  `json:"bytes"`  // on the disk, decoded ones included

	Decoded      int   `json:"decoded"`       // shard versions with decoded bytes
	DecodedBytes int64 `json:"decoded_bytes"` // on the disk

	Limit int64 `json:"limit"` // of the process that opened it last, or 0
	Free  int64 `json:"free"`  // bytes of the file system that are not in use

	ReadOnly bool `json:"read_only"` // this process can read the directory and not write to it
}

// Report is the result of Verify.
type Report struct {
	Shards  int   `json:"shards"`  // shard versions that were read
	Decoded int   `json:"decoded"` // shard versions whose decoded bytes were read
	Blocks  int64 `json:"blocks"`  // blocks that were read
	Bytes   int64 `json:"bytes"`   // and their bytes
	Bad     int64 `json:"bad"`     // blocks that failed their checksum and were dropped
	// BadURIs names the shards of bad blocks, and the paths of files that are not cache files.
	BadURIs []string `json:"bad_uris,omitempty"`
}

// CollectOptions select the files that Collect removes. The zero value removes only leftovers of
// killed processes.
type CollectOptions struct {
	OlderThan  time.Duration // shards unused for this long; 0 selects no shard
	ToBytes    int64         // then the least recently used, kept or not, until this many bytes remain; 0 means no bound
	Superseded bool          // versions of a shard that has a newer one
	Decoded    bool          // all decoded bytes
}

// Freed counts the files that Collect or Clear removed.
type Freed struct {
	Shards  int   `json:"shards"`  // shard versions
	Decoded int   `json:"decoded"` // shard versions whose decoded bytes were removed
	Bytes   int64 `json:"bytes"`
	InUse   int   `json:"in_use"` // selected files that stayed because a job reads them now
}
