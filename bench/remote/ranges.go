package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// A piece is one range of a shard.
type piece struct {
	uri    string
	off, n int64
}

// readPieces reads a file of ranges: in each line an address, the first byte and the number of
// bytes, with tabs between.
func readPieces(path string) ([]piece, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []piece
	for line := range strings.Lines(string(b)) {
		p, err := parsePiece(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no ranges", path)
	}
	return all, nil
}

func parsePiece(line string) (piece, error) {
	fields := strings.Split(line, "\t")
	if len(fields) != 3 {
		return piece{}, fmt.Errorf("%q is no address, offset and length", line)
	}
	off, err := strconv.ParseInt(fields[1], 10, 64)
	n, errN := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || errN != nil || off < 0 || n <= 0 {
		return piece{}, fmt.Errorf("%q is no range", line)
	}
	return piece{fields[0], off, n}, nil
}

// uris lists each address of the ranges once, in their order.
func uris(pieces []piece) []string {
	var all []string
	seen := map[string]bool{}
	for _, p := range pieces {
		if !seen[p.uri] {
			seen[p.uri] = true
			all = append(all, p.uri)
		}
	}
	return all
}
