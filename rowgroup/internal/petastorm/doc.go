// Package petastorm finds the schemas that petastorm keeps beside shards, which declare how binary
// columns are encoded. It reads one file of each directory.
package petastorm
