package sasl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var key = types.EncryptionKey{KeyType: 18, KeyValue: bytes.Repeat([]byte("k3"), 16)}

// A server seals as an acceptor does, in code of its own.
type server struct {
	net.Conn
	t     *testing.T
	layer byte
}

func (s server) read() []byte {
	var size uint32
	if err := binary.Read(s.Conn, binary.BigEndian, &size); err != nil {
		return nil
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(s.Conn, b); err != nil {
		s.t.Error(err)
	}
	return b
}

func (s server) write(head, b []byte) {
	_, _ = s.Conn.Write(append(binary.BigEndian.AppendUint32(head, uint32(len(b))), b...)) // the client notices
}

func (s server) signed(b []byte) []byte {
	token := gssapi.WrapToken{Flags: 1, EC: 12, Payload: b}
	if err := token.SetCheckSum(key, keyusage.GSSAPI_ACCEPTOR_SEAL); err != nil {
		s.t.Error(err)
	}
	text, err := token.Marshal()
	if err != nil {
		s.t.Error(err)
	}
	return text
}

// encrypted fills up with a byte, and turns the text by 3.
func (s server) encrypted(b []byte) []byte {
	head := []byte{5, 4, 3, 0xff, 0, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 9}
	etype, err := crypto.GetEtype(key.KeyType)
	if err != nil {
		s.t.Error(err)
	}
	_, text, err := etype.EncryptMessage(key.KeyValue, append(append(bytes.Clone(b), 'x'), head...), keyusage.GSSAPI_ACCEPTOR_SEAL)
	if err != nil {
		s.t.Error(err)
	}
	return append(head, append(bytes.Clone(text[len(text)-3:]), text[:len(text)-3]...)...)
}

func (s server) opened(b []byte) []byte {
	switch s.layer {
	case plain:
		return b
	case integrity:
		var token gssapi.WrapToken
		if err := token.Unmarshal(b, false); err != nil {
			s.t.Error(err)
		}
		if good, err := token.Verify(key, keyusage.GSSAPI_INITIATOR_SEAL); !good {
			s.t.Error(err)
		}
		return token.Payload
	}
	text, err := crypto.DecryptMessage(b[16:], key, keyusage.GSSAPI_INITIATOR_SEAL)
	if err != nil || !bytes.Equal(text[len(text)-16:], b[:16]) {
		s.t.Error("the head is not in the text", err)
	}
	return text[:len(text)-16]
}

func (s server) sealed(b []byte) []byte {
	return map[byte]func([]byte) []byte{
		plain: func(b []byte) []byte { return b }, integrity: s.signed, privacy: s.encrypted,
	}[s.layer](b)
}

// pair returns a negotiation with a server that runs until the test ends.
func pair(t *testing.T, serve func(conn net.Conn)) negotiation {
	client, conn := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer conn.Close()
		serve(conn)
	}()
	t.Cleanup(func() { client.Close(); <-done })
	return negotiation{client}
}

// Messages of any length cross at each layer, and the lightest one that is offered is taken.
func TestLayers(t *testing.T) {
	for _, c := range []struct{ offered, layer byte }{{7, plain}, {6, integrity}, {2, integrity}, {4, privacy}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			const most = 1000
			n := pair(t, func(conn net.Conn) {
				s := server{conn, t, integrity}
				var state [1]byte
				if _, err := io.ReadFull(conn, state[:]); err != nil || state[0] != ok {
					t.Error(state, err)
				}
				if answer := s.opened(s.read()); answer[0] != c.layer {
					t.Errorf("it took %v, want layer %d", answer, c.layer)
				}
				s.write([]byte{complete}, nil)
				s.layer = c.layer
				for b := s.read(); b != nil; b = s.read() {
					if len(b) > most && c.layer != plain {
						t.Errorf("a frame of %d bytes", len(b))
					}
					s.write(nil, s.sealed(s.opened(b)))
				}
			})
			frames, err := n.choose(&seal{key: key}, server{nil, t, integrity}.signed([]byte{c.offered, 0, most >> 8, most & 0xff}))
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{1, 31, 5000} {
				want := strings.Repeat("m", size)
				go func() {
					if _, err := io.WriteString(frames, want); err != nil {
						t.Error(err)
					}
				}()
				got := make([]byte, size)
				if _, err := io.ReadFull(frames, got); err != nil || string(got) != want {
					t.Errorf("%d bytes: %q, %v", size, got, err)
				}
			}
		})
	}
}

// Broken seals and answers of other protocols are errors.
func TestForeign(t *testing.T) {
	good := server{nil, t, integrity}.signed([]byte{7, 0, 0, 0})
	bent := bytes.Clone(good)
	bent[17] ^= 1
	for name, c := range map[string]struct {
		offer []byte
		want  error
	}{
		"not by the key": {bent, ErrForeign},
		"short":          {good[:9], ErrForeign},
		"five bytes":     {server{nil, t, integrity}.signed([]byte{7, 0, 0, 0, 0}), ErrForeign},
		"no layer":       {server{nil, t, integrity}.signed([]byte{8, 0, 0, 0}), ErrForeign},
	} {
		if _, err := (negotiation{}).choose(&seal{key: key}, c.offer); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for text, want := range map[string]error{
		"\x03\x00\x00\x00\x02no":     ErrRefused,
		"\x04\x00\x00\x00\x00":       ErrRefused,
		"\x00\x00\x00\x01":           io.ErrUnexpectedEOF,
		"HTTP/1.1 400 Bad Request\r": ErrForeign,
		"\x02\xff\xff\xff\xff":       ErrForeign,
		"\x01\x00\x00\x00\x01x":      ErrForeign,
		"\x05\x00\x00\x00\x00":       ErrForeign,
		"\x02\x00\x00\x00\x02a":      io.ErrUnexpectedEOF,
	} {
		n := pair(t, func(conn net.Conn) { _, _ = io.WriteString(conn, text) })
		if _, err := n.receive(ok); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
	for _, private := range []bool{false, true} {
		s := &seal{key: key, private: private}
		for size := range len(good) {
			if _, err := s.open(good[:size]); !errors.Is(err, ErrDamaged) {
				t.Errorf("%d bytes: %v", size, err)
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	s := server{nil, nil, 0}
	f.Add(s.signed([]byte("text")), false)
	f.Add(s.encrypted([]byte("text")), true)
	f.Add([]byte("00200000000000000"), true)
	f.Fuzz(func(t *testing.T, b []byte, private bool) {
		s := &seal{key: key, private: private}
		text, err := s.open(b)
		if err == nil && len(text) > len(b) {
			t.Errorf("%d bytes of %d", len(text), len(b))
		}
		in := &frames{conn: struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(b), io.Discard}, seal: s}
		if _, err := io.ReadAll(in); err == nil && len(b) > 0 {
			t.Error("no frame, no error")
		}
	})
}
