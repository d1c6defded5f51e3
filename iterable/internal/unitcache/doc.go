// Package unitcache holds decoded units for rows by number.
//
// A [Cache] holds units within a number of bytes of an account. A draw pins the units that it uses
// with [Cache.Pin], which takes the room for all of them at once, waits for the ones that are not
// loaded, and drops the least recently used ones. A unit that several draws want is loaded once;
// one that fails is not kept. The package starts no goroutine.
package unitcache
