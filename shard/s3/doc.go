// Package s3 is the store of buckets: s3://, s3a:// and s3n:// addresses, on AWS and on servers
// that speak its protocol. It reads and lists; it never writes to a bucket.
//
// # Reaching a bucket
//
// [New] reads no file and asks no server. The first use reads the configuration as the AWS tools
// do: environment, profiles, single sign-on, web identity, the roles of containers and machines;
// credentials refresh themselves, and when a server says that they expired, the configuration is
// read again. AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL name another server, whose buckets then go
// into the path. The region is the one that somebody named, else the bucket is asked; an answer
// that names another is followed and remembered for the bucket. [Store.Explain] says what it found,
// and where.
//
// # Shards
//
// A shard's version is the object's entity tag, which is compared and never understood (where a
// server gives none, the time of the last change). "s3://bucket/key?versionId=id" names one version
// of a key. Keys are taken as they stand: nothing is decoded or cleaned, a//b and a/b are two
// objects. An object whose name ends with a slash marks a directory and is not a shard.
//
// # Listing
//
// A name is first looked up as an object, then as a directory: so one object needs no right to
// list. All below a directory comes in pages of a thousand keys, whatever directories they lie in;
// after some pages, directories are listed side by side, those in which a pattern finds nothing
// left out. Buckets of S3 Express list in no order, and are listed page by page.
//
// # Reading
//
// Open sends no request. Ranges with holes of at most 1 MiB between them share a run, a run of more
// than the part size is cut into even parts, and a part is one GET with If-Match; see package
// driver. Each answer's entity tag, total size and first byte are compared with the request, also
// on servers that ignore If-Match.
//
// What fails and passes is tried again after growing, random waits (or what Retry-After asks for):
// throttling, server errors, connections that break, requests that bring no byte for the read
// timeout. A body that breaks is continued from the byte reached. Progress starts the count of
// tries again; without any, a read ends with an error after the give-up time. When an answer does
// not begin for long (three times what 19 of 20 take, at least the hedge time), the request is made
// a second time; the first answer wins, and only its body is read.
//
// # Window, memory, goroutines
//
// All requests to one endpoint share a [driver.Window]; waiting for its tokens holds no token and
// no buffer of the store's. Beyond the callers' buffers a store holds, for each request in flight,
// a connection with its 64 KiB buffer, and where there are holes as much again; and idle
// connections, which [Store.Close] ends. Goroutines end with the call that started them.
package s3
