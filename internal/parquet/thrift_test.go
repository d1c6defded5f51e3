package parquet

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// Unknown fields of every wire type are skipped, old and new writers' alike.
func TestThriftSkips(t *testing.T) {
	type inner struct {
		A int64             `thrift:"1"`
		L []string          `thrift:"2"`
		M map[string]int32  `thrift:"3"`
		N map[string]string `thrift:"4"`
	}
	type message struct {
		Bool   bool       `thrift:"1"`
		False  bool       `thrift:"2,writezero"`
		Byte   int8       `thrift:"3"`
		I16    int16      `thrift:"4"`
		I32    int32      `thrift:"5"`
		I64    int64      `thrift:"6"`
		Double float64    `thrift:"7"`
		Text   string     `thrift:"8"`
		List   []inner    `thrift:"9"`
		Long   []int32    `thrift:"10"`
		Bools  []bool     `thrift:"11"`
		Lists  [][]string `thrift:"12"`
		Last   int32      `thrift:"200"`
	}
	m := message{
		Bool: true, Byte: -3, I16: 300, I32: -70000, I64: 1 << 60, Double: 1.5, Text: "text", Long: make([]int32, 40), Bools: []bool{true, false},
		Lists: [][]string{{"a"}, nil, {"b", "c"}}, Last: 77,
		List: []inner{{A: 1, L: []string{"x", ""}, M: map[string]int32{"k": 5}}, {}, {N: map[string]string{"a": "b"}}},
	}
	b, err := thrift.Marshal(new(thrift.CompactProtocol), &m)
	if err != nil {
		t.Fatal(err)
	}
	r := &thriftReader{b: b}
	last := int32(0)
	r.fields(func(id int16, _ byte) {
		if id == 200 {
			last = r.int32()
		}
	})
	if r.err != nil || last != 77 || r.pos != len(b) {
		t.Errorf("error %v, last field %d, %d of %d bytes", r.err, last, r.pos, len(b))
	}
	for n := range b { // every cut ends in an error
		r := &thriftReader{b: b[:n]}
		r.fields(func(int16, byte) {})
		if r.err == nil {
			t.Errorf("no error after %d bytes of %d", n, len(b))
		}
	}
}

func TestThriftDepth(t *testing.T) {
	for depth, ok := range map[int]bool{thriftMaxDepth - 1: true, 100: false, 1 << 20: false} {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			r := &thriftReader{b: append(bytes.Repeat([]byte{0x1c}, depth), make([]byte, depth+1)...)} // field 1, struct, again and again
			r.fields(func(int16, byte) {})
			if (r.err == nil) != ok {
				t.Errorf("structs nested %d deep: error %v", depth, r.err)
			}
		})
	}
}
