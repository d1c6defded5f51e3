package avro

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrCorrupt is a file that is damaged, or not an object container file.
var ErrCorrupt = errors.New("damaged Avro file")

// A Field is a field that a reader wants of each record. It is found by ID, or by Name in records
// without field IDs. A field with Parts is a record, of which the parts are wanted.
type Field struct {
	ID    int
	Name  string
	Parts []Field
}

// A Kind is how a [Value] holds a value.
type Kind uint8

const (
	Null  Kind = iota // also a field that the file lacks, or of a type that is not below
	Int               // booleans, ints and longs
	Bytes             // bytes, strings, fixed, symbols of enums; floats and doubles, little-endian
	Ints              // arrays of ints and longs
)

// A Value is the value of a field. Its memory is valid until the record's call returns.
type Value struct {
	Kind  Kind
	Int   int64
	Bytes []byte
	Ints  []int64
}

// A File is a container file whose header was read.
type File struct {
	Meta map[string][]byte // with avro.schema and avro.codec

	root   *schema
	sync   []byte
	blocks []byte
	codec  codec
}

// Open reads the header of a file.
func Open(data []byte) (*File, error) {
	d := decoder{data: data}
	if magic := d.take(4); string(magic) != "Obj\x01" {
		return nil, fmt.Errorf("%w: it does not start with Obj and 1", ErrCorrupt)
	}
	f := &File{Meta: map[string][]byte{}}
	d.each(func() {
		key := d.bytes()
		f.Meta[string(key)] = d.bytes()
	})
	f.sync = d.take(syncSize)
	if d.err != nil {
		return nil, d.err
	}
	var err error
	if f.root, err = parse(f.Meta["avro.schema"]); err != nil {
		return nil, err
	}
	f.codec, err = codecOf(string(f.Meta["avro.codec"]))
	f.blocks = data[d.at:]
	return f, err
}

const syncSize = 16 // bytes between blocks

// Read calls each with every record: a value for each of the wanted fields that has no parts, in
// order, the parts of a field in its place.
func (f *File) Read(fields []Field, each func([]Value) error) error {
	values := make([]Value, count(fields))
	plan := planOf(f.root, fields, new(int))
	blocks := decoder{data: f.blocks}
	var buffer []byte
	for blocks.at < len(blocks.data) {
		records, body, end := blocks.long(), blocks.bytes(), blocks.take(syncSize)
		switch {
		case blocks.err != nil:
			return blocks.err
		case !bytes.Equal(end, f.sync) || records < 0:
			return fmt.Errorf("%w: a block lacks its end marker", ErrCorrupt)
		}
		body, err := f.codec(buffer[:0], body)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		if string(f.Meta["avro.codec"]) != "null" && len(f.Meta["avro.codec"]) > 0 {
			buffer = body
		}
		if err := readBlock(body, records, plan, values, each); err != nil {
			return err
		}
	}
	return nil
}

func readBlock(body []byte, records int64, plan *step, values []Value, each func([]Value) error) error {
	if records > int64(len(body)) {
		return fmt.Errorf("%w: a block of %d bytes has %d records", ErrCorrupt, len(body), records)
	}
	d := decoder{data: body, values: values}
	for range records {
		for i := range values {
			values[i] = Value{Ints: values[i].Ints[:0]}
		}
		if d.run(plan); d.err != nil {
			return d.err
		}
		if err := each(values); err != nil {
			return err
		}
	}
	if d.at != len(body) {
		return fmt.Errorf("%w: %d bytes follow the last record of a block", ErrCorrupt, len(body)-d.at)
	}
	return nil
}
