// Package driver is what stores share, so that a driver is one request and the meaning of its
// errors.
//
// [Walk] lists what an address with globs and braces names in a [Tree], which describes all files
// below a directory at once; [Descend] is that for places that list directory by directory.
//
// A read from a server takes these steps: [Check] refuses what cannot be read; [Plan] turns ranges
// into parts, each of which is one request; [ReadParts] reads the parts side by side; a [Fill]
// leads the bytes of a part into the caller's memory and knows the byte reached; a [Backoff] says
// whether and when a request that failed is made again for the rest; a [Watch] ends a request that
// brings nothing. A [Window] holds the requests in flight to one server, and a [Meter] counts them.
//
// Retries, limits and counts are parts of the kit and not stores around a store, as the cache is. A
// store sees calls, and they are about requests: one read is many of them, to servers that only the
// driver knows. What is tried again is the rest of one body, with another region, ticket, namenode
// or datanode; a token belongs to one request to one server; a count of calls is no count of
// requests. Around a store each would read parts again that had arrived, and would need the
// driver's errors, servers and backoff handed up to it.
//
// A [Listing] bounds one list and [Pages] one chain of pages, so that no server can make a list
// loop or grow without limit.
//
// The package knows no protocol, starts no goroutine that outlives the call that needs it, and
// keeps no memory but the buffers into which the bytes of holes go.
package driver
