// Package connect has what the stores that speak HTTP share: the transport of their requests, the
// meaning of its errors, and the spelling of URLs.
package connect
