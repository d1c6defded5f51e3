package delta

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/table"
)

const mappedSchema = `{"type":"struct","fields":[
{"name":"a","type":"long","nullable":false,"metadata":{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"c1"}},
{"name":"s","type":{"type":"struct","fields":[
  {"name":"x","type":"decimal(20,3)","nullable":true,"metadata":{"delta.columnMapping.id":3,"delta.columnMapping.physicalName":"c3"}}]},
  "nullable":true,"metadata":{"delta.columnMapping.id":2,"delta.columnMapping.physicalName":"c2"}},
{"name":"m","type":{"type":"map","keyType":"string","valueType":{"type":"array","elementType":"date","containsNull":true},"valueContainsNull":false},
  "nullable":true,"metadata":{"delta.columnMapping.id":4,"delta.columnMapping.physicalName":"c4"}},
{"name":"dt","type":"date","nullable":true,"metadata":{"delta.columnMapping.id":5,"delta.columnMapping.physicalName":"c5"}}]}`

// describe spells fields: name, names in files, ID and type.
func describe(b *strings.Builder, indent string, all []table.Field) {
	for _, f := range all {
		fmt.Fprintf(b, "%s%s %v %d %s\n", indent, f.Column.Name, f.Names, f.ID, f.Column)
		describe(b, indent+"  ", f.Parts)
	}
}

// Files find columns by the mode of the table.
func TestSchema(t *testing.T) {
	const (
		byName = `a [c1] 0 int64
s [c2] 0 struct<x: decimal(20,3)>
  x [c3] 0 decimal(20,3)
`
		byID = `a [c1] 1 int64
s [c2] 2 struct<x: decimal(20,3)>
  x [c3] 3 decimal(20,3)
`
		asNamed = `a [a] 0 int64
s [s] 0 struct<x: decimal(20,3)>
  x [x] 0 decimal(20,3)
`
	)
	for _, c := range []struct {
		mode   string
		reader int32
		want   string
	}{{"name", 2, byName}, {"id", 2, byID}, {"none", 2, asNamed}, {"name", 1, asNamed}} {
		m := metadata{Schema: mappedSchema, Partitions: []string{"dt"}, Config: map[string]string{mappingMode: c.mode}}
		s, err := m.schema(&protocol{Reader: c.reader})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		describe(&b, "", s.fields[:2])
		if b.String() != c.want {
			t.Errorf("%s, reader %d:\n%swant\n%s", c.mode, c.reader, b.String(), c.want)
		}
		if len(s.partitions) != 1 || s.partitions[0] != 3 || len(s.fields[2].Parts[0].Parts) != 2 {
			t.Errorf("%s: %+v", c.mode, s)
		}
	}
}

// Values are null where the log says so, has an empty text or has none.
func TestPartitionNulls(t *testing.T) {
	m := metadata{Schema: mappedSchema, Partitions: []string{"dt"}, Config: map[string]string{mappingMode: mapByName}}
	s, err := m.schema(&protocol{Reader: 2})
	if err != nil {
		t.Fatal(err)
	}
	names := &partitions{}
	for text, null := range map[string]bool{`{"c5":null}`: true, `{"c5":""}`: true, `{}`: true, ``: true, `{"c5":"2026-01-02"}`: false} {
		p, err := names.ofJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all, err := s.constants(p)
		if err != nil || len(all) != 1 || all[0].Value.Null != null || all[0].Field != 3 || null != (all[0].Value.Data == nil) {
			t.Errorf("%s: %+v, %v", text, all, err)
		}
	}
	if again, _ := names.ofJSON([]byte(`{}`)); again != names.all["{}"] {
		t.Error("equal values are kept twice")
	}
	bad, err := names.ofJSON([]byte(`{"c5":"tomorrow"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.constants(bad); err == nil || !strings.Contains(err.Error(), `the partition value "tomorrow" of column "dt" is not date`) {
		t.Error(err)
	}
}
