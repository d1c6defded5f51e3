package cache

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Errors of a cache, for errors.Is.
var (
	// ErrUnfit reports a directory that cannot hold a cache: it is on a network file system, in
	// memory, or on a system that lacks what a cache needs.
	ErrUnfit = errors.New("the directory cannot hold a cache")
	// ErrNoRoom reports a disk that is too full for any cache.
	ErrNoRoom = errors.New("too little of the disk is free for a cache")
	// ErrFull reports a Fill or a Keep that did not fit: everything held must still be kept.
	ErrFull = errors.New("the cache is full")
	// ErrClosed reports a Fill or a Keep after Close. Reads after Close pass through.
	ErrClosed = errors.New("the cache is closed")
)

// Policy decides what is evicted when the cache is full.
type Policy uint8

const (
	// Keep evicts only shards whose time is over (see Options.KeepFor). Shards that fit stay, and
	// the others come from the source. An epoch reads each shard once, so no policy can serve more.
	Keep Policy = iota
	// LRU evicts the least recently used shards. Over epochs it serves nothing; it exists as a
	// control for comparison.
	LRU
)

// Options of Open. Dir and Limit must be set.
type Options struct {
	Dir   string // on a local disk; shared by all processes of the host that name it
	Limit int64  // bytes on disk that are never exceeded; see DefaultLimit and ParseLimit

	// DecodedLimit is the part of Limit that decoded files may take; see Cache.OpenDecoded. With 0
	// they are neither written nor read.
	DecodedLimit int64

	Policy  Policy
	KeepFor time.Duration // how long a shard is kept after a use; 0 means 24 hours. See also Cache.KeepFor
	Pending int64         // bytes that may wait for the disk; 0 means 64 MiB, and 2 MiB is the least
	MinFree float64       // part of the file system that stays free; 0 means 0.05

	Events Events

	noVerify      bool          // deliver bytes unchecked, to test that tests notice wrong ones
	anyFileSystem bool          // for tests that fill a small tmpfs
	waitLimit     time.Duration // how long a read waits for others without progress; 0 means 10 s
}

// Events are called, if set, from any goroutine.
type Events struct {
	Trouble func(err error) // the disk fails: the cache is off for a while and reads go to the source; called once per trouble
	Low     func(err error) // too little of the disk is free to keep more, although the limit allows it; called once

	ReadOnly func(err error) // the directory can be read and not written; called once, by Open
}

const (
	defaultKeepFor = 24 * time.Hour
	defaultPending = 64 << 20
	defaultMinFree = 0.05

	defaultWaitLimit = 10 * time.Second

	minLimit   = 1 << 20
	minPending = 2 << 20 // two segments
)

func (o Options) withDefaults() Options {
	o.KeepFor = cmp.Or(o.KeepFor, defaultKeepFor)
	o.Pending = max(cmp.Or(o.Pending, defaultPending), minPending)
	o.MinFree = cmp.Or(o.MinFree, defaultMinFree)
	o.waitLimit = cmp.Or(o.waitLimit, defaultWaitLimit)
	return o
}

// Validate lists all problems.
func (o Options) Validate() error {
	var all []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			all = append(all, fmt.Errorf(format, args...))
		}
	}
	check(o.Dir != "", "no cache directory is given")
	check(o.Limit >= minLimit, "a cache limit of %d bytes is less than %d", o.Limit, minLimit)
	check(o.DecodedLimit >= 0, "a limit of %d bytes for decoded files is less than 0", o.DecodedLimit)
	check(o.Policy <= LRU, "cache policy is %d", o.Policy)
	check(o.KeepFor >= 0, "shards are to be kept for %v", o.KeepFor)
	check(o.Pending >= 0, "%d bytes may wait for the disk", o.Pending)
	check(o.MinFree >= 0 && o.MinFree < 1, "%v of the file system are to stay free, not 0 to 1", o.MinFree)
	return errors.Join(all...)
}
