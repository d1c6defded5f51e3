package iceberg

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/shardfeed/shardfeed/shard"
)

// metadata is the content of a metadata file.
type metadata struct {
	Format     int               `json:"format-version"`
	UUID       string            `json:"table-uuid"`
	Location   string            `json:"location"`
	Current    *int64            `json:"current-snapshot-id"`
	SchemaID   int               `json:"current-schema-id"`
	Schemas    []schema          `json:"schemas"`
	Schema     *schema           `json:"schema"` // of version 1
	Specs      []spec            `json:"partition-specs"`
	Spec       []partitionField  `json:"partition-spec"` // of version 1
	Snapshots  []snapshot        `json:"snapshots"`
	Log        []logEntry        `json:"snapshot-log"`
	Refs       map[string]ref    `json:"refs"`
	Properties map[string]string `json:"properties"`
	Keys       []json.RawMessage `json:"encryption-keys"`
}

// A schema is the columns of a table at some time.
type schema struct {
	ID     int     `json:"schema-id"`
	Fields []field `json:"fields"`
}

// A field is a column, or a member of a struct.
type field struct {
	ID       int32           `json:"id"`
	Name     string          `json:"name"`
	Required bool            `json:"required"`
	Type     fieldType       `json:"type"`
	Default  json.RawMessage `json:"initial-default"`
}

// A spec is a way to partition files.
type spec struct {
	ID     int32            `json:"spec-id"`
	Fields []partitionField `json:"fields"`
}

type partitionField struct {
	Source    int32  `json:"source-id"`
	ID        int    `json:"field-id"`
	Name      string `json:"name"`
	Transform string `json:"transform"`
}

type snapshot struct {
	ID           int64             `json:"snapshot-id"`
	Time         int64             `json:"timestamp-ms"`
	ManifestList string            `json:"manifest-list"`
	Manifests    []string          `json:"manifests"` // of version 1
	Schema       *int              `json:"schema-id"`
	Summary      map[string]string `json:"summary"`
	Key          *string           `json:"key-id"`
}

type logEntry struct {
	Time     int64 `json:"timestamp-ms"`
	Snapshot int64 `json:"snapshot-id"`
}

// A ref is a tag or a branch.
type ref struct {
	Snapshot int64  `json:"snapshot-id"`
	Type     string `json:"type"`
}

const (
	newestFormat = 3
	maxMetadata  = 1 << 30 // bytes of a metadata file
)

// parse reads a metadata file, which may be compressed.
func parse(content []byte) (*metadata, error) {
	if bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
		r, err := gzip.NewReader(bytes.NewReader(content))
		if err == nil {
			content, err = io.ReadAll(io.LimitReader(r, maxMetadata))
		}
		if err != nil {
			return nil, fmt.Errorf("%w: the metadata file: %w", shard.ErrCorrupt, err)
		}
	}
	m := &metadata{}
	if err := json.Unmarshal(content, m); err != nil {
		return nil, fmt.Errorf("%w: the metadata file: %w", shard.ErrCorrupt, err)
	}
	if m.Schemas == nil && m.Schema != nil {
		m.Schemas, m.SchemaID = []schema{*m.Schema}, m.Schema.ID
	}
	if m.Specs == nil {
		m.Specs = []spec{{Fields: m.Spec}}
	}
	for _, s := range m.Specs {
		for i := range s.Fields {
			if s.Fields[i].ID == 0 { // version 1 counts them
				s.Fields[i].ID = firstPartition + i
			}
		}
	}
	return m, m.check()
}

const firstPartition = 1000 // the ID of the first field of a partition in version 1

// check refuses tables that cannot be read.
func (m *metadata) check() error {
	switch {
	case m.Format < 1 || m.Format > newestFormat:
		return fmt.Errorf("the table has format version %d, and versions 1 to %d can be read", m.Format, newestFormat)
	case len(m.Keys) > 0 || m.Properties["encryption.key-id"] != "":
		return errEncrypted
	case len(m.Schemas) == 0:
		return fmt.Errorf("%w: the metadata file has no schema", shard.ErrCorrupt)
	}
	return nil
}

var errEncrypted = fmt.Errorf("the table is encrypted, which cannot be read")

// identity is the UUID of the table, or its location, as version 1 did not require a UUID.
func (m *metadata) identity() string {
	if m.UUID != "" {
		return m.UUID
	}
	return strings.TrimRight(m.Location, "/")
}

// current is the ID of the current snapshot, if there is one.
func (m *metadata) current() (int64, bool) {
	if m.Current == nil || *m.Current < 0 {
		return 0, false
	}
	return *m.Current, true
}

func (m *metadata) snapshot(id int64) *snapshot {
	for i := range m.Snapshots {
		if m.Snapshots[i].ID == id {
			return &m.Snapshots[i]
		}
	}
	return nil
}

func (m *metadata) schema(id int) *schema {
	for i := range m.Schemas {
		if m.Schemas[i].ID == id {
			return &m.Schemas[i]
		}
	}
	return nil
}

func (m *metadata) spec(id int32) (*spec, error) {
	for i := range m.Specs {
		if m.Specs[i].ID == id {
			return &m.Specs[i], nil
		}
	}
	return nil, fmt.Errorf("%w: the metadata file has no partition spec %d", shard.ErrCorrupt, id)
}

// fieldOf returns the column of an ID in the newest schema that has it, which may be a part of
// another; nil without one.
func (m *metadata) fieldOf(id int32) *field {
	if path := m.pathOf(id); path != nil {
		return path[len(path)-1]
	}
	return nil
}

// pathOf returns the fields from a column to the field of an ID.
func (m *metadata) pathOf(id int32) []*field {
	for i := len(m.Schemas) - 1; i >= 0; i-- {
		if path := pathTo(id, m.Schemas[i].Fields); path != nil {
			return path
		}
	}
	return nil
}

func pathTo(id int32, fields []field) []*field {
	for i := range fields {
		f := &fields[i]
		if f.ID == id {
			return []*field{f}
		}
		if below := pathTo(id, f.Type.fields); below != nil {
			return append([]*field{f}, below...)
		}
	}
	return nil
}
