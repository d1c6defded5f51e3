// Package webhdfs is the store of files in HDFS that are read over HTTP: webhdfs:// and swebhdfs://
// addresses, by the REST interface that namenodes, HttpFS and Knox have in common. Package hdfs
// uses it too, for files that the native protocol does not read: erasure-coded and encrypted ones.
//
// # Addresses
//
//	webhdfs://host:9870/dir/file                          a namenode, or HttpFS on its own port
//	swebhdfs://host:9871/dir/file                         the same by https
//	webhdfs://nameservice/dir/file                        the namenodes that Hadoop's configuration names; the active one answers
//	swebhdfs://knox:8443/gateway/default/webhdfs/v1/dir   behind a gateway, whose path precedes /webhdfs/v1
//
// Options.Gateway is the gateway's path for addresses that leave it out. Like in Hadoop, a path is
// literal: %20 is three characters.
//
// # Which bytes
//
// A shard's version is its modification time in milliseconds and its inode number,
// "1700000000000-16386"; with the size these change whenever the content of a file in HDFS can
// change: files are written once, appended to or cut short, which sets the time, or replaced, which
// gives another inode. WebHDFS has no If-Match, so an object reads by this rule:
//
//  1. It reads the path /.reserved/.inodes/NUMBER, not the name: another file that takes the name,
//     also in the middle of a read, is never read.
//  2. When the last byte of a read has come it asks for the inode's size and modification time. Only
//     when both are the shard's are the bytes handed on; else the error is ErrChanged.
//
// If inodes cannot be read by number (a router over several namenodes, a snapshot, HttpFS, which
// hides the number), both steps use the name. Two changes would then not be detected: a name that
// leads to another file during the read, and back to the first one before the second step; and two
// versions of one size within the same millisecond, if the server gives no inode number.
//
// TCP's checksum and the length of the body are all that guards the bytes between datanode and
// reader; the datanode checks its disk's checksums. https:// does better.
//
// # Requests
//
// Nearby ranges are read as one, long ones in parts of up to 16 MiB, several at once under a
// driver.Window for each cluster. The namenode answers OPEN with a redirect to a datanode, which is
// followed here, so that hosts can be translated and no URL with a token appears in a message. A
// body that ends too early or stalls is continued from the byte reached, elsewhere if possible;
// transient faults (standby and restarting namenodes, dead datanodes, safe mode, 503) are retried
// until a minute has passed without a byte.
//
// Credentials: a delegation token (an option, or the file that HADOOP_TOKEN_FILE_LOCATION names,
// for the host or nameservice of the address), else Kerberos if the server requires it (SPNEGO,
// once for each server; its cookie is used from then on), else a plain user name. They are sent
// only to the servers of the address, never to the target of a redirect.
//
// # Resources
//
// The store keeps idle connections until Close, and no goroutine of its own; reads start goroutines
// and wait for them. A file that is still being written is refused at the first read. Nothing is
// ever written.
package webhdfs
