package rowgroup

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// Names of the columns that Options.RowIDs adds behind all others.
const (
	RowColumn    = "_row"   // int64: the row's number in the manifest, from 0
	SourceColumn = "source" // int32: shard.Shard.Source
)

// addRowIDs adds the columns that name each row, with names of their own or without. The projected
// columns are in the schema already.
func (b *binding) addRowIDs(m *Manifest) error {
	row, source, named := "", "", b.options.RowIDs
	if named {
		row, source = RowColumn, SourceColumn
	}
	for _, f := range m.schema.Fields {
		if named && (f.Name == row || f.Name == source) {
			return &Error{
				Op: "schema", Column: f.Name, RowGroup: -1, Page: -1,
				Err:  errors.New("row ids add a column of this name, and the data has one"),
				Hint: "leave that column out, or read without row ids",
			}
		}
	}
	made := []schema.PartitionColumn{schema.NewRowColumn(row, len(m.shards)), schema.NewSourceColumn(source, m.shards)}
	m.parts = slices.Concat(m.parts, made)
	m.schema.Fields = append(m.schema.Fields, made[0].Field, made[1].Field)
	return nil
}

// Locate returns the group that holds a row of the manifest, as its position in Groups, and the row
// within it.
func (m *Manifest) Locate(row int64) (group int, within int64, err error) {
	if row < m.firstRow || row >= m.firstRow+m.rows {
		return 0, 0, fmt.Errorf("must be %d to %d, got %d", m.firstRow, m.firstRow+m.rows-1, row)
	}
	group = sort.Search(len(m.groups), func(g int) bool { return m.groups[g].First > row }) - 1
	return group, row - m.groups[group].First, nil
}
