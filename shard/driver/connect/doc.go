// Package connect has what the stores that speak HTTP share: the transport of their requests, and
// the meaning of its errors.
package connect
