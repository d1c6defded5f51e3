package table

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
)

// RowID is the name of the column with the IDs of rows, in tables that track rows.
const RowID = "_row_id"

// TrackRows adds the column of row IDs. Files have the IDs of rows that were in other files before
// in a column of a field ID, or 0, or a name. A column of the table with the name RowID stays.
func (s *Snapshot) TrackRows(id int32, names ...string) {
	if s.field(RowID) != nil {
		return
	}
	s.Fields = append(slices.Clip(s.Fields), Field{
		Column: &column.Field{
			Name: RowID, Kind: column.Fixed, Type: column.TypeInt64, Width: 8,
			Nullable: slices.ContainsFunc(s.Files, func(f File) bool { return f.FirstRow < 0 }),
		},
		ID: id, Names: names, RowIDs: true,
	})
}

// CheckRowIDs refuses a name of the IDs of rows, or of their commits, that is not a column of the
// table at an address. The hint names the column of the IDs, or how to enable them.
func (s *Snapshot) CheckRowIDs(address, name string) error {
	top, _, _ := strings.Cut(name, ".")
	if s.field(name) != nil || s.field(top) != nil {
		return nil
	}
	e := &shard.Error{Op: "table", URI: address}
	switch name {
	case "_metadata.row_id":
		e.Err, e.Hint = errors.New("_metadata.row_id is Spark's name of the row ids"), "they are in the column "+RowID
	case "_row_commit_version", "_metadata.row_commit_version", "_last_updated_sequence_number":
		e.Err = fmt.Errorf("%s, the commit that changed a row last, cannot be read", name)
		e.Hint = "leave the column out; the column " + RowID + " has the ids of rows"
	case RowID:
		e.Err = fmt.Errorf("the table does not track rows in snapshot %s, so that it has no column %q", s.Name, RowID)
		e.Hint = enableRowIDs[s.Format]
	default:
		return nil
	}
	return e
}

// enableRowIDs has the way to enable row IDs, by format.
var enableRowIDs = map[string]string{
	"Delta":   "leave the column out, or enable it: ALTER TABLE ... SET TBLPROPERTIES ('delta.enableRowTracking' = 'true'); later snapshots have the ids",
	"Iceberg": "leave the column out, or upgrade the table: ALTER TABLE ... SET TBLPROPERTIES ('format-version' = '3'); rows have ids from the next commit on",
	"Hive":    "leave the column out: tables of Hive have no row ids; {RowIDs} numbers the rows of the files",
}

func (s *Snapshot) field(name string) *Field {
	for i := range s.Fields {
		if s.Fields[i].Column.Name == name {
			return &s.Fields[i]
		}
	}
	return nil
}

// TracksRows reports whether the table has a column of row IDs.
func (s *Snapshot) TracksRows() bool {
	f := s.field(RowID)
	return f != nil && f.RowIDs
}

// FirstRows are the IDs of the files' first rows; nil if the table does not track rows.
func (s *Snapshot) FirstRows() (first []int64) {
	if !s.TracksRows() {
		return nil
	}
	for i := range s.Files {
		first = append(first, s.Files[i].FirstRow)
	}
	return first
}
