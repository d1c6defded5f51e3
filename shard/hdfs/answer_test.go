package hdfs

import (
	"encoding/binary"
	"reflect"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

func message(fields ...any) (m []byte) {
	for i := 0; i < len(fields); i += 2 {
		n := protowire.Number(fields[i].(int))
		switch v := fields[i+1].(type) {
		case int:
			m = protowire.AppendVarint(protowire.AppendTag(m, n, protowire.VarintType), uint64(v))
		case string:
			m = protowire.AppendString(protowire.AppendTag(m, n, protowire.BytesType), v)
		case []byte:
			m = protowire.AppendBytes(protowire.AppendTag(m, n, protowire.BytesType), v)
		}
	}
	return m
}

func packet(messages ...[]byte) []byte {
	var all []byte
	for _, m := range messages {
		all = protowire.AppendBytes(all, m)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(all))), all...)
}

// locations is a GetBlockLocationsResponseProto of a file with two blocks.
func locations(open int) []byte {
	block := func(id, off int) []byte {
		node := message(1, message(1, "10.0.0.1", 2, "host1"))
		other := message(1, message(1, "10.0.0.2", 2, "host2"))
		return message(1, message(1, "BP", 2, id, 3, 1001, 4, 100), 2, off, 3, node, 3, other, 4, 0)
	}
	return message(1, message(1, 200, 2, block(7, 0), 2, block(8, 100), 3, open, 5, 1))
}

func TestAnswer(t *testing.T) {
	body := locations(1)
	header := message(1, 5, 2, 0)
	wrapped := func(flags byte) []byte {
		token := append([]byte{5, 4, flags, 0xff, 0, 12, 0, 0}, make([]byte, 8)...)
		token = append(append(token, packet(header, body)...), make([]byte, 12)...)
		return packet(message(1, int(uint32(0xffffffff-32)), 2, 0), message(2, 5, 3, token))
	}
	for _, c := range []struct {
		name   string
		packet []byte
		want   bool
	}{
		{"plain", packet(header, body), true},
		{"signed", wrapped(1), true},
		{"encrypted", wrapped(3), false},
		{"cut", packet(header, body)[:20], false},
		{"an error", packet(message(1, 5, 2, 1, 4, "java.io.IOException")), false},
		{"of a handshake", packet(message(1, int(uint32(0xffffffff-32)), 2, 0), message(2, 1, 3, "token")), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := parseAnswer(c.packet[4:])
			if got := a.body != nil && parseLocated(a.body) != nil; got != c.want || a.fatal != nil {
				t.Errorf("%v, fatal %v", got, a.fatal)
			}
		})
	}
	a := parseAnswer(packet(message(1, int(uint32(0xffffffff)), 2, 2, 4, "org.apache.AccessControlException", 5, "no\n\tat trace"))[4:])
	if a.fatal == nil || a.fatal.Error() != "AccessControlException: no" {
		t.Errorf("fatal: %v", a.fatal)
	}
}

func TestLocated(t *testing.T) {
	l := parseLocated(locations(0))
	want := &located{length: 200, blocks: []locatedBlock{
		{id: 7, generation: 1001, off: 0, size: 100, hosts: []string{"host1", "host2"}},
		{id: 8, generation: 1001, off: 100, size: 100, hosts: []string{"host1", "host2"}},
	}}
	if !reflect.DeepEqual(l, want) {
		t.Errorf("%+v", l)
	}
	if open := parseLocated(locations(1)); !open.unfinished || !open.same(l) {
		t.Errorf("open: %+v", open)
	}
	other := parseLocated(locations(0))
	other.blocks[1].generation++
	short := parseLocated(locations(0))
	short.blocks = short.blocks[:1]
	for i, o := range []*located{other, short, nil} {
		if l.same(o) || o.same(l) {
			t.Errorf("%d: the same", i)
		}
	}
	for _, m := range [][]byte{nil, {0xff}, message(1, "x"), message(1, message(1, 200)), message(2, 1)} {
		if parseLocated(m) != nil {
			t.Errorf("%x is taken for blocks", m)
		}
	}
}

func TestCalledMethod(t *testing.T) {
	header := message(1, 2, 3, 4)
	for want, b := range map[string][]byte{
		"getBlockLocations": packet(header, message(1, "getBlockLocations", 2, "ClientProtocol"), message(1, "/x")),
		"":                  []byte("hrpc\x09\x00\x00"),
	} {
		t.Run(want, func(t *testing.T) {
			if got := calledMethod(b); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	if got := calledMethod(packet(header, message(1, 3))); got != "" {
		t.Errorf("a handshake calls %q", got)
	}
}

// FuzzAnswer: no answer breaks the parser, and blocks are only seen where their message is whole.
func FuzzAnswer(f *testing.F) {
	f.Add(packet(message(1, 5, 2, 0), locations(1))[4:])
	f.Add(packet(message(1, 5, 2, 2, 4, "E"))[4:])
	f.Fuzz(func(t *testing.T, b []byte) {
		a := parseAnswer(b)
		if a.fatal != nil && a.body != nil {
			t.Fatal("an error with a body")
		}
		if l := parseLocated(a.body); l != nil && len(l.blocks) > len(b) {
			t.Fatal("more blocks than bytes")
		}
		_ = calledMethod(b)
	})
}
