package sasl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/types"
)

// overhead is more than a seal adds to a message.
const overhead = 128

// ErrDamaged is the error of a message that the session's key did not seal.
var ErrDamaged = errors.New("a message's seal is broken")

// A seal protects the messages of one connection by the key of its session.
type seal struct {
	key     types.EncryptionKey
	private bool   // they are encrypted
	sent    uint64 // messages
}

// sealed is the flag of encrypted messages.
const sealed = 2

// close returns a message with its seal.
func (s *seal) close(message []byte) ([]byte, error) {
	etype, err := crypto.GetEtype(s.key.KeyType)
	if err != nil {
		return nil, err
	}
	number := s.sent
	s.sent++
	if !s.private {
		token := gssapi.WrapToken{EC: uint16(etype.GetHMACBitLength() / 8), SndSeqNum: number, Payload: message}
		if err := token.SetCheckSum(s.key, keyusage.GSSAPI_INITIATOR_SEAL); err != nil {
			return nil, err
		}
		return token.Marshal()
	}
	head := binary.BigEndian.AppendUint64([]byte{5, 4, sealed, 0xff, 0, 0, 0, 0}, number) // RFC 4121, 4.2.6.2
	_, text, err := etype.EncryptMessage(s.key.KeyValue, append(slices.Clone(message), head...), keyusage.GSSAPI_INITIATOR_SEAL)
	return append(head, text...), err
}

// headSize is the size of the head of a sealed message, which is encrypted with it a second time.
const headSize = 16

// open returns the message of a seal.
func (s *seal) open(message []byte) ([]byte, error) {
	if !s.private {
		var token gssapi.WrapToken
		if err := token.Unmarshal(message, true); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if good, err := token.Verify(s.key, keyusage.GSSAPI_ACCEPTOR_SEAL); !good || err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return token.Payload, nil
	}
	etype, err := crypto.GetEtype(s.key.KeyType)
	if err != nil {
		return nil, err
	}
	if len(message) < headSize+etype.GetConfounderByteSize()+etype.GetHMACBitLength()/8 || message[2]&sealed == 0 {
		return nil, fmt.Errorf("%w: it is not encrypted", ErrDamaged)
	}
	extra := int(binary.BigEndian.Uint16(message[4:]))
	turned := int(binary.BigEndian.Uint16(message[6:]))
	text := message[headSize:]
	if turned %= len(text); turned != 0 {
		text = append(slices.Clone(text[turned:]), text[:turned]...)
	}
	open, err := etype.DecryptMessage(s.key.KeyValue, text, keyusage.GSSAPI_ACCEPTOR_SEAL)
	if err != nil || len(open) < headSize+extra {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return open[:len(open)-headSize-extra], nil
}

// frames carry messages after the negotiation. Each has its length before it.
type frames struct {
	conn io.ReadWriter
	seal *seal // nil: they are plain
	most int   // bytes of a message that a frame may carry, with a seal
	in   bytes.Buffer
}

// Write sends a message in as many frames as it takes.
func (f *frames) Write(p []byte) (int, error) {
	if f.seal == nil {
		return len(p), f.frame(p)
	}
	for part := range slices.Chunk(p, f.most) {
		message, err := f.seal.close(part)
		if err != nil {
			return 0, err
		}
		if err := f.frame(message); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (f *frames) frame(p []byte) error {
	_, err := f.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(p))), p...))
	return err
}

// maxFrame bounds the frames of a server: a table of 100,000 partitions comes in answers of 300.
const maxFrame = 1 << 28

// Read reads what frames carry.
func (f *frames) Read(p []byte) (int, error) {
	for f.in.Len() == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	return f.in.Read(p)
}

// next reads a frame.
func (f *frames) next() error {
	var head [4]byte
	if _, err := io.ReadFull(f.conn, head[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrame {
		return fmt.Errorf("%w: a frame of %d bytes", ErrForeign, size)
	}
	f.in.Reset()
	if _, err := io.CopyN(&f.in, f.conn, int64(size)); err != nil {
		return io.ErrUnexpectedEOF
	}
	if f.seal == nil {
		return nil
	}
	message, err := f.seal.open(slices.Clone(f.in.Bytes()))
	if err != nil {
		return err
	}
	f.in.Reset()
	f.in.Write(message)
	return nil
}
