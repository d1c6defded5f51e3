package delta

import (
	"bytes"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

func TestLocate(t *testing.T) {
	for _, c := range []struct{ dir, path, want string }{
		{"s3://b/t", "a.parquet", "s3://b/t/a.parquet"},
		{"s3://b/t", "lang=de%252Fx%20y/a%25.parquet", "s3://b/t/lang=de%2Fx y/a%.parquet"},
		{"s3://b/t", "bad%zz", "s3://b/t/bad%zz"},
		{"s3://b/t", "s3://other/x%20y", "s3://other/x y"},
		{"s3://b/t", "/x/y", "s3://b/x/y"},
		{"hdfs://nn:8020/t", "/x/y", "hdfs://nn:8020/x/y"},
		{"/data/t", "x=a%20b/c", "/data/t/x=a b/c"},
		{"/data/t", "file:/data/u/x=a%2520b", "file:///data/u/x=a%2520b"},
		{"/data/t", "file:///data/u/c", "file:///data/u/c"},
		{"/data/t", "/data/u/c%20", "/data/u/c "},
		{"file:///data/t", "x=a%2520b", "file:///data/t/x=a%2520b"},
		{"file:///data/t", "/u/c", "file:///u/c"},
		{"t", "c", "t/c"},
		{"mem://t", "c", "mem://t/c"},
	} {
		if got := locate(c.dir, c.path); got != c.want {
			t.Errorf("%s in %s: %s, want %s", c.path, c.dir, got, c.want)
		}
	}
}

func TestZ85(t *testing.T) {
	got, err := decodeZ85("HelloWorld")
	if want := []byte{0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B}; err != nil || !bytes.Equal(got, want) {
		t.Errorf("%x, %v, want %x", got, err, want)
	}
	for _, bad := range []string{"a", "abcd ", "#####", "ab\"de"} {
		if got, err := decodeZ85(bad); err == nil {
			t.Errorf("%q is %x", bad, got)
		}
	}
}

// A file whose action has no statistics, or null ones, has an unknown number of rows.
func TestFilesWithoutStats(t *testing.T) {
	for text, want := range map[string]int64{"": -1, `,"stats":null`: -1, `,"stats":"{\"numRecords\":0}"`: 0} {
		a, err := parseAction([]byte(`{"add":{"path":"a.parquet","size":1` + text + `}}`))
		if err != nil || a.Add.rows() != want {
			t.Errorf("%q: %d rows, %v, want %d", text, a.Add.rows(), err, want)
		}
	}
}

func TestStats(t *testing.T) {
	for _, c := range []struct {
		text string
		want stats
	}{
		{`"{\"numRecords\":12,\"minValues\":{}}"`, 12},
		{`"{\"numRecords\": 12}"`, 12},
		{`"{\"minValues\":{\"numRecords\":3},\"numRecords\":12}"`, 12},
		{`"{\"minValues\":{\"numRecords\":3}}"`, -1},
		{`"{\"numRecords\":-1}"`, -1},
		{`"{\"numRecords\":1e3}"`, -1},
		{`"{"`, -1},
	} {
		var s stats
		if err := s.UnmarshalJSON([]byte(c.text)); err != nil || s != c.want {
			t.Errorf("%s: %d, %v, want %d", c.text, s, err, c.want)
		}
	}
}

func FuzzZ85(f *testing.F) {
	f.Add("HelloWorld")
	f.Fuzz(func(t *testing.T, s string) {
		if b, err := decodeZ85(s); err == nil && len(b) != len(s)/5*4 {
			t.Fatalf("%q is %x", s, b)
		}
	})
}

func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"add":{"path":"a%20b","partitionValues":{"dt":null},"size":1,"stats":"{\"numRecords\":1}","deletionVector":{"storageType":"u","pathOrInlineDv":"ab","offset":1,"sizeInBytes":4,"cardinality":6}}}`))
	f.Add([]byte(`{"remove":{"path":"a"}}`))
	f.Add([]byte(`{"commitInfo":{"timestamp":1}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := cutLines(append([]byte(nil), b...), true, func(line []byte) error {
			a, err := parseAction(line)
			if err != nil {
				return err
			}
			c, names := &commit{}, &partitions{}
			if err := c.add("mem://t", &a, names); err != nil {
				return err
			}
			return (&replay{gone: map[key]struct{}{}}).take(c, true)
		})
		_ = err
	})
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"struct","fields":[{"name":"a","type":{"type":"map","keyType":"string","valueType":{"type":"array","elementType":"decimal(10,2)","containsNull":true},"valueContainsNull":false},"nullable":true,"metadata":{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"c"}}]}`, "id", "a", "x")
	f.Add(`{"type":"struct","fields":[{"name":"d","type":"timestamp","nullable":true,"metadata":{}}]}`, "", "d", "2026-01-02 03:04:05.6")
	f.Fuzz(func(t *testing.T, text, mode, by, value string) {
		m := &metadata{Schema: text, Partitions: []string{by}, Config: map[string]string{mappingMode: mode}}
		s, err := m.schema(&protocol{Reader: 2})
		if err != nil {
			return
		}
		name := s.fields[s.partitions[0]].Names[0]
		all, err := s.constants(&partition{values: map[string]*string{name: &value}})
		if err != nil {
			return
		}
		for _, c := range all {
			if f := s.fields[c.Field].Column; f.Kind == column.Fixed && !c.Value.Null && len(c.Value.Data) != f.Width {
				t.Fatalf("%q of %s is %x", value, f, c.Value.Data)
			}
		}
	})
}
