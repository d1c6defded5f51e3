// Package driver has the parts that stores share, so that a driver only defines one request and the
// meaning of its errors.
//
// [Walk] lists what an address with globs and braces names in a [Tree], which describes all files
// below a directory at once; [Descend] is that for places that list directory by directory.
//
// A read from a server takes these steps: [Check] refuses what cannot be read; [Plan] turns ranges
// into parts, each of which is one request; [ReadParts] reads the parts side by side; a [Fill]
// leads the bytes of a part into the caller's memory and knows the byte reached; a [Backoff] says
// whether and when a request that failed is made again for the rest; a [Watch] ends a request that
// brings nothing. A [Window] holds the requests in flight to one server, and a [Meter] counts them.
// [Seen] holds the first version of files that are named without one.
//
// Retries, limits and counts are parts of this kit, not a wrapper around a store like the cache. A
// store sees calls, but they concern requests: one read is many requests, to servers that only the
// driver knows. A retry requests the rest of one body, with another region, ticket, namenode or
// datanode. A token belongs to one request to one server, as does a count. Around a store, a retry
// would repeat bytes that have arrived, and all three would need the driver's errors, servers and
// waits passed up to them.
//
// A [Listing] bounds one list and [Pages] one chain of pages, so that no server can make a list
// loop or grow without limit.
//
// The package knows no protocol, starts no goroutine that outlives the call that needs it, and
// keeps no memory but the buffers into which the bytes of holes go.
package driver
