package table

import (
	"slices"

	"github.com/shardfeed/shardfeed/column"
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

// HasRowIDs reports whether the table has a column of the name RowID.
func (s *Snapshot) HasRowIDs() bool { return s.field(RowID) != nil }

func (s *Snapshot) field(name string) *Field {
	for i := range s.Fields {
		if s.Fields[i].Column.Name == name {
			return &s.Fields[i]
		}
	}
	return nil
}

// FirstRows are the IDs of the files' first rows; nil if the table does not track rows.
func (s *Snapshot) FirstRows() (first []int64) {
	if f := s.field(RowID); f == nil || !f.RowIDs {
		return nil
	}
	for i := range s.Files {
		first = append(first, s.Files[i].FirstRow)
	}
	return first
}
