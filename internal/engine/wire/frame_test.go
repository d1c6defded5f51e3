package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/shardfeed/shardfeed"
)

func TestFrames(t *testing.T) {
	long := strings.Repeat("x", 3*KeptPayload)
	var wire []byte
	var err error
	for _, id := range []string{"first", long, ""} {
		if wire, err = AppendMessage(wire, FrameOpen, Open{Dataset: id}); err != nil {
			t.Fatal(err)
		}
	}
	wire = Announcement{Generation: 1, Slot: 2, Seq: 3, Offset: 4, Used: 5}.Append(wire)
	wire = AppendRing(wire, 6, 7, 8, 9)
	wire = AppendFrame(wire, FrameLeave, 0)
	for name, from := range map[string]io.Reader{"whole": bytes.NewReader(wire), "byte by byte": iotest.OneByteReader(bytes.NewReader(wire))} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(from)
			for _, id := range []string{"first", long, ""} {
				kind, payload, err := r.Next()
				var o Open
				if err == nil {
					err = Decode(kind, payload, true, &o)
				}
				if err != nil || kind != FrameOpen || o.Dataset != id {
					t.Fatalf("%s: %v of %d bytes, error %v", name, kind, len(o.Dataset), err)
				}
			}
			for _, want := range []struct {
				kind    FrameKind
				payload []byte
			}{
				{FrameBatch, []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0}},
				{FrameRing, []byte{6, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0}},
				{FrameLeave, []byte{}},
			} {
				if kind, payload, err := r.Next(); err != nil || kind != want.kind || !bytes.Equal(payload, want.payload) {
					t.Fatalf("%s: %v %x, error %v", name, kind, payload, err)
				}
			}
			if _, _, err := r.Next(); err != io.EOF {
				t.Fatalf("%s: the end is %v", name, err)
			}
		})
	}
}

func TestFramesRefused(t *testing.T) {
	head := func(size uint32, kind, zero uint16) []byte {
		b := binary.LittleEndian.AppendUint32(nil, size)
		return binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(b, kind), zero)
	}
	for _, c := range []struct {
		name, want string
		wire       []byte
	}{
		{"half a header", "within a frame", head(1, 1, 0)[:5]},
		{"half a payload", "within HELLO", append(head(4, 1, 0), "{}"...)},
		{"no payload", "within OPEN", head(4, 2, 0)},
		{"too large", "more than 16777216", head(MaxPayload+1, 1, 0)},
		{"not zero", "JOIN: bytes 6 and 7 must be 0, got 1", head(0, 3, 1)},
		{"HTTP", "1414541105", []byte("GET / HTTP/1.1\r\n\r\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReader(bytes.NewReader(c.wire))
			_, _, err := r.Next()
			if c.name == "HTTP" {
				c.want = "bytes 6 and 7 must be 0"
			}
			if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.name, err)
			}
		})
	}
}

// A size that is a lie takes no memory.
func TestFrameOfLies(t *testing.T) {
	wire := AppendFrame(nil, FrameHello, MaxPayload)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := NewReader(bytes.NewReader(wire))
	if _, _, err := r.Next(); err == nil {
		t.Fatal("no error")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 16*KeptPayload {
		t.Fatalf("%d bytes were allocated", n)
	}
}

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		payload, want string
		strict        bool
	}{
		{`{"dataset":"a"}`, "", true},
		{` {"dataset":"a"} `, "", true},
		{`{}`, "", true},
		{`{"dataset":"a","sped":1}`, "", false},
		{`{"dataset":"a","sped":1}`, `unknown field "sped"`, true},
		{`{"dataset":"a","spec":{"sede":1}}`, `unknown field "sede"`, true},
		{`{"dataset":1}`, "cannot unmarshal number", true},
		{`{"spec":{"seed":-1}}`, "cannot unmarshal number -1", true},
		{`{"dataset":"a"}{}`, "more follows", true},
		{`{"dataset":"a"`, "unexpected EOF", true},
		{`null`, "not a JSON object", true},
		{`[]`, "not a JSON object", true},
		{``, "not a JSON object", true},
		{"{\"dataset\":\"\xff\"}", "not UTF-8", true},
	} {
		t.Run(c.payload, func(t *testing.T) {
			var o Open
			err := Decode(FrameOpen, []byte(c.payload), c.strict, &o)
			if c.want == "" && (err != nil || c.payload != "{}" && o.Dataset != "a") {
				t.Errorf("%s: %q, error %v", c.payload, o.Dataset, err)
			}
			if c.want != "" && (!errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "OPEN")) {
				t.Errorf("%s: error %v", c.payload, err)
			}
		})
	}
}

func TestFrameNames(t *testing.T) {
	for kind, want := range map[FrameKind]string{1: "HELLO", 4: "RELEASE", 7: "ASK", 65: "WELCOME", 70: "BATCH", 74: "NOTE", 8: "TAKE", 10: "MAP", 75: "MAPPED", 200: "frame of kind 200"} {
		t.Run(want, func(t *testing.T) {
			if got := kind.String(); got != want {
				t.Errorf("%d is %s", uint16(kind), got)
			}
		})
	}
}

// Whatever a trainer sends is frames or an error, and what is decoded means the same when it is
// sent back.
func FuzzFrames(f *testing.F) {
	add := func(kind FrameKind, v any) []byte {
		b, err := AppendMessage(nil, kind, v)
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	epoch := int64(3)
	f.Add(add(FrameHello, Hello{Version: 1, Job: "j", PID: 5}))
	f.Add(add(FrameOpen, Open{Dataset: "d", Spec: Spec{Addresses: []string{"s3://b/t"}, BatchSize: 4, Pad: []shardfeed.Pad{{Column: "c", MaxLength: 8}}}}))
	f.Add(add(FrameJoin, Join{Iteration: "i", WorldSize: 2, Epoch: &epoch}))
	f.Add(AppendFrame(nil, FrameRelease, 0))
	f.Add(append(add(FrameLeave, struct{}{}), add(FrameAsk, Ask{Stats: true})...))
	f.Fuzz(func(t *testing.T, wire []byte) {
		r := NewReader(bytes.NewReader(wire))
		for {
			kind, payload, err := r.Next()
			if err != nil {
				if err != io.EOF && !errors.Is(err, ErrProtocol) {
					t.Fatalf("%v", err)
				}
				return
			}
			message := map[FrameKind]any{FrameHello: &Hello{}, FrameOpen: &Open{}, FrameJoin: &Join{}, FrameEpoch: &SetEpoch{}, FrameAsk: &Ask{}, FrameSelect: &Select{}}[kind]
			if message != nil {
				err = Decode(kind, payload, true, message)
			}
			if err != nil {
				if !errors.Is(err, ErrProtocol) {
					t.Fatalf("%v: %v", kind, err)
				}
				return
			}
			switch m := message.(type) {
			case *Hello:
				_ = m.Validate()
			case *Open:
				_ = m.Validate()
			}
			if message != nil {
				if _, err := AppendMessage(nil, kind, message); err != nil {
					t.Fatalf("%v: %v", kind, err)
				}
			}
		}
	})
}
