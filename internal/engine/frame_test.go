package engine

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
	long := strings.Repeat("x", 3*keptPayload)
	var wire []byte
	var err error
	for _, id := range []string{"first", long, ""} {
		if wire, err = appendMessage(wire, kindOpen, Open{Dataset: id}); err != nil {
			t.Fatal(err)
		}
	}
	wire = announcement{generation: 1, slot: 2, seq: 3, offset: 4, used: 5}.append(wire)
	wire = appendRing(wire, 6, 7, 8, 9)
	wire = appendFrame(wire, kindLeave, 0)
	for name, from := range map[string]io.Reader{"whole": bytes.NewReader(wire), "byte by byte": iotest.OneByteReader(bytes.NewReader(wire))} {
		t.Run(name, func(t *testing.T) {
			r := newFrameReader(from)
			for _, id := range []string{"first", long, ""} {
				kind, payload, err := r.next()
				var o Open
				if err == nil {
					err = decode(kind, payload, true, &o)
				}
				if err != nil || kind != kindOpen || o.Dataset != id {
					t.Fatalf("%s: %v of %d bytes, error %v", name, kind, len(o.Dataset), err)
				}
			}
			for _, want := range []struct {
				kind    frameKind
				payload []byte
			}{
				{kindBatch, []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0}},
				{kindRing, []byte{6, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0}},
				{kindLeave, []byte{}},
			} {
				if kind, payload, err := r.next(); err != nil || kind != want.kind || !bytes.Equal(payload, want.payload) {
					t.Fatalf("%s: %v %x, error %v", name, kind, payload, err)
				}
			}
			if _, _, err := r.next(); err != io.EOF {
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
		{"too large", "more than 16777216", head(maxPayload+1, 1, 0)},
		{"not zero", "JOIN: 1 stands where 0", head(0, 3, 1)},
		{"HTTP", "1414541105", []byte("GET / HTTP/1.1\r\n\r\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newFrameReader(bytes.NewReader(c.wire))
			_, _, err := r.next()
			if c.name == "HTTP" {
				c.want = "stands where 0 has to"
			}
			if !errors.Is(err, errProtocol) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.name, err)
			}
		})
	}
}

// A size that is a lie takes no memory.
func TestFrameOfLies(t *testing.T) {
	wire := appendFrame(nil, kindHello, maxPayload)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := newFrameReader(bytes.NewReader(wire))
	if _, _, err := r.next(); err == nil {
		t.Fatal("no error")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 16*keptPayload {
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
			err := decode(kindOpen, []byte(c.payload), c.strict, &o)
			if c.want == "" && (err != nil || c.payload != "{}" && o.Dataset != "a") {
				t.Errorf("%s: %q, error %v", c.payload, o.Dataset, err)
			}
			if c.want != "" && (!errors.Is(err, errProtocol) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "OPEN")) {
				t.Errorf("%s: error %v", c.payload, err)
			}
		})
	}
}

func TestFrameNames(t *testing.T) {
	for kind, want := range map[frameKind]string{1: "HELLO", 4: "RELEASE", 7: "ASK", 65: "WELCOME", 70: "BATCH", 74: "NOTE", 8: "TAKE", 10: "MAP", 75: "MAPPED", 200: "frame of kind 200"} {
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
	add := func(kind frameKind, v any) []byte {
		b, err := appendMessage(nil, kind, v)
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	epoch := int64(3)
	f.Add(add(kindHello, Hello{Version: 1, Job: "j", PID: 5}))
	f.Add(add(kindOpen, Open{Dataset: "d", Spec: Spec{Addresses: []string{"s3://b/t"}, BatchSize: 4, Pad: []shardfeed.Pad{{Column: "c", MaxLength: 8}}}}))
	f.Add(add(kindJoin, Join{Iteration: "i", WorldSize: 2, Epoch: &epoch}))
	f.Add(appendFrame(nil, kindRelease, 0))
	f.Add(append(add(kindLeave, struct{}{}), add(kindAsk, Ask{Stats: true})...))
	f.Fuzz(func(t *testing.T, wire []byte) {
		r := newFrameReader(bytes.NewReader(wire))
		for {
			kind, payload, err := r.next()
			if err != nil {
				if err != io.EOF && !errors.Is(err, errProtocol) {
					t.Fatalf("%v", err)
				}
				return
			}
			message := map[frameKind]any{kindHello: &Hello{}, kindOpen: &Open{}, kindJoin: &Join{}, kindEpoch: &SetEpoch{}, kindAsk: &Ask{}, kindSelect: &Select{}}[kind]
			if message != nil {
				err = decode(kind, payload, true, message)
			}
			if err != nil {
				if !errors.Is(err, errProtocol) {
					t.Fatalf("%v: %v", kind, err)
				}
				return
			}
			switch m := message.(type) {
			case *Hello:
				_ = m.validate()
			case *Open:
				_ = m.validate()
			}
			if message != nil {
				if _, err := appendMessage(nil, kind, message); err != nil {
					t.Fatalf("%v: %v", kind, err)
				}
			}
		}
	})
}
