//go:build !unix

package local

import "io/fs"

// identity is unknown here; links in a circle end with the system's limit on path lengths.
func identity(fs.FileInfo) string { return "" }

// instance is unknown here: a file is known by its size and its time.
func instance(fs.FileInfo) string { return "" }
