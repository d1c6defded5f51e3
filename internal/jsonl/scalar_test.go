package jsonl

import (
	"math"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

func TestScalars(t *testing.T) {
	uuid := []byte{0x55, 0x0e, 0x84, 0x00, 0xe2, 0x9b, 0x41, 0xd4, 0xa7, 0x16, 0x44, 0x66, 0x55, 0x44, 0x00, 0x00}
	cases := []struct {
		name  string
		typ   column.Type
		value []byte
		want  string
	}{
		{"false", column.TypeBool, []byte{0}, `false`},
		{"true", column.TypeBool, []byte{1}, `true`},
		{"int8 least", column.TypeInt8, []byte{0x80}, `-128`},
		{"int16 least", column.TypeInt16, u16(0x8000), `-32768`},
		{"int32 least", column.TypeInt32, u32(1 << 31), `-2147483648`},
		{"int64 least", column.TypeInt64, u64(1 << 63), `-9223372036854775808`},
		{"uint8 largest", column.TypeUint8, []byte{0xff}, `255`},
		{"uint16 largest", column.TypeUint16, u16(0xffff), `65535`},
		{"uint32 largest", column.TypeUint32, u32(math.MaxUint32), `4294967295`},
		{"uint64 largest", column.TypeUint64, u64(math.MaxUint64), `18446744073709551615`},
		{"uuid", column.TypeUUID, uuid, `"550e8400-e29b-41d4-a716-446655440000"`},
		{"fixed binary", column.TypeFixedBinary, []byte{0xfb, 0xff, 0xbf}, `"+/+/"`},
		{"fixed binary, padded", column.TypeFixedBinary, []byte{0}, `"AA=="`},
		{"interval", column.TypeInterval, []byte("\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00"), `"AQAAAAIAAAADAAAA"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := value(fixed(&column.Field{Type: c.typ}, c.value)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestBinaries(t *testing.T) {
	cases := []struct {
		name  string
		typ   column.Type
		value string
		want  string
	}{
		{"empty string", column.TypeString, "", `""`},
		{"string", column.TypeString, "가방 bag", `"가방 bag"`},
		{"enum", column.TypeEnum, "RED", `"RED"`},
		{"json stays text", column.TypeJSON, `{"a": 1}`, `"{\"a\": 1}"`},
		{"no escape of HTML", column.TypeString, `<a href="x">&</a>`, `"<a href=\"x\">&</a>"`},
		{"controls", column.TypeString, "\x00\b\f\n\r\t\x1f\x7f\\", "\"\\u0000\\b\\f\\n\\r\\t\\u001f\x7f\\\\\""},
		{"separators stay", column.TypeString, "\u2028\u2029😀", "\"\u2028\u2029😀\""},
		{"not UTF-8", column.TypeString, "a\xffb\xe2\x82", "\"a\ufffdb\ufffd\ufffd\""},
		{"a surrogate is not UTF-8", column.TypeString, "\xed\xa0\x80", "\"\ufffd\ufffd\ufffd\""},
		{"empty binary", column.TypeBinary, "", `""`},
		{"binary", column.TypeBinary, "\x00\x01\x02\x03", `"AAECAw=="`},
		{"bson", column.TypeBSON, "\x05\x00\x00\x00\x00", `"BQAAAAA="`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := value(variable(&column.Field{Type: c.typ}, c.value)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestDecimals(t *testing.T) {
	negative := func(width int, last byte) []byte { // -1 with another lowest byte
		b := []byte(strings.Repeat("\xff", width))
		b[0] = last
		return b
	}
	least := func(width int) []byte {
		b := make([]byte, width)
		b[width-1] = 0x80
		return b
	}
	cases := []struct {
		name  string
		value []byte
		scale int
		want  string
	}{
		{"zero", u64(0), 0, "0"},
		{"zero with scale", u64(0), 2, "0.00"},
		{"digits kept", u64(1230), 2, "12.30"},
		{"less than one", u64(5), 3, "0.005"},
		{"as many digits as the scale", u64(123), 3, "0.123"},
		{"negative", negative(8, 0xfb), 2, "-0.05"},
		{"least of 8 bytes", least(8), 0, "-9223372036854775808"},
		{"zero of 16 bytes", make([]byte, 16), 3, "0.000"},
		{"one limb of 16 bytes", append(u64(math.MaxUint64), u64(0)...), 0, "18446744073709551615"},
		{"zeros inside", append(u64(0), u64(1)...), 1, "1844674407370955161.6"},
		{"ten to the 19", append(u64(10_000_000_000_000_000_000), u64(0)...), 0, "10000000000000000000"},
		{"negative of 16 bytes", negative(16, 0x85), 2, "-1.23"},
		{"least of 16 bytes", least(16), 38, "-1.70141183460469231731687303715884105728"},
		{"negative of 32 bytes", negative(32, 0xff), 0, "-1"},
		{"least of 32 bytes", least(32), 0, "-57896044618658097711785492504343953926634992332820282019728792003956564819968"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := fixed(&column.Field{Type: column.TypeDecimal, Scale: c.scale}, c.value)
			if got := value(a); got != `"`+c.want+`"` {
				t.Errorf("got %s, want %q", got, c.want)
			}
		})
	}
}

func TestWideDecimals(t *testing.T) {
	cases := []struct {
		name, value string
		scale       int
		want        string
	}{
		{"empty", "", 2, "0.00"},
		{"one byte", "\x7f", 0, "127"},
		{"negative", "\xff", 1, "-0.1"},
		{"least of one byte", "\x80", 0, "-128"},
		{"leading zeros", "\x00\x00\x80", 0, "128"},
		{
			"40 bytes", "\x01" + strings.Repeat("\x00", 39), 0,
			"8343699359066055009355553539724812947666814540455674882605631280555545803830627148527195652096",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := variable(&column.Field{Type: column.TypeDecimal, Scale: c.scale}, c.value)
			if got := value(a); got != `"`+c.want+`"` {
				t.Errorf("got %s, want %q", got, c.want)
			}
		})
	}
}
