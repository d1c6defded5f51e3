package parquet

import (
	"errors"
	"slices"
)

// ErrDeletes is in errors about files that list deleted rows of an Iceberg table.
var ErrDeletes = errors.New("it is an Iceberg delete file, which lists deleted rows of a table and holds no data")

// Field IDs that Iceberg reserves for the columns file_path and pos of position-delete files.
const (
	deletedPath = 2147483546
	deletedPos  = 2147483545
)

// ListsPositions reports whether the columns belong to a position-delete file.
func ListsPositions(all []Element) bool {
	return slices.ContainsFunc(all, func(e Element) bool { return e.FieldID == deletedPath || e.FieldID == deletedPos })
}

// isDeleteType reports whether an entry of the writer's metadata marks a delete file; equality
// deletes have columns of the table.
func isDeleteType(key, value []byte) bool {
	return string(key) == "delete-type" && (string(value) == "equality" || string(value) == "position")
}
