// Package s3 is the store of buckets: s3://, s3a:// and s3n:// addresses, on AWS and on servers
// that speak its protocol. It reads and lists; it never writes to a bucket.
//
// # Reaching a bucket
//
// [New] reads no file and sends no request. The first use reads the configuration like the AWS
// tools: environment, profiles, single sign-on, web identity, the roles of containers and machines;
// credentials refresh themselves, and when a server reports that they expired, the configuration is
// read again. AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL name another server, whose buckets are then
// part of the path. The region is the configured one, else the bucket's answer; an answer that
// names another is followed and remembered for the bucket. [Store.Explain] lists the settings and
// their sources.
//
// # Shards
//
// A shard's version is the object's entity tag, an opaque text (or the time of the last change, if
// a server gives no tag). "s3://bucket/key?versionId=id" names one version of a key. Keys are
// literal: nothing is decoded or cleaned, a//b and a/b are two objects. An object whose name ends
// with a slash marks a directory and is not a shard.
//
// # Listing
//
// See package bucket. A page has a thousand keys. Buckets of S3 Express list in no order.
//
// # Reading
//
// Open sends no request. Ranges with holes of at most 1 MiB between them share a run, a run of more
// than the part size is cut into even parts, and a part is one GET with If-Match; see package
// driver. Each answer's entity tag, total size and first byte are compared with the request, also
// on servers that ignore If-Match.
//
// Transient failures are retried after growing, random waits (or after Retry-After): throttling,
// server errors, broken connections, requests without a byte for the read timeout. A broken body is
// continued from the byte reached. Progress restarts the count of tries; without any, a read fails
// after the give-up time. If an answer takes long to start (three times the 95th percentile, at
// least the hedge time), the request is sent a second time; the first answer wins, and only its
// body is read.
//
// # Window, memory, goroutines
//
// All requests to one endpoint share a [driver.Window]; waiting for its tokens holds no token and
// no buffer of the store's. Beyond the callers' buffers a store holds, for each request in flight,
// a connection with its 64 KiB buffer, and the same again for holes; and idle connections, which
// [Store.Close] closes. Goroutines end with the call that started them.
package s3
