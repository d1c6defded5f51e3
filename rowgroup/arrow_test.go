package rowgroup

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"
)

// arrowSchema is the ARROW:schema that pyarrow wrote for
//
//	emb list<float>[4], ragged list<float>, s struct<v list<int8>[3], w int32>, mat list<list<double>[2]>[5],
//	l list<list<int16>[7]>, m map<string, list<int32>[6]>, big large_list<list<int32>[9]>, d dictionary<string>
func arrowSchema(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/arrow_schema.b64")
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.TrimSpace(string(b)))
}

func TestArrowListSizes(t *testing.T) {
	want := map[string]int{"emb": 4, "s.v": 3, "mat": 5, "mat.element": 2, "l.element": 7, "m.key_value.value": 6, "big.element": 9}
	text := arrowSchema(t)
	if got := lengths(parseListSizes(arrowListSizes(text))); !maps.Equal(got, want) {
		t.Errorf("sizes are %v, want %v", got, want)
	}
	// Before Arrow 0.15 there was no continuation mark.
	b, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		t.Fatal(err)
	}
	old := base64.StdEncoding.EncodeToString(b[4:])
	if got := lengths(parseListSizes(arrowListSizes([]byte(old)))); !maps.Equal(got, want) {
		t.Errorf("sizes without the mark are %v", got)
	}
}

// lengths are the declared lengths alone.
func lengths(sizes map[string]listSize) map[string]int {
	all := map[string]int{}
	for path, s := range sizes {
		all[path] = s.size
	}
	return all
}

// Lists of one name that differ declare nothing.
func TestArrowSameName(t *testing.T) {
	w := arrowWalk{sizes: map[string]listSize{}}
	for _, size := range []int{4, 4, 5, 5} {
		w.list("a", listSize{size: size})
	}
	w.list("b", listSize{size: 4})
	w.list("b", listSize{size: 4})
	w.list("c", listSize{size: maxListSize + 1})
	w.list("d", listSize{6, newTensor([]int{2, 3})})
	w.list("d", listSize{6, newTensor([]int{3, 2})})
	if want := map[string]int{"a": 0, "b": 4, "c": 0, "d": 0}; !maps.Equal(lengths(w.sizes), want) {
		t.Errorf("sizes are %v", w.sizes)
	}
}

// Whatever is wrong with the value, it declares nothing, or less.
func TestArrowMalformed(t *testing.T) {
	text := string(arrowSchema(t))
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	for n := range b {
		arrowListSizes([]byte(base64.StdEncoding.EncodeToString(b[:n])))
	}
	for _, text := range []string{"", "!", "AAAA", "/////w==", text[:len(text)/2], "/////wAAAAAAAAAA"} {
		if sizes := arrowListSizes([]byte(text)); len(sizes) > 0 {
			t.Errorf("%q declares %v", text, sizes)
		}
	}
}

func TestParseListSizes(t *testing.T) {
	ordered := newTensor([]int{4, 2, 3})
	ordered.Order = []int{2, 0, 1}
	for _, want := range []map[string]listSize{
		{"a": {size: 1}, "b.element": {size: 300}},
		{"x": {6, newTensor([]int{2, 3})}},
		{"x": {2, newTensor([]int{2, 3})}, "x.element": {size: 3}},
		{"x": {24, ordered}},
	} {
		good := formatListSizes(want)
		if got := parseListSizes(good); !reflect.DeepEqual(got, want) {
			t.Errorf("sizes are %v, want %v", got, want)
		}
		for n := 1; n < len(good); n++ {
			if got := parseListSizes(good[:n]); got != nil && len(got) == len(want) {
				t.Errorf("%d bytes of %d are enough", n, len(good))
			}
		}
	}
	for name, bad := range map[string][]byte{
		"list too long":     append(binary.AppendUvarint([]byte{1, 'a'}, maxListSize+1), 0),
		"too many dims":     {1, 'a', 6, maxDims + 1},
		"other length":      {1, 'a', 7, 2, 2, 3, 0},
		"no dimension":      {1, 'a', 0, 2, 0, 3, 0},
		"order twice":       {1, 'a', 6, 2, 2, 3, 1, 0, 0},
		"order of lists":    {1, 'a', 2, 2, 2, 3, 1, 1, 0},
		"order out of dims": {1, 'a', 6, 2, 2, 3, 1, 0, 2},
	} {
		if got := parseListSizes(bad); got != nil {
			t.Errorf("%s: it is %v", name, got)
		}
	}
}

// A list has a length only when every shard declares it.
func TestListSizeOfAllShards(t *testing.T) {
	const schema = `optional group emb (LIST) { repeated group list { optional float element; } }
		optional group ragged (LIST) { repeated group list { optional float element; } }`
	with := fakeFile{schema: schema, rows: []int{5}, meta: func(m *format.FileMetaData) {
		m.KeyValueMetadata = []format.KeyValue{{Key: "other", Value: "x"}, {Key: "ARROW:schema", Value: string(arrowSchema(t))}}
	}}
	without := fakeFile{schema: schema, rows: []int{5}}
	for _, c := range []struct {
		files []fakeFile
		want  int
	}{{[]fakeFile{with}, 4}, {[]fakeFile{with, with}, 4}, {[]fakeFile{with, without}, 0}, {[]fakeFile{without, with}, 0}} {
		all := map[string][]byte{}
		for i, f := range c.files {
			all[fmt.Sprint(i, ".parquet")] = f.bytes(t)
		}
		store, shards := putFiles(t, all)
		o := Options{IndexDir: t.TempDir() + "/index"}
		for range 2 { // from the footers, then from the index
			m, err := Open(context.Background(), store, shards, o)
			if err != nil {
				t.Fatal(err)
			}
			if f := m.Schema().Fields; f[0].ListSize != c.want || f[1].ListSize != 0 {
				t.Errorf("%d files: lengths are %d and %d, want %d and 0", len(c.files), f[0].ListSize, f[1].ListSize, c.want)
			}
			m.Close()
		}
	}
}
