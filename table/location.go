package table

import (
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// AddressOf returns a location as the writers of tables spell it in the spelling of stores: s3a and
// s3n are S3, and file: is a bare path.
func AddressOf(location string) string {
	if strings.HasPrefix(location, "/") {
		return location
	}
	scheme, rest := shard.SplitScheme(location)
	switch scheme {
	case "s3a", "s3n":
		return "s3://" + rest
	case "file":
		return "/" + strings.TrimLeft(strings.TrimPrefix(rest, "localhost/"), "/")
	}
	return location
}

// Literal returns an address in which no character is of a pattern.
func Literal(address string) string { return patterns.Replace(address) }

var patterns = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`, `,`, `\,`)
