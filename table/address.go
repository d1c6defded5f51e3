package table

import (
	"slices"
	"strings"
)

// formats are the schemes of tables, before a + or before ://.
var formats = []string{"delta", "iceberg"}

// Cut cuts an address of a table, such as "delta+s3://bucket/table", into its format and the
// address of the table. An address "iceberg://..." of a catalog stays whole. format is "" for other
// addresses. Write "./delta+name" for a local file of such a name.
func Cut(address string) (format, at string) {
	for _, f := range formats {
		if at, ok := strings.CutPrefix(address, f+"+"); ok && at != "" {
			return f, at
		}
		if strings.HasPrefix(address, f+"://") {
			return f, address
		}
	}
	return "", address
}

// IsTable reports whether an address is of a table.
func IsTable(address string) bool {
	format, _ := Cut(address)
	return format != ""
}

// AnyTable reports whether one of the addresses is of a table.
func AnyTable(addresses []string) bool { return slices.ContainsFunc(addresses, IsTable) }
