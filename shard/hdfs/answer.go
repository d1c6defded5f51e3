package hdfs

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shardfeed/shardfeed/shard/hdfs/proto"
)

// An answer is one of a namenode.
type answer struct {
	fatal *fatalError // the namenode ends the connection with it
	body  []byte      // the requested message, or nil if it is hidden
}

// A fatalError is the reason why a namenode ended a connection. The client hides it: it only sees
// an answer to a call that it never made.
type fatalError struct{ exception, message string }

func (e *fatalError) Error() string {
	if e.exception == notRPC {
		return e.message
	}
	name := e.exception[strings.LastIndexByte(e.exception, '.')+1:]
	first, _, _ := strings.Cut(e.message, "\n")
	return fmt.Sprintf("%s: %s", name, first)
}

// notRPC is our name for the exception of a server that does not speak the namenode's RPC.
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
	call, _ := proto.Number(header, protowire.VarintType, 1)
	if status, _ := proto.Number(header, protowire.VarintType, 2); status == 2 {
		class, _ := proto.Bytes(header, 4)
		message, _ := proto.Bytes(header, 5)
		return answer{fatal: &fatalError{string(class), string(message)}}
	}
	body, n := protowire.ConsumeBytes(b[n:])
	if n < 0 {
		return answer{}
	}
	if int32(call) != saslCall {
		return answer{body: body}
	}
	token, _ := proto.Bytes(body, 3)
	if state, _ := proto.Number(body, protowire.VarintType, 2); state != 5 { // WRAP
		return answer{}
	}
	if inner := unwrap(token); len(inner) > 4 && int64(len(inner)) == 4+int64(binary.BigEndian.Uint32(inner)) {
		return parseAnswer(inner[4:])
	}
	return answer{}
}

// unwrap returns what a signed token of RFC 4121, 4.2.6.2, carries; nil when it is encrypted.
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

// A located has the block locations of a file from a namenode.
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
	return l != nil && o != nil && l.length == o.length && slices.EqualFunc(l.blocks, o.blocks, func(a, b locatedBlock) bool {
		return a.id == b.id && a.generation == b.generation
	})
}

// parseLocated reads a GetBlockLocationsResponseProto, or returns nil for another message.
func parseLocated(body []byte) *located {
	m, ok := proto.Bytes(body, 1)
	length, ok1 := proto.Number(m, protowire.VarintType, 1)
	open, ok2 := proto.Number(m, protowire.VarintType, 3)
	if !ok || !ok1 || !ok2 {
		return nil
	}
	l := &located{length: int64(length), unfinished: open != 0}
	proto.Fields(m, func(num protowire.Number, typ protowire.Type, value []byte) {
		if num == 2 && typ == protowire.BytesType {
			l.blocks = append(l.blocks, parseBlock(value))
		}
	})
	return l
}

// parseBlock reads a LocatedBlockProto.
func parseBlock(m []byte) (b locatedBlock) {
	const extendedBlock, datanodeInfo, datanodeID, hostName = 1, 3, 1, 2
	off, _ := proto.Number(m, protowire.VarintType, 2)
	size, _ := proto.Number(m, protowire.VarintType, extendedBlock, 4)
	b.off, b.size = int64(off), int64(size)
	b.id, _ = proto.Number(m, protowire.VarintType, extendedBlock, 2)
	b.generation, _ = proto.Number(m, protowire.VarintType, extendedBlock, 3)
	proto.Fields(m, func(num protowire.Number, _ protowire.Type, value []byte) {
		if num != datanodeInfo {
			return
		}
		if host, ok := proto.Bytes(value, datanodeID, hostName); ok {
			b.hosts = append(b.hosts, string(host))
		}
	})
	return b
}
