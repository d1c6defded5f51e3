package shard

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/internal/option"
)

// besides are the extensions of files beside the data: descriptions and checksums.
var besides = []string{".md", ".json", ".txt", ".crc"}

func isBeside(s Shard) bool {
	ext := path.Ext(s.URI)
	return slices.Contains(besides, strings.ToLower(ext)) || s.Size == 0 && ext == "" // the mark of an empty directory
}

// isParquet reports whether a file is parquet by its name: a.parquet, a.parquet.snappy, a.parq,
// a.pq. Files of Hive have no such names.
func isParquet(name string) bool {
	name = strings.ToLower(path.Base(name))
	return strings.Contains(name, ".parq") || strings.HasSuffix(name, ".pq")
}

// isDirectory reports whether an address names a directory above all of its shards, and no pattern.
func isDirectory(address string, found []Shard) bool {
	prefix := strings.TrimRight(address, "/") + "/"
	return len(found) > 0 && !slices.ContainsFunc(found, func(s Shard) bool { return !strings.HasPrefix(s.URI, prefix) })
}

// leaveOut removes descriptions, checksums and empty files without an extension from the files of a
// directory, if all other files are parquet by name. Kept is found itself if nothing is left out.
func leaveOut(address string, found []Shard) (kept []Shard, out []string, err error) {
	if !isDirectory(address, found) {
		return found, nil, nil
	}
	prefix, others := len(strings.TrimRight(address, "/"))+1, false
	for _, s := range found {
		switch {
		case isBeside(s):
			out = append(out, s.URI[prefix:])
		case isParquet(s.URI):
			kept = append(kept, s)
		default:
			others = true
		}
	}
	switch {
	case len(out) == 0, others: // what the others are shows when they are read
		return found, nil, nil
	case len(kept) == 0:
		return nil, nil, &Error{
			Op: "list", URI: address, Err: fmt.Errorf("%w: this directory has no parquet files, only %s", ErrNotExist, few(out)), Hint: onlyParquet(address),
		}
	}
	return kept, out, nil
}

// onlyParquet suggests an address of only the parquet files of a directory.
func onlyParquet(address string) string {
	return fmt.Sprintf("to read its parquet files alone, give %s/**/*.parquet", option.Literal(Redact(strings.TrimRight(address, "/"))))
}

// few names the first two of some files and counts the others.
func few(names []string) string {
	const most = 2
	for i, name := range names {
		names[i] = brief(name, longestAddress)
	}
	if len(names) <= most {
		return strings.Join(names, " and ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
