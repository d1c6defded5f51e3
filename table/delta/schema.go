package delta

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/internal/spark"
)

// A schema is the columns of a table.
type schema struct {
	fields     []table.Field
	unreadable []table.Unreadable
	partitions []int // places of the partition columns
}

// Modes of mapping columns to names in files.
const (
	mappingMode = "delta.columnMapping.mode"
	mapByID     = "id"
	mapByName   = "name"

	physicalName = "delta.columnMapping.physicalName"
	physicalID   = "delta.columnMapping.id"
)

// Properties of row tracking.
const (
	rowTracking = "delta.enableRowTracking"
	rowIDColumn = "delta.rowTracking.materializedRowIdColumnName" // in files of rows that were in others before
)

// schema reads the schema of the metadata.
func (m *metadata) schema(p *protocol) (*schema, error) {
	if m.Format.Provider != "" && m.Format.Provider != "parquet" {
		return nil, fmt.Errorf("the table has files of format %q, and only parquet can be read", m.Format.Provider)
	}
	byName, byID := false, false
	if p.maps() {
		switch mode := m.Config[mappingMode]; mode {
		case "", "none":
		case mapByID, mapByName:
			byName, byID = true, mode == mapByID
		default:
			return nil, fmt.Errorf("the table maps columns by %q, which is not known", mode)
		}
	}
	fields, unreadable, err := spark.Fields(m.Schema, func(metadata map[string]json.RawMessage, f *table.Field) error {
		if !byName {
			return nil
		}
		return physical(metadata, f, byID)
	})
	if err != nil {
		return nil, err
	}
	s := &schema{fields: fields, unreadable: unreadable}
	for _, name := range m.Partitions {
		at := slices.IndexFunc(fields, func(f table.Field) bool { return f.Column.Name == name })
		if at < 0 {
			at = slices.IndexFunc(fields, func(f table.Field) bool { return strings.EqualFold(f.Column.Name, name) })
		}
		if at < 0 {
			return nil, fmt.Errorf("%w: the schema lacks the partition column %q", shard.ErrCorrupt, name)
		}
		s.partitions = append(s.partitions, at)
	}
	return s, nil
}

// physical sets the name and perhaps the ID by which files know a field.
func physical(metadata map[string]json.RawMessage, f *table.Field, byID bool) error {
	if text := metadata[physicalName]; text != nil {
		if err := json.Unmarshal(text, &f.Names[0]); err != nil {
			return err
		}
	}
	if text := metadata[physicalID]; text != nil && byID {
		return json.Unmarshal(text, &f.ID)
	}
	return nil
}
