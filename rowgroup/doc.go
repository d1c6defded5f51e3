// Package rowgroup turns shards into columnar blocks: footers into a manifest, byte ranges into decoded columns, decoded columns into
// the arrays of a batch.
//
// The way of the data through the package:
//
//	Open      footers (or the index on disk) -> Manifest: one schema, the row groups of all shards
//	Fetch     the projected chunks of one unit -> Raw: encoded bytes, read or mapped
//	Decode    Raw -> Block: immutable, reference-counted columns in pooled memory
//	Gather    rows picked from many blocks -> Array: one batch column in Arrow's layout
//
// Whatever the bytes hold, the package returns a value or an [Error] that names shard, row group, column and page; it does not panic
// and it does not allocate more than the file's own sizes allow. It starts goroutines only inside Open, and waits for them there.
package rowgroup
