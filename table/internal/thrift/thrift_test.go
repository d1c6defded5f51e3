package thrift

import (
	"bytes"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// serve answers calls of a client until the test ends.
func serve(t *testing.T, answer func(method string, args Struct) (Struct, error)) *Client {
	here, there := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(there, answer)
		there.Close()
	}()
	t.Cleanup(func() { here.Close(); <-ended })
	return NewClient(here)
}

// Values of all types come back from a call.
func TestCall(t *testing.T) {
	c := serve(t, func(method string, args Struct) (Struct, error) {
		if method != "echo" {
			return nil, &Exception{Message: "Invalid method name: 'x'", Type: UnknownMethod}
		}
		return Struct{0: args.Struct(1)}, nil
	})
	sent := Struct{1: Struct{
		1: "text", 2: true, 3: int16(-2), 4: int32(1 << 30), 5: int64(-1 << 40), 6: 1.5,
		7: []string{"a", ""}, 8: []Struct{{1: "x"}, {}}, 9: map[string]string{"k": "v", "l": ""}, -3: Struct{1: false},
	}}
	for range 2 {
		got, err := c.Call("echo", sent)
		if err == nil {
			got = got.Struct(0)
		}
		want := Struct{
			1: "text", 2: true, 3: int64(-2), 4: int64(1 << 30), 5: int64(-1 << 40), 6: 1.5,
			7: []string{"a", ""}, 8: []Struct{{1: "x"}, {}}, 9: map[string]string{"k": "v", "l": ""}, -3: Struct{1: false},
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
		if texts := strings.Join(got.Texts(7), "|"); texts != "a|" || len(got.Structs(8)) != 2 || got.Map(9)["k"] != "v" || got.Text(8) != "" {
			t.Errorf("texts %s, %v", texts, got)
		}
	}
	_, err := c.Call("x", nil)
	if e := (*Exception)(nil); !errors.As(err, &e) || e.Type != UnknownMethod || e.Error() != "Invalid method name: 'x'" {
		t.Errorf("got %v", err)
	}
}

// A call in the bytes that Apache's own library for Go sends.
func TestBytes(t *testing.T) {
	const want = "\x80\x01\x00\x01\x00\x00\x00\x09get_table\x00\x00\x00\x01\x0b\x00\x01\x00\x00\x00\x01d\x0b\x00\x02\x00\x00\x00\x01t\x00"
	got := appendStruct(appendMessage(nil, messageCall, "get_table", 1), Struct{1: "d", 2: "t"})
	if string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDamaged(t *testing.T) {
	const head = "\x80\x01\x00\x02\x00\x00\x00\x01m\x00\x00\x00\x01"
	for name, c := range map[string]struct {
		answer string
		want   error
	}{
		"nothing":       {"", io.ErrUnexpectedEOF},
		"cut":           {head + "\x0b\x00\x00\x00\x00\x00\x09x", io.ErrUnexpectedEOF},
		"another":       {"HTTP/1.1 400 Bad", ErrDamaged},
		"long text":     {head + "\x0b\x00\x00\x7f\xff\xff\xff", ErrDamaged},
		"negative text": {head + "\x0b\x00\x00\xff\xff\xff\xff", ErrDamaged},
		"long list":     {head + "\x0f\x00\x00\x0b\x7f\xff\xff\xff", ErrDamaged},
		"list of other": {head + "\x0f\x00\x00\x03\x00\x00\x00\x02a", io.ErrUnexpectedEOF},
		"unknown type":  {head + "\x63\x00\x00", ErrDamaged},
		"deep":          {head + strings.Repeat("\x0c\x00\x00", 1000), ErrDamaged},
		"deep lists":    {head + "\x0f\x00\x00" + strings.Repeat("\x0f\x00\x00\x00\x01", 1000), ErrDamaged},
		"another call":  {"\x80\x01\x00\x02\x00\x00\x00\x01n\x00\x00\x00\x01\x00", ErrDamaged},
		"another type":  {"\x80\x01\x00\x04\x00\x00\x00\x01m\x00\x00\x00\x01\x00", ErrDamaged},
	} {
		c2 := NewClient(struct {
			io.Reader
			io.Writer
		}{strings.NewReader(c.answer), io.Discard})
		if s, err := c2.Call("m", nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v, want %v", name, s, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(appendStruct(appendMessage(nil, messageReply, "m", 1), Struct{1: "d", 2: []Struct{{1: map[string]string{"a": "b"}}}}))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _, _, _, _ = readMessage(bytes.NewReader(b))
	})
}
