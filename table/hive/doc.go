// Package hive opens the tables of a Hive metastore, which it asks by Thrift.
//
// An address is hive://HOST:PORT/DATABASE.TABLE, with commas between several hosts of a metastore.
// [Open] asks for the table and opens it by its kind:
//
//	table                                   snapshot
//	Iceberg, by table_type                  table/iceberg's, from metadata_location
//	Delta, by spark.sql.sources.provider    table/delta's, from its location
//	parquet of Hive or Spark                the current files in the places of its partitions
//
// Other tables are refused by name: other formats, views, transactional tables, tables of storage
// handlers.
//
// The columns of a parquet table come from Spark's properties, which keep the case of names, if the
// metastore's own columns are the same; else from the metastore. Names find the columns of files in
// any case. Values of partition columns come from the metastore and have the types of the table.
// The store lists the files below a partition's place, without hidden and empty ones, and gives
// their versions. A place that does not exist has no files, as in Spark.
//
// A plain table has no history: a new partition changes the set of its files. Its snapshots are
// named for runs that follow it:
//
//	current                  the files that it has
//	TIME-DIGEST              the files of the partitions that the metastore got until TIME
//
// TIME has seconds, and is the newest partition's or, without partition columns, the table's own.
// DIGEST is 16 hexadecimal digits of columns, files, their versions and their partition values. A
// snapshot whose digest no longer fits cannot be read.
package hive
