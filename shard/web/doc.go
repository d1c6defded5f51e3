// Package web is the store of files that web servers serve: http:// and https:// addresses.
//
// # Addresses
//
//	https://host/dir/part-0.parquet            a file
//	https://host/dir/part-{000..099}.parquet   braces, as everywhere
//	https://host/file.parquet?signature=x      a query belongs to every name that braces make
//
// The path is sent as it is spelled, so characters that URLs do not have are percent-encoded. Web
// servers list no directories: a directory or a glob is an error. Credentials do not belong into an
// address; Options.Headers has them.
//
// # Which bytes
//
// A shard's version is its ETag, or else its Last-Modified. Each request asks for that version, by
// If-Match or If-Unmodified-Since, and each answer is compared with it and with the size. A server
// that sends neither lets only a change of the size be seen, and nothing is kept of its shards. The
// files of tables have no version: a driver.Seen holds the first one.
//
// # Requests
//
// A look at a file is a request for its first byte, since signed URLs permit no HEAD. Nearby ranges
// are read as one, long ones in parts, several at once under a driver.Window for each server, which
// is not wider than what the server's header RateLimit leaves. A server has to serve ranges.
// Redirects are followed here, up to 5 each time, from https to https only, and another server than
// the address's gets no header of Options. Transient faults are retried until RetryFor has passed
// without a byte, after the pause that Retry-After asks for.
//
// # Resources
//
// The store keeps idle connections until Close, and no goroutine of its own; reads start goroutines
// and wait for them.
package web
