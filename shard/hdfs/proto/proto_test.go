package proto

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func appendNumber(m []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), value)
}

func appendText(m []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), text)
}

func TestFind(t *testing.T) {
	sub := func(n protowire.Number, m []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), m)
	}
	fixed := protowire.AppendFixed32(protowire.AppendTag(nil, 4, protowire.Fixed32Type), 99)
	for _, c := range []struct {
		name string
		m    []byte
		want uint64
		ok   bool
	}{
		{"empty", nil, 0, false},
		{"there", sub(1, appendNumber(nil, 2, 7)), 7, true},
		{"twice, the last counts", append(sub(1, appendNumber(nil, 2, 7)), sub(1, appendNumber(nil, 2, 8))...), 8, true},
		{"another field", sub(1, appendNumber(nil, 3, 7)), 0, false},
		{"of another type", sub(1, appendText(nil, 2, "x")), 0, false},
		{"parent of another type", appendNumber(nil, 1, 7), 0, false},
		{"after others", append(append(fixed, appendText(nil, 9, "x")...), sub(1, appendNumber(nil, 2, 7))...), 7, true},
		{"cut", sub(1, appendNumber(nil, 2, 7))[:3], 0, false},
		{"nonsense behind it", append(sub(1, appendNumber(nil, 2, 7)), 0xff), 0, false},
	} {
		if got, ok := Number(c.m, protowire.VarintType, 1, 2); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %d, %v", c.name, got, ok)
		}
	}
	if got, ok := Number(fixed, protowire.Fixed32Type, 4); got != 99 || !ok {
		t.Errorf("fixed: %d, %v", got, ok)
	}
	if s, ok := Bytes(appendText(appendText(nil, 5, "a"), 5, "b"), 5); string(s) != "b" || !ok {
		t.Errorf("text %q", s)
	}
	if s, ok := Bytes(appendText(nil, 5, "abc")[:3], 5); ok {
		t.Errorf("text %q of a message that was cut", s)
	}
}
