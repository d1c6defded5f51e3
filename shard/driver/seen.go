package driver

import (
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/shardfeed/shardfeed/shard"
)

// Seen holds the versions at which the files of tables were first read. A table names its files
// without a version, since nothing ever changes them: Seen finds a file that changes all the same.
// It takes about 40 bytes for each file. The zero value is ready, and nil holds nothing. Its method
// is safe for concurrent use.
type Seen struct {
	mu       sync.Mutex
	seed     maphash.Seed
	versions map[uint64]uint64 // hashes of versions by hashes of addresses
}

// Hold refuses a version of an immutable shard without a version, if the first one was another. The
// version "" is not known, and any other shard has a version of its own.
func (s *Seen) Hold(sh shard.Shard, now string) error {
	if s == nil || now == "" || sh.Version != "" || !sh.Immutable {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.versions == nil {
		s.seed, s.versions = maphash.MakeSeed(), make(map[uint64]uint64)
	}
	address, version := maphash.String(s.seed, sh.URI), maphash.String(s.seed, now)
	first, ok := s.versions[address]
	switch {
	case !ok:
		s.versions[address] = version
	case first != version:
		return fmt.Errorf("%w: it is of a table, whose files never change, and was another version when it was first read: is %s", shard.ErrChanged, now)
	}
	return nil
}
