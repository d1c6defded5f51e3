package table

import (
	"slices"
	"strings"
)

// Schemes of tables: before a + and the address of a directory, and of tables that are known to a
// server by a name.
var (
	directories = []string{"delta", "iceberg"}
	servers     = []string{"delta", "iceberg", "hive"} // delta:// is refused by its format
)

// Cut cuts an address of a table, such as "delta+s3://bucket/table", into its format and the
// address of the table. Addresses such as "iceberg://..." of a catalog stay whole. format is "" for
// other addresses. Write "./delta+name" for a local file of such a name.
func Cut(address string) (format, at string) {
	for _, f := range directories {
		if at, ok := strings.CutPrefix(address, f+"+"); ok && at != "" {
			return f, at
		}
	}
	for _, f := range servers {
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
