package images

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/option"
)

// An Array is the shape and the type of numpy's arrays in a column: the bytes of npy files, as
// numpy.save writes them, or of npz files with one array. See numpy.lib.format for their bytes.
type Array struct {
	Shape []int  `json:"shape"`
	DType string `json:"dtype"` // as numpy has it: "float32"
}

// arrayTypes are numpy's names of types as files have them, without the order of bytes.
var arrayTypes = map[string]string{
	"bool": "b1", "int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8", "uint8": "u1", "uint16": "u2", "uint32": "u4", "uint64": "u8",
	"float16": "f2", "float32": "f4", "float64": "f8",
}

// maxArrayDims is numpy's limit.
const maxArrayDims = 32

// width is the bytes of an item.
func (a *Array) width() int {
	code := arrayTypes[a.DType]
	return int(code[len(code)-1] - '0')
}

// items is the number of items; 0 if it is above the limit.
func (a *Array) items() int {
	n := 1
	for _, d := range a.Shape {
		if d < 1 || n > math.MaxInt32/d {
			return 0
		}
		n *= d
	}
	return n
}

func (a *Array) validate(p *option.List) {
	if arrayTypes[a.DType] == "" {
		p.Add("Array.DType", "must be a bool, an integer or a float, as \"float32\", got %q", a.DType)
		return
	}
	if len(a.Shape) == 0 || len(a.Shape) > maxArrayDims || a.items() == 0 || a.items() > math.MaxInt32/a.width() {
		p.Add("Array.Shape", "must have 1 to %d dimensions of at least 1, and less than 2 GiB, got %v", maxArrayDims, a.Shape)
	}
}

// DecodeTo writes the items of a file to dst, row by row. An error is about the file.
func (a *Array) DecodeTo(dst, file []byte) error {
	r := io.Reader(bytes.NewReader(file))
	if bytes.HasPrefix(file, []byte("PK\x03\x04")) {
		z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
		if err != nil || len(z.File) != 1 {
			return &codec.Error{Text: "npz: it must be a zip file of one array", Err: err}
		}
		member, err := z.File[0].Open()
		if err != nil {
			return &codec.Error{Text: "npz: its array is damaged", Err: err}
		}
		defer member.Close()
		r = member
	}
	h, err := readArrayHeader(r)
	if err != nil {
		return err
	}
	if h.descr[1:] != arrayTypes[a.DType] || !slices.Equal(h.shape, a.Shape) {
		return &codec.Error{Text: fmt.Sprintf("npy: the array is %s of shape %s, and the column is declared as %s of shape %s", h.typeName(), shapeText(h.shape), a.DType, shapeText(a.Shape))}
	}
	if _, err := io.ReadFull(r, dst); err != nil {
		return &codec.Error{Text: fmt.Sprintf("npy: it ends before the %d bytes of its items", len(dst)), Err: err}
	}
	switch _, err := io.ReadFull(r, make([]byte, 1)); err {
	case io.EOF:
	case nil:
		return &codec.Error{Text: fmt.Sprintf("npy: it goes on after the %d bytes of its items", len(dst))}
	default: // the checksum of a zip file
		return &codec.Error{Text: "npz: its array is damaged", Err: err}
	}
	if h.descr[0] == '>' {
		swapBytes(dst, a.width())
	}
	if h.fortran {
		reorder(dst, a.Shape, a.width())
	}
	return nil
}

// An arrayHeader is the header of an npy file.
type arrayHeader struct {
	descr   string // order of bytes, kind and width: "<f4"
	fortran bool   // the first dimension runs fastest
	shape   []int
}

// typeName is numpy's name of the type, or the file's for other types.
func (h *arrayHeader) typeName() string {
	for name, code := range arrayTypes {
		if code == h.descr[1:] {
			return name
		}
	}
	return h.descr
}

// shapeText is a shape as Python has it.
func shapeText(shape []int) string {
	text := strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ")
	if len(shape) == 1 {
		text += ","
	}
	return "(" + text + ")"
}

// maxArrayHeader bounds a header, of which numpy writes some 128 bytes.
const maxArrayHeader = 1 << 16

func badArray(format string, args ...any) error {
	return &codec.Error{Text: "npy: " + fmt.Sprintf(format, args...)}
}

// readArrayHeader reads the header up to the first item.
func readArrayHeader(r io.Reader) (*arrayHeader, error) {
	var fixed [12]byte
	if _, err := io.ReadFull(r, fixed[:10]); err != nil || string(fixed[:6]) != "\x93NUMPY" {
		return nil, badArray("it is not a file of numpy.save")
	}
	n := int(binary.LittleEndian.Uint16(fixed[8:]))
	switch fixed[6] {
	case 1:
	case 2, 3:
		if _, err := io.ReadFull(r, fixed[10:]); err != nil {
			return nil, badArray("its header is cut")
		}
		n = int(min(binary.LittleEndian.Uint32(fixed[8:]), maxArrayHeader+1))
	default:
		return nil, badArray("version %d of the format is not known", fixed[6])
	}
	if n > maxArrayHeader {
		return nil, badArray("its header has more than %d bytes", maxArrayHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, badArray("its header is cut")
	}
	return parseArrayHeader(string(text))
}

// parseArrayHeader reads the literal of a dict: {'descr': '<f4', 'fortran_order': False, 'shape':
// (2, 3), }.
func parseArrayHeader(text string) (*arrayHeader, error) {
	h := &arrayHeader{descr: strings.Trim(literalOf(text, "descr", ","), `'" `)}
	if len(h.descr) < 3 || !strings.ContainsRune("<>|=", rune(h.descr[0])) {
		return nil, badArray("its type %.40q is not one of numbers", h.descr)
	}
	switch literalOf(text, "fortran_order", ",") {
	case "True":
		h.fortran = true
	case "False":
	default:
		return nil, badArray("its header is damaged")
	}
	shape, found := strings.CutPrefix(literalOf(text, "shape", ")"), "(")
	if !found {
		return nil, badArray("its header is damaged")
	}
	for word := range strings.SplitSeq(shape, ",") {
		if word = strings.TrimSuffix(strings.TrimSpace(word), "L"); word == "" {
			continue
		}
		d, err := strconv.Atoi(word)
		if err != nil || len(h.shape) == maxArrayDims {
			return nil, badArray("its shape %.40q is damaged", shape)
		}
		h.shape = append(h.shape, d)
	}
	return h, nil
}

// literalOf is the text between a key of a dict's literal and an end.
func literalOf(text, key, end string) string {
	for _, quote := range []string{"'", `"`} {
		if _, after, found := strings.Cut(text, quote+key+quote+":"); found {
			value, _, _ := strings.Cut(after, end)
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// swapBytes turns the bytes of each item around.
func swapBytes(items []byte, width int) {
	for ; len(items) > 0; items = items[width:] {
		slices.Reverse(items[:width])
	}
}

// reorder puts items whose first dimension runs fastest into the order in which the last does.
func reorder(items []byte, shape []int, width int) {
	stored := slices.Clone(items)
	at := make([]int, len(shape))
	for to := range len(items) / width {
		from, stride := 0, 1
		for d, n := range shape {
			from += at[d] * stride
			stride *= n
		}
		copy(items[to*width:(to+1)*width], stored[from*width:])
		for d := len(shape) - 1; d >= 0; d-- {
			if at[d]++; at[d] < shape[d] {
				break
			}
			at[d] = 0
		}
	}
}
