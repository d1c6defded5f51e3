// Package testdata holds the small catalogue that the demo and the tests read: eight parquet shards
// of a shop, written by several writers. See README.md for what lies in them and gen.py for how
// they are made.
package testdata

import "embed"

// Shop holds the shards as shop/part-00000.parquet to shop/part-00007.parquet.
//
//go:embed shop/*.parquet
var Shop embed.FS
