// Package wire holds what engine and trainer exchange: frames and their messages, the
// failures of the engine, and the sockets they go through. Package engine specifies the protocol.
//
// A Reader reads the frames of one connection and bounds what they take. An Outbox writes frames
// and never blocks its callers; one goroutine writes what the socket does not take at once, and
// Finish waits for it. FailureOf makes the Failure that a trainer sees of any error, without the
// secrets of addresses.
package wire
