package timeline

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// A file is a trace.
type file struct {
	path string
	head head
}

// A head has the facts of a trace that its events need.
type head struct {
	Base int64  `json:"baseTimeNanoseconds"`
	Host string `json:"host_name"`
	Rank struct {
		Rank int `json:"rank"`
	} `json:"distributedInfo"`
}

type event = map[string]json.RawMessage

// read calls each for all events of a file, in order, and fills the head. Members may be in any
// order, so the head is whole only at the end.
func (f *file) read(each func(event) error) error {
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer in.Close()
	text, err := unpacked(in)
	if err == nil {
		err = f.decode(json.NewDecoder(text), each)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("%s: not a whole trace in JSON: %w", f.path, err)
	}
	return nil
}

// unpacked returns the text of a file, which may be compressed whatever its name.
func unpacked(in io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(in, 1<<16)
	if magic, err := b.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		return gzip.NewReader(b)
	}
	return b, nil
}

// decode reads an object with traceEvents, or only their array.
func (f *file) decode(d *json.Decoder, each func(event) error) error {
	first, err := d.Token()
	switch {
	case err != nil:
		return err
	case first == json.Delim('['):
		return events(d, each)
	case first != json.Delim('{'):
		return fmt.Errorf("it starts with %v", first)
	}
	rest, found := event{}, false
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if name == "traceEvents" {
			found = true
			if err := expect(d, '['); err != nil {
				return err
			}
			if err := events(d, each); err != nil {
				return err
			}
			continue
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		rest[name.(string)] = value
	}
	if err := expect(d, '}'); err != nil {
		return err
	}
	if !found {
		return errors.New("it has no traceEvents")
	}
	all, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	return json.Unmarshal(all, &f.head)
}

// events reads the rest of an array.
func events(d *json.Decoder, each func(event) error) error {
	for d.More() {
		var e event
		if err := d.Decode(&e); err != nil {
			return err
		}
		if err := each(e); err != nil {
			return err
		}
	}
	return expect(d, ']')
}

func expect(d *json.Decoder, want json.Delim) error {
	if got, err := d.Token(); err != nil {
		return err
	} else if got != want {
		return fmt.Errorf("%v in place of %v", got, want)
	}
	return nil
}
