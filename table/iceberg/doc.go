// Package iceberg reads the metadata of Apache Iceberg tables, format versions 1 to 3.
//
// [Open] returns one snapshot of a table, in these steps:
//
//	file       what
//	find       the metadata file that a directory's version hint or highest number names
//	metadata   the metadata file: schemas, partition specs, snapshots, tags and branches
//	choose     the snapshot that the caller asks for, and its schema
//	schema     Iceberg's types as columns, with field IDs, default values and name mapping
//	manifest   the manifests of the snapshot: data files and delete files
//	partition  values of partitions: constants of files, and which deletes apply to them
//	position   deleted rows of position delete files
//	vector     deleted rows of deletion vectors
//	equality   deleted rows of equality deletes, found by a scan of the key columns of data files
//
// Rows have IDs from format version 3 on: a data file without a first one inherits it from its
// manifest. Statistics in manifests are ignored. Data files are only read if an equality delete
// applies to them. A [table.Keeper] keeps the deleted rows of each data file, by the delete files
// that apply to it: delete files are read for data files whose rows are not kept. Sequence numbers
// follow the section Scan Planning of the specification, https://iceberg.apache.org/spec/.
//
// If the files of a table are not at the location in its metadata, they are read from the address
// that was opened, so that copies of a table need no change.
//
// Memory: an entry of some 200 bytes for each data file, the manifests that are read at the time, a
// bit for each row up to a file's last deleted one, and up to 1 GiB of keys of equality deletes.
package iceberg
