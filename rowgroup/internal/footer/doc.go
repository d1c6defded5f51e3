// Package footer reads the footers of shards, and keeps them for the next start.
//
//	Load      footers of many shards: known ones, else from the index on disk, else read ones
//	Record    what planning and reading need of a footer, in packed columns (record.go)
//	Records   records of the shards of a data set, each as it was read last
//	Hot       footers and dictionaries in memory, for all data sets that share it
//	Suspects  reads footers again after an opening has failed: damaged ones may parse
//	Mender    reads a footer again when row groups of its shard cannot be decoded
//	Describe  footers for people
//
// A footer takes one request, with the page index (tail.go). The index is a directory of segments,
// which are described in segment.go; what cannot be read of it is read from the shards.
//
// Goroutines run only inside Load and Each, which wait for them; those of a Hot end in its Close.
package footer
