// Package hdfs is the store of files in HDFS: hdfs:// and viewfs:// addresses, read natively,
// without a JVM.
//
// A [Store] finds the namenodes of an address in the Hadoop configuration, or takes the address for
// a namenode itself; see [Options]. It speaks to them and to the datanodes through
// github.com/colinmarc/hdfs. Each connection to a datanode is one of package wire, which hands on
// whole packets whose checksums are right, or an error: a flipped bit, a cut or a hung server leads
// to another replica or to an error, never to a wrong byte.
//
// What this way cannot verify or cannot read goes through WebHDFS, whose datanode verifies:
// encrypted transports, erasure-coded files, and files within encryption zones. Where no HTTP
// address of the namenode is known such a file is refused before a byte is read.
//
// A file that is still being written is an error that names it ([ErrUnfinished]). The namenode's
// answers about blocks show it, but the library hides them, so the store reads them in transit: at
// each read, and at Open of an empty file. If the namenode encrypts its answers
// (hadoop.rpc.protection=privacy), only WebHDFS shows it.
//
// A shard's version is the modification time in milliseconds and the file's id. It is compared
// whenever a file is opened again, which is at least once in each read.
//
// A store reads with a bounded number of slots: a slot is one client with one connection to a
// namenode, for one stream at a time. Idle slots are closed after a while, since the library
// asks the namenode every second to renew leases. Connections to datanodes are kept for two
// seconds, for whichever slot asks the same datanode next. The library starts a goroutine for each
// client, and a read one for each part of a long range; Close waits for reads, and closes the
// clients.
package hdfs
