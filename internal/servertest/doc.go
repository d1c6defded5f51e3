// Package servertest starts real storage servers for the tests: S3, HDFS, nginx, a Kerberos KDC and
// emulators of Google Cloud Storage and Azure Blob Storage, each on free loopback ports, and puts a
// [Proxy] before them that makes faults. It links nothing of the module, so that the tests of any
// package may use it.
//
// tools/server provides the programs; tests never install them. If one is missing the test skips
// with a line that names it; with CI=true that is a failure. SHARDFEED_SERVERS=off skips every test
// that needs a server, without looking.
//
// A server is shared by the tests of one test binary that ask for it with the same options: tests
// keep apart by a bucket or a directory of their own. Tests that stop a server or its parts say Own
// and get one that ends with the test. Every server ends with the process that started it, however
// that ends, and its files are removed by its watcher, so nothing is left to clean.
//
// No goroutine of this package outlives a test, and every wait is bounded: [ReadyWithin] for a
// server to answer.
package servertest
