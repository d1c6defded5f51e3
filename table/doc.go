// Package table describes tables: addresses whose metadata lists the files, rows and columns that
// are data at one commit.
//
// The directory of a table also holds rows that it deleted or replaced. A format's package (delta,
// iceberg) reads the log or the metadata of a table and returns a [Snapshot]: the files of one
// commit, the deleted rows of each, and [Field] values that find a column in files that name or
// number it in their own way. Packages above know no formats: a deleted row is a row that the data
// set does not have. Where rows have IDs ([Snapshot.TrackRows]), a column that must be named has
// them.
//
// Formats keep some of their metadata in parquet files, which they read by the [Scan] of their
// caller.
package table
