// Package rowgroup turns shards into columnar blocks: footers into a manifest, byte ranges into
// decoded columns, decoded columns into the arrays of a batch.
//
// The way of the data through the package:
//
//	Open      footers (or the index on disk) -> Manifest: one schema, the row groups of all shards
//	Fetch     the projected chunks of one unit -> Raw: encoded bytes, read or mapped
//	Decode    Raw -> Blocks: immutable columns in pooled memory, of a unit or its parts
//	Gather    rows picked from many blocks -> Array: one batch column in Arrow's layout; Cast
//	          changes its values on the way, and Stack makes one matrix of many columns
//
// Rules that choose rows read columns of their own (Options.RuleColumns): DecodeRule shows package
// rule the values of a unit before Decode makes its blocks, each chunk fetched and each shared
// column decoded once; FetchRule reads the rule's chunks alone. PartitionStats and ShardStats tell
// what is known of those columns before they are read, and Dictionary has the values of a chunk
// that is coded. They leave out what the format does not define, or that some writers are known to
// get wrong.
//
// Tensors are lists of all items, or lists of lists, whose shape only Arrow's schema in the footer
// declares. Gather makes lists of lists of both, so that a batch has their shape.
//
// What the bytes of the format mean is package internal/parquet's to know, and what the columns of
// a file mean is package schema's. Package footer reads footers and has the index.
//
// A Tier keeps row groups decoded between epochs: a TierWriter makes an image of the columns of a
// whole row group, Fetch borrows it in place of encoded chunks, and Decode makes blocks of copies,
// or blocks that are in the mapping itself. Where the bytes are kept is the tier's business; what
// they mean is in package image. [MappedImages] are lent once for all who use them. Lists of tokens
// are kept in place of the texts that they are made of ([Made]). Without the tier blocks hold the
// same values.
//
// Shards may differ in their schemas: columns are united by name, in the order of the first shard
// that has them; types widen where no value is lost, and the types that options
// need decide the rest ([NeededType]); a struct's members are united like columns. Shards have no
// say if they have no rows, or a [Screen] finds that none of their rows is chosen.
// The columns that directory names give (see [shard.Partition]) follow, in path order, and a file's
// column of such a name is left out. Only what is projected must agree.
//
// The index keeps footers on disk for the next start. A record of it takes some 25 bytes of memory
// per column chunk, and as much per 3 pages of a page index.
//
// Opening and reading are designed for remote stores, where requests are the cost. A footer takes
// one request, with the page index; a unit's column chunks take one call of [shard.ReadRanges] for
// everything that the store does not lend, within the unit's row group (fetch.go); and [Hot] keeps
// the footers and dictionaries that several data sets or slices request. Only column data is read
// through Lend and ReadRanges, and everything else through ReadAt, so that a cache can distinguish
// them.
//
// Whatever the bytes hold, the package returns a value or an [Error] that names shard, row group,
// column and page; it does not panic and it does not allocate more than the file's own sizes allow.
// It starts goroutines only inside Open, Footers and PageSizes, and waits for them there; those
// of a Hot end in its Close.
package rowgroup
