// Package scan reads the parquet files in which formats of tables keep metadata: checkpoints, lists
// of deleted rows, and columns that name deleted rows by their values.
//
// A scan holds the encoded columns of one row group, and some tens of megabytes of decoded ones.
package scan
