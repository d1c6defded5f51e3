package thrift

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// Types of messages.
const (
	messageCall      = 1
	messageReply     = 2
	messageException = 3

	version = 0x8001 << 16
)

// An Exception is a call that the server refused, other than by an exception that the method
// declares.
type Exception struct {
	Message string
	Type    int64
}

// UnknownMethod is the type of the exception of a method that the server does not have.
const UnknownMethod = 1

func (e *Exception) Error() string { return e.Message }

// A Client calls methods over a connection, one at a time.
type Client struct {
	conn io.ReadWriter
	in   *bufio.Reader
	seq  uint32
}

// NewClient returns a client of a connection, which is the caller's to close. After an error other
// than an Exception the connection is of no more use.
func NewClient(conn io.ReadWriter) *Client {
	return &Client{conn: conn, in: bufio.NewReader(conn)}
}

// Call calls a method and returns the struct of its results.
func (c *Client) Call(method string, args Struct) (Struct, error) {
	c.seq++
	b := appendMessage(nil, messageCall, method, c.seq)
	if _, err := c.conn.Write(appendStruct(b, args)); err != nil {
		return nil, err
	}
	kind, name, seq, s, err := readMessage(c.in)
	switch {
	case err == io.EOF:
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	case seq != c.seq || kind == messageReply && name != method:
		return nil, fmt.Errorf("%w: it is of call %d of %q", ErrDamaged, seq, name)
	case kind == messageReply:
		return s, nil
	case kind == messageException:
		e := &Exception{Message: s.Text(1)}
		e.Type, _ = s[2].(int64)
		return nil, e
	}
	return nil, fmt.Errorf("%w: it is a message of type %d", ErrDamaged, kind)
}

func appendMessage(b []byte, kind byte, method string, seq uint32) []byte {
	b = binary.BigEndian.AppendUint32(b, version|uint32(kind))
	b = appendValue(b, method)
	return binary.BigEndian.AppendUint32(b, seq)
}

func readMessage(from io.Reader) (kind byte, method string, seq uint32, s Struct, err error) {
	r := reader{from: from, left: maxMessage}
	word, err := r.number(4)
	if err != nil {
		return 0, "", 0, nil, err
	}
	if uint32(word)&^0xff != version {
		return 0, "", 0, nil, fmt.Errorf("%w: it starts with %08x", ErrDamaged, uint32(word))
	}
	if method, err = r.text(); err != nil {
		return 0, "", 0, nil, err
	}
	n, err := r.number(4)
	if err != nil {
		return 0, "", 0, nil, err
	}
	s, err = r.fields()
	return byte(word), method, uint32(n), s, err
}

// Serve answers the calls of a client until its connection ends, for tests. answer returns the
// results of a method, or an error: an Exception is sent, any other ends the connection.
func Serve(conn io.ReadWriter, answer func(method string, args Struct) (Struct, error)) error {
	in := bufio.NewReader(conn)
	for {
		_, method, seq, args, err := readMessage(in)
		if err != nil {
			return err
		}
		kind := byte(messageReply)
		s, err := answer(method, args)
		if e, ok := err.(*Exception); ok {
			kind, s = messageException, Struct{1: e.Message, 2: int32(e.Type)}
		} else if err != nil {
			return err
		}
		if _, err := conn.Write(appendStruct(appendMessage(nil, kind, method, seq), s)); err != nil {
			return err
		}
	}
}
