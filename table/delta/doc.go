// Package delta reads the logs of Delta tables.
//
// The log of a table is a directory, _delta_log. A commit, N.json, has one action a line: it adds
// and removes files, and sets the protocol and the metadata (schema, partition columns,
// configuration). A checkpoint has the actions that are left of all commits up to its version: one
// parquet file or several, or, in version 2, a manifest of JSON or parquet with sidecar files.
//
// [Open] lists the log and replays it from the version asked for back to the newest checkpoint: the
// first word about a file counts. A file is known by its path and its deletion vector. The
// vectors, which are bitmaps of deleted rows in files of their own or within the log, are read at
// once, each file of them one time, unless a [table.Keeper] has their rows. Data files are not
// looked at: the log has their sizes, and no version.
//
// Fields have the names of the table's schema, and the physical names or IDs that find them in
// files; see [table.Field]. Partition values are constants of the schema's types. With row
// tracking, each file has the ID of its first row.
//
// What a table's protocol demands and this package does not know is an error that names it.
//
// The log is read in pieces. Memory is some hundred bytes for each file of the table and each file
// that the replayed commits remove, and a bit for each row of files with deleted rows.
package delta
