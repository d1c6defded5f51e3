// Package size reads numbers of bytes, and times, as people write them.
package size
