package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// A piece is one range of a shard.
type piece struct {
	URI string `json:"uri"`
	Off int64  `json:"off"`
	N   int64  `json:"n"`
}

// readPieces reads a file of ranges, a JSON array.
func readPieces(path string) ([]piece, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []piece
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no ranges", path)
	}
	for _, p := range all {
		if p.Off < 0 || p.N <= 0 {
			return nil, fmt.Errorf("%s: %d bytes from %d of %s", path, p.N, p.Off, p.URI)
		}
	}
	return all, nil
}

// uris lists each address of the ranges once, in their order.
func uris(pieces []piece) []string {
	var all []string
	seen := map[string]bool{}
	for _, p := range pieces {
		if !seen[p.URI] {
			seen[p.URI] = true
			all = append(all, p.URI)
		}
	}
	return all
}

// largest is the bytes of the largest range.
func largest(pieces []piece) (n int64) {
	for _, p := range pieces {
		n = max(n, p.N)
	}
	return n
}
