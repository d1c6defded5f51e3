package schema

import (
	"encoding/base64"
	"encoding/binary"
	"maps"
	"reflect"
	"testing"

	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
)

func TestArrowDeclared(t *testing.T) {
	want := map[string]int{"emb": 4, "s.v": 3, "mat": 5, "mat.element": 2, "l.element": 7, "m.key_value.value": 6, "big.element": 9}
	text := filetest.ArrowSchema
	if got := lengths(parseDeclared(ArrowDeclared(text)).sizes); !maps.Equal(got, want) {
		t.Errorf("sizes are %v, want %v", got, want)
	}
	// Before Arrow 0.15 there was no continuation mark.
	b, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		t.Fatal(err)
	}
	old := base64.StdEncoding.EncodeToString(b[4:])
	if got := lengths(parseDeclared(ArrowDeclared([]byte(old))).sizes); !maps.Equal(got, want) {
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
	text := string(filetest.ArrowSchema)
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	for n := range b {
		ArrowDeclared([]byte(base64.StdEncoding.EncodeToString(b[:n])))
	}
	for _, text := range []string{"", "!", "AAAA", "/////w==", text[:len(text)/2], "/////wAAAAAAAAAA"} {
		if sizes := ArrowDeclared([]byte(text)); len(sizes) > 0 {
			t.Errorf("%q declares %v", text, sizes)
		}
	}
}

func TestParseDeclared(t *testing.T) {
	ordered := newTensor([]int{4, 2, 3})
	ordered.Order = []int{2, 0, 1}
	for _, want := range []declared{
		{sizes: map[string]listSize{"a": {size: 1}, "b.element": {size: 300}}},
		{sizes: map[string]listSize{"x": {6, newTensor([]int{2, 3})}}},
		{sizes: map[string]listSize{"x": {2, newTensor([]int{2, 3})}, "x.element": {size: 3}}},
		{sizes: map[string]listSize{"x": {24, ordered}}},
		{features: map[string]feature{"y": {labels: []string{"cat", "", "dog"}}}},
		{sizes: map[string]listSize{"x": {size: 2}}, features: map[string]feature{"img.bytes": {media: "Image"}, "y": {labels: []string{"cat"}}}},
	} {
		good := formatDeclared(want.sizes, want.features)
		got := parseDeclared(good)
		if !maps.Equal(got.sizes, want.sizes) && !reflect.DeepEqual(got.sizes, want.sizes) || !maps.EqualFunc(got.features, want.features, sameFeature) {
			t.Errorf("it is %+v, want %+v", got, want)
		}
		for n := 1; n < len(good); n++ {
			if got := parseDeclared(good[:n]); len(got.sizes)+len(got.features) == len(want.sizes)+len(want.features) {
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
		"too many labels":   append(binary.AppendUvarint([]byte{1, 'a', 0}, maxLabels+1), 0),
		"label cut short":   {1, 'a', 0, 2, 3, 'c', 'a', 't'},
		"medium cut short":  {1, 'a', 0, 0, 5, 'I'},
	} {
		if got := parseDeclared(bad); got.sizes != nil || got.features != nil {
			t.Errorf("%s: it is %v", name, got)
		}
	}
}

func sameFeature(a, b feature) bool { return reflect.DeepEqual(a, b) }

// FuzzArrowSchema walks any bytes as an ARROW:schema.
func FuzzArrowSchema(f *testing.F) {
	b, err := base64.StdEncoding.DecodeString(string(filetest.ArrowSchema))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 4, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		text := ArrowDeclared([]byte(base64.StdEncoding.EncodeToString(b)))
		if len(text) > 0 && parseDeclared(text).sizes == nil {
			t.Errorf("the declarations do not parse: %x", text)
		}
	})
}
