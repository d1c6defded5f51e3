package avro_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/table/internal/avro"
	"github.com/shardfeed/shardfeed/table/internal/avro/avrotest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const schema = `{"type":"record","name":"entry","namespace":"a.b","fields":[
 {"name":"status","type":"int","field-id":1},
 {"name":"size","type":["null","long"],"field-id":2},
 {"name":"lower","type":["null",{"type":"array","logicalType":"map","items":{"type":"record","name":"kv","fields":[
   {"name":"key","type":"int"},{"name":"value","type":"bytes"}]}}],"field-id":3},
 {"name":"file","type":{"type":"record","name":"r2","fields":[
   {"name":"path","type":"string","field-id":10},
   {"name":"more","type":{"type":"map","values":"a.b.kv"},"field-id":11},
   {"name":"ids","type":["null",{"type":"array","items":"int"}],"field-id":12},
   {"name":"d","type":"double","field-id":13},
   {"name":"uuid","type":{"type":"fixed","name":"f","size":3},"field-id":14},
   {"name":"color","type":{"type":"enum","name":"e","symbols":["red","blue"]},"field-id":15},
   {"name":"yes","type":"boolean","field-id":16}]},"field-id":4},
 {"name":"plain","type":"string"}]}`

func write(w *avrotest.Writer, i int64) {
	w.Long(i % 3)
	if i%2 == 0 {
		w.Long(0)
	} else {
		w.Long(1).Long(-i << 20)
	}
	w.Long(1).Long(2).Long(7).Bytes("seven").Long(-8).Bytes(strings.Repeat("x", 200)).Long(0) // a block of two items
	w.Bytes(fmt.Sprint("path-", i))
	w.Long(-1).Long(8).Bytes("k").Long(1).Bytes("valu").Long(0) // a block with its size
	if i%5 == 0 {
		w.Long(0)
	} else {
		w.Long(1).Long(1).Long(i).Long(-2).Long(2).Long(i + 1).Long(-5).Long(0)
	}
	w.Double(float64(i) / 4).Raw("abc").Long(i & 1).Raw(string([]byte{byte(i & 1)})).Bytes("plain")
}

// file has a block of some records and one of another.
func file(codec string, records int64) []byte {
	w := &avrotest.Writer{}
	for i := range records {
		write(w, i)
	}
	first := w.Block(records)
	write(w, records)
	return avrotest.File(codec, schema, map[string]string{"content": "data"}, first, w.Block(1))
}

var wanted = []avro.Field{
	{ID: 4, Parts: []avro.Field{{ID: 12}, {ID: 10}, {ID: 13}, {ID: 14}, {ID: 15}, {ID: 16}, {ID: 99}}},
	{ID: 2},
	{Name: "plain"},
	{ID: 77, Name: "status"},
	{ID: 3},
}

// Wanted fields have their values, in the order of the reader, with each codec.
func TestRead(t *testing.T) {
	for _, codec := range []string{"null", "deflate", "snappy", "zstandard"} {
		t.Run(codec, func(t *testing.T) {
			f, err := avro.Open(file(codec, 100))
			if err != nil {
				t.Fatal(err)
			}
			if string(f.Meta["content"]) != "data" {
				t.Errorf("metadata %q", f.Meta)
			}
			i := int64(0)
			err = f.Read(wanted, func(v []avro.Value) error {
				check(t, i, v)
				i++
				return nil
			})
			if err != nil || i != 101 {
				t.Errorf("%d records, %v", i, err)
			}
		})
	}
}

func check(t *testing.T, i int64, v []avro.Value) {
	t.Helper()
	if i%5 == 0 != (v[0].Kind == avro.Null) || i%5 != 0 && fmt.Sprint(v[0].Ints) != fmt.Sprint([]int64{i, i + 1, -5}) {
		t.Errorf("record %d: ids %v", i, v[0])
	}
	if string(v[1].Bytes) != fmt.Sprint("path-", i) || v[1].Kind != avro.Bytes {
		t.Errorf("record %d: path %q", i, v[1].Bytes)
	}
	if got := math.Float64frombits(binary.LittleEndian.Uint64(v[2].Bytes)); got != float64(i)/4 {
		t.Errorf("record %d: double %v", i, got)
	}
	if string(v[3].Bytes) != "abc" || string(v[4].Bytes) != []string{"red", "blue"}[i&1] || v[5].Int != i&1 {
		t.Errorf("record %d: %q %q %d", i, v[3].Bytes, v[4].Bytes, v[5].Int)
	}
	if i%2 == 0 != (v[7].Kind == avro.Null) || i%2 == 1 && v[7].Int != -i<<20 {
		t.Errorf("record %d: size %v", i, v[7])
	}
	if string(v[8].Bytes) != "plain" {
		t.Errorf("record %d: plain %q", i, v[8].Bytes)
	}
	for _, at := range []int{6, 9, 10} { // not in the file; of another ID; of a type without values
		if v[at].Kind != avro.Null {
			t.Errorf("record %d: value %d is %v", i, at, v[at])
		}
	}
}

// Any cut is an error, unless it is between two blocks.
func TestCut(t *testing.T) {
	whole := file("null", 3)
	complete := 0
	for n := range len(whole) {
		f, err := avro.Open(whole[:n])
		if err == nil {
			err = f.Read(wanted, func([]avro.Value) error { return nil })
		}
		switch {
		case err == nil:
			complete++
		case !errors.Is(err, avro.ErrCorrupt):
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	if complete != 2 { // behind the header and behind the first block
		t.Errorf("%d cuts are not errors, want 2", complete)
	}
}

func TestErrors(t *testing.T) {
	record := func(typ string) string {
		return `{"type":"record","name":"r","fields":[{"name":"a","type":` + typ + `}]}`
	}
	for name, c := range map[string]struct{ codec, schema, want string }{
		"codec":      {"bzip2", record(`"int"`), `codec "bzip2" cannot be read, only null, deflate, snappy and zstandard`},
		"type":       {"null", record(`"what"`), `a: the type "what" is not known`},
		"no record":  {"null", `"int"`, "its values are not records"},
		"deep":       {"null", record(strings.Repeat(`{"type":"array","items":`, 100) + `"int"` + strings.Repeat("}", 100)), "nested deeper than 64"},
		"no type":    {"null", record(`{"type":"array"}`), "a type is missing"},
		"no JSON":    {"null", `{`, "its schema"},
		"size":       {"null", record(`{"type":"fixed","name":"f","size":-1}`), "a fixed has -1 bytes"},
		"no content": {"null", "", "a type is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := avro.Open(avrotest.File(c.codec, c.schema, nil))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// The error of a record's call comes back.
func TestStop(t *testing.T) {
	f, err := avro.Open(file("null", 100))
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	n := 0
	err = f.Read(nil, func([]avro.Value) error {
		if n++; n == 7 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n != 7 {
		t.Errorf("%d records, %v", n, err)
	}
}

// A type within itself is read as deep as a value may be.
func TestRecursive(t *testing.T) {
	const list = `{"type":"record","name":"list","fields":[{"name":"v","type":"int","field-id":1},{"name":"next","type":["null","list"],"field-id":2}]}`
	for _, depth := range []int{3, 100} {
		w := &avrotest.Writer{}
		for range depth {
			w.Long(5).Long(1)
		}
		w.Long(6).Long(0)
		f, err := avro.Open(avrotest.File("null", list, nil, w.Block(1)))
		if err != nil {
			t.Fatal(err)
		}
		err = f.Read([]avro.Field{{ID: 1}}, func([]avro.Value) error { return nil })
		if (err == nil) != (depth == 3) {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, codec := range []string{"null", "deflate", "snappy", "zstandard"} {
		f.Add(file(codec, 100))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := avro.Open(data)
		if err != nil {
			return
		}
		n := 0
		_ = file.Read(wanted, func([]avro.Value) error {
			if n++; n > 1e5 {
				return errors.New("enough")
			}
			return nil
		})
	})
}
