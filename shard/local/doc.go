// Package local is the store of files on a disk: bare paths and file:// addresses.
//
// A shard's version is its modification time in nanoseconds; with the size it identifies the
// content as make and rsync do, and it is the same on all machines that see the same files. Objects
// lend their bytes as mappings of the file (see shard.Lease); each lease is a mapping of its own,
// populated when it is made and unmapped when it is released, so that the process's resident memory
// holds the pages of live leases and no others. A lease costs some ten microseconds whatever its
// length, so that less than about 100 KiB is cheaper to read.
//
// A change within the file system's clock tick (some milliseconds) that keeps the size cannot be
// told from the version before it.
//
// The package starts no goroutine and keeps no memory but open files and live leases.
package local
