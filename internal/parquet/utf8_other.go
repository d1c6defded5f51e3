//go:build !amd64

package parquet

// Without vector instructions text goes to the standard library.

func validBlocks(*byte, int) bool { return false }

func canValidateBlocks() bool { return false }
