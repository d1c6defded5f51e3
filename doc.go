// Package shardfeed opens parquet for training in one call: shards on disk or on servers, a cache
// on the local disk, the index of footers, the memory of it all and the order of the rows.
//
// A [Spec] describes a data set completely. With only Addresses it reads all columns in file order.
// The command fills it from flags and the Python package sends it as JSON, so that all three open
// the same thing. [Spec.Validate] lists all problems, each an [OptionError] with the name of a
// field. [Open] returns a [Dataset], from which package loader makes batches; Close closes
// everything that Open opened.
//
// A table may grow while it is trained on. A data set stays on the snapshot with which it was
// opened; with Spec.Refresh an epoch starts with the snapshot that the table has then, as if the
// data set had been opened with that snapshot and at that epoch. So [Dataset.Refresh] opens another
// data set between two epochs: order, counts, states and audits know one snapshot each, and ranks
// that are still in the epoch before keep theirs. The Python package does the same, and its ranks
// agree on the snapshot's name first.
//
// A [Host] opens several data sets that share one budget of memory, the caches and the footers that
// are kept in memory.
//
// # Reading the source
//
//	Spec         what to read and in which order            spec.go, validate.go
//	Choice       which rows, of a data set or of sources    rows.go
//	stores       drivers, and the cache around them         stores.go
//	Places       where cache, index and lists are kept      places.go
//	Host         what data sets share                       open.go
//	Dataset      what Open returns                          open.go
//	batches      how a loader makes them of the spec        batches.go
//	tables       snapshots of tables that addresses name    tables.go
//	Refresh      the next epoch's snapshot of a table       refresh.go
//	Chosen       what ranks must have in common             fingerprint.go
package shardfeed
