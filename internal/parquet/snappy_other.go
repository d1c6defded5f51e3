//go:build !amd64

package parquet

// Without vector instructions Snappy goes to the library.

func snappyElements(_, _ []byte, out, in int, _ *snappyTables) (o, i int) { return out, in }

func hasSnappyElements() bool { return false }
