// Package driver is what stores share, so that a driver is one request and the meaning of its
// errors.
//
// [Walk] lists what an address with globs and braces names in a [Tree] of directories; [WalkDeep]
// does so in a [DeepTree], which describes all files below a directory at once, for instance by
// [Descend].
//
// A read from a server takes these steps: [Check] refuses what cannot be read; [Plan] turns ranges
// into parts, each of which is one request; [ReadParts] reads the parts side by side; a [Fill]
// leads the bytes of a part into the caller's memory and knows the byte reached; a [Backoff] says
// whether and when a request that failed is made again for the rest; a [Watch] ends a request that
// brings nothing. A [Window] holds the requests in flight to one server.
//
// A [Listing] bounds one list and [Pages] one chain of pages, so that no server
// can make a list loop or grow without limit. [Ended] is the error of a context that ended.
//
// The package knows no protocol, starts no goroutine that outlives the call that needs it, and
// keeps no memory but the buffers into which the bytes of holes go.
package driver
