// Package filetest makes parquet files for tests, of which only the footer has a meaning.
package filetest
