package hdfs

import (
	"encoding/binary"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// An answer is one of a namenode.
type answer struct {
	fatal *fatalError // the namenode ends the connection with it
	body  []byte      // the message that was asked for; nil where it cannot be seen
}

// A fatalError is why a namenode ended a connection. The client does not tell: it only sees an
// answer to a call that it never made.
type fatalError struct{ exception, message string }

func (e *fatalError) Error() string {
	if e.exception == notRPC {
		return e.message
	}
	name := e.exception[strings.LastIndexByte(e.exception, '.')+1:]
	first, _, _ := strings.Cut(e.message, "\n")
	return fmt.Sprintf("%s: %s", name, first)
}

// notRPC stands for the exception of a server that does not speak the namenode's RPC.
const notRPC = "NoNamenode"

// saslCall is the number of the call that a wrapped answer pretends to belong to.
const saslCall = -33

// parseAnswer reads an RpcResponseHeaderProto and what follows it. An answer that is signed is
// looked into, one that is encrypted has no body.
func parseAnswer(b []byte) answer {
	header, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return answer{}
	}
	call, _ := lastField(header, 1, protowire.VarintType)
	status, _ := lastField(header, 2, protowire.VarintType)
	if number(status) == 2 {
		class, _ := lastField(header, 4, protowire.BytesType)
		message, _ := lastField(header, 5, protowire.BytesType)
		return answer{fatal: &fatalError{string(class), string(message)}}
	}
	body, n := protowire.ConsumeBytes(b[n:])
	if n < 0 {
		return answer{}
	}
	if int32(number(call)) != saslCall {
		return answer{body: body}
	}
	state, _ := lastField(body, 2, protowire.VarintType)
	token, _ := lastField(body, 3, protowire.BytesType)
	if number(state) != 5 { // WRAP
		return answer{}
	}
	if inner := unwrap(token); len(inner) > 4 && int64(len(inner)) == 4+int64(binary.BigEndian.Uint32(inner)) {
		return parseAnswer(inner[4:])
	}
	return answer{}
}

// unwrap returns what a signed token of RFC 4121, section 4.2.6.2, carries; nil when it is
// encrypted.
func unwrap(token []byte) []byte {
	const header, sealed = 16, 2
	if len(token) < header || token[0] != 5 || token[1] != 4 || token[2]&sealed != 0 {
		return nil
	}
	sum := int(binary.BigEndian.Uint16(token[4:])) // bytes at the end
	if len(token) < header+sum {
		return nil
	}
	return token[header : len(token)-sum]
}

// A located is what a namenode says of a file's blocks.
type located struct {
	length     int64
	unfinished bool // somebody is writing it
	blocks     []locatedBlock
}

type locatedBlock struct {
	id, generation uint64
	off, size      int64
	hosts          []string
}

// same reports whether both are the same blocks.
func (l *located) same(o *located) bool {
	if l == nil || o == nil || len(l.blocks) != len(o.blocks) || l.length != o.length {
		return false
	}
	for i, b := range l.blocks {
		if b.id != o.blocks[i].id || b.generation != o.blocks[i].generation {
			return false
		}
	}
	return true
}

// parseLocated reads a GetBlockLocationsResponseProto; nil when it is none.
func parseLocated(body []byte) *located {
	m, ok := lastField(body, 1, protowire.BytesType)
	length, ok1 := lastField(m, 1, protowire.VarintType)
	open, ok2 := lastField(m, 3, protowire.VarintType)
	if !ok || !ok1 || !ok2 {
		return nil
	}
	l := &located{length: int64(number(length)), unfinished: number(open) != 0}
	eachField(m, func(num protowire.Number, typ protowire.Type, value []byte) {
		if num == 2 && typ == protowire.BytesType {
			l.blocks = append(l.blocks, parseBlock(value))
		}
	})
	return l
}

// parseBlock reads a LocatedBlockProto.
func parseBlock(m []byte) (b locatedBlock) {
	id, _ := lastField(m, 1, protowire.BytesType) // ExtendedBlockProto
	off, _ := lastField(m, 2, protowire.VarintType)
	block, _ := lastField(id, 2, protowire.VarintType)
	generation, _ := lastField(id, 3, protowire.VarintType)
	size, _ := lastField(id, 4, protowire.VarintType)
	b = locatedBlock{id: number(block), generation: number(generation), off: int64(number(off)), size: int64(number(size))}
	eachField(m, func(num protowire.Number, typ protowire.Type, value []byte) {
		if num != 3 || typ != protowire.BytesType { // DatanodeInfoProto
			return
		}
		node, _ := lastField(value, 1, protowire.BytesType) // DatanodeIDProto
		if host, ok := lastField(node, 2, protowire.BytesType); ok {
			b.hosts = append(b.hosts, string(host))
		}
	})
	return b
}

// eachField calls f for each field of a message; a message that ends in nonsense has the fields
// before it. A number is passed as its bytes on the wire, a text without its length.
func eachField(m []byte, f func(protowire.Number, protowire.Type, []byte)) {
	for len(m) > 0 {
		num, typ, n := protowire.ConsumeTag(m)
		if n < 0 {
			return
		}
		m = m[n:]
		if n = protowire.ConsumeFieldValue(num, typ, m); n < 0 {
			return
		}
		value := m[:n]
		if typ == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(m)
		}
		f(num, typ, value)
		m = m[n:]
	}
}

// lastField finds a field of a message: the last, as all parsers of protocol buffers do.
func lastField(m []byte, want protowire.Number, wantType protowire.Type) (value []byte, ok bool) {
	eachField(m, func(num protowire.Number, typ protowire.Type, v []byte) {
		if num == want && typ == wantType {
			value, ok = v, true
		}
	})
	return value, ok
}

// number reads a varint; no bytes are 0.
func number(varint []byte) uint64 {
	v, _ := protowire.ConsumeVarint(varint)
	return v
}
