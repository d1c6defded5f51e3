// Package driver is what the stores of remote servers share, so that a driver is one request and the meaning of its errors.
//
//   - [Ended] is the error of a context that ended.
//   - [Listing] bounds one list, and [Pages] one chain of pages, so that no server can make a list loop or grow without limit.
//
// The package knows no protocol.
package driver
