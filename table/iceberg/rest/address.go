package rest

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// IsTable reports whether an address is of a table in a catalog.
func IsTable(text string) bool {
	scheme, _ := shard.SplitScheme(text)
	return scheme == "iceberg"
}

// An address is iceberg://CATALOG/NAMESPACE.TABLE, where a namespace may have several levels.
type address struct {
	catalog   string
	namespace []string
	table     string
}

func parseAddress(text string) (address, error) {
	_, rest := shard.SplitScheme(text)
	catalog, path, _ := strings.Cut(rest, "/")
	var parts []string
	for part := range strings.SplitSeq(strings.TrimRight(path, "/"), ".") {
		decoded, err := url.PathUnescape(part)
		if err != nil || decoded == "" {
			parts = nil
			break
		}
		parts = append(parts, decoded)
	}
	if catalog == "" || len(parts) < 2 || strings.Contains(path, "/") && !strings.HasSuffix(path, "/") {
		return address{}, fmt.Errorf("%w: a table of a catalog is iceberg://CATALOG/NAMESPACE.TABLE, with %%2E for a dot within a name", shard.ErrBadURI)
	}
	last := len(parts) - 1
	return address{catalog: catalog, namespace: parts[:last], table: parts[last]}, nil
}

// path is the address of the table below its catalog's.
func (a address) path() string {
	return "namespaces/" + url.PathEscape(strings.Join(a.namespace, "\x1f")) + "/tables/" + url.PathEscape(a.table)
}
