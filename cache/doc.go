// Package cache keeps the bytes of remote shards on a local disk.
package cache
