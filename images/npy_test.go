package images

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images/codec"
)

// npy is a file of numpy.save with a header and items.
func npy(header string, items ...byte) []byte {
	b := []byte("\x93NUMPY\x01\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	return append(append(b, header...), items...)
}

// npz is a zip file with a member for each file.
func npz(t testing.TB, files ...[]byte) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for range files {
		f, err := w.Create("arr.npy")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(files[0]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArray(t *testing.T) {
	const header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }\n"
	items := []byte{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0}
	two := append([]byte("\x93NUMPY\x02\x00"), binary.LittleEndian.AppendUint32(nil, uint32(len(header)))...)
	for _, c := range []struct {
		name string
		file []byte
	}{
		{"plain", npy(header, items...)},
		{"version 2", append(append(two, header...), items...)},
		{"big-endian", npy(strings.Replace(header, "<", ">", 1), 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6)},
		{"fortran", npy(strings.Replace(header, "False", "True", 1), 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0)},
		{"npz", npz(t, npy(header, items...))},
		{"python 2", npy(strings.Replace(header, "(2, 3)", "(2L, 3L)", 1), items...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := make([]byte, len(items))
			if err := (&Array{Shape: []int{2, 3}, DType: "int16"}).DecodeTo(got, c.file); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, items) {
				t.Errorf("got %v", got)
			}
		})
	}
}

// flipped is an npz file whose checksum is not that of its array.
func flipped(npz []byte) []byte {
	npz[bytes.Index(npz, []byte("PK\x01\x02"))+16] ^= 1
	return npz
}

func TestArrayRefuses(t *testing.T) {
	const header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }"
	good := npy(header, 1, 0, 2, 0)
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"nothing", nil, "it is not a file of numpy.save"},
		{"another file", []byte("\x89PNG and some more"), "it is not a file of numpy.save"},
		{"another type", npy(strings.Replace(header, "i2", "f8", 1)), "the array is float64 of shape (2,), and the column is declared as int16 of shape (2,)"},
		{"another shape", npy(strings.Replace(header, "(2,)", "(1, 2)", 1)), "the array is int16 of shape (1, 2), and the column is declared as"},
		{"objects", npy(strings.Replace(header, "<i2", "|O", 1)), `its type "|O" is not one of numbers`},
		{"structures", npy(strings.Replace(header, "'<i2'", "[('a', '<i2')]", 1)), "is not one of numbers"},
		{"cut header", good[:20], "its header is cut"},
		{"cut items", good[:len(good)-1], "it ends before the 4 bytes of its items"},
		{"more items", append(slices.Clone(good), 0), "it goes on after the 4 bytes of its items"},
		{"no order", npy("{'descr': '<i2', 'shape': (2,), }"), "its header is damaged"},
		{"no shape", npy("{'descr': '<i2', 'fortran_order': False, }"), "its header is damaged"},
		{"shape of words", npy(strings.Replace(header, "2,", "x,", 1)), "is damaged"},
		{"later version", append([]byte("\x93NUMPY\x09\x00"), good[8:]...), "version 9"},
		{"two arrays", npz(t, good, good), "a zip file of one array"},
		{"cut npz", npz(t, good)[:40], "a zip file of one array"},
		{"flipped npz", flipped(npz(t, good)), "its array is damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := (&Array{Shape: []int{2}, DType: "int16"}).DecodeTo(make([]byte, 4), c.file)
			var file *codec.Error
			if !errors.As(err, &file) || !strings.Contains(file.Error(), c.want) {
				t.Errorf("error is %v, want %s", err, c.want)
			}
		})
	}
}

func TestArrayOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Array: &Array{Shape: []int{2}, DType: "int16"}}, ""},
		{Options{Array: &Array{Shape: []int{2}, DType: "int16"}, Height: 2}, "Array excludes the options of images"},
		{Options{Array: &Array{Shape: []int{2}, DType: "bfloat16"}}, "Array.DType must be"},
		{Options{Array: &Array{DType: "int16"}}, "Array.Shape must have"},
		{Options{Array: &Array{Shape: []int{0}, DType: "int16"}}, "Array.Shape must have"},
		{Options{Array: &Array{Shape: []int{1 << 20, 1 << 20}, DType: "int16"}}, "Array.Shape must have"},
	} {
		if err := c.o.Validate(); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %s", c.o.Array, err, c.want)
		}
	}
}

func FuzzArray(f *testing.F) {
	f.Add(npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 1), }", 1, 0, 2, 0))
	f.Add(npz(f, npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2, 1), }", 1, 0, 2, 0)))
	f.Fuzz(func(_ *testing.T, file []byte) {
		_ = (&Array{Shape: []int{2, 1}, DType: "int16"}).DecodeTo(make([]byte, 4), file)
	})
}
