package spark

import (
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// word is a field of a type.
func word(t testing.TB, kind string) *column.Field {
	c := &column.Field{}
	if !SetPrimitive(c, kind) {
		t.Fatalf("the type %s is not known", kind)
	}
	return c
}

func TestParseValue(t *testing.T) {
	for _, c := range []struct{ kind, text, want string }{
		{"string", "é ", "c3a920"},
		{"binary", "\x01A", "0141"},
		{"boolean", "true", "01"},
		{"boolean", "False", "00"},
		{"boolean", "1", ""},
		{"byte", "-128", "80"},
		{"byte", "128", ""},
		{"short", "300", "2c01"},
		{"integer", "-1", "ffffffff"},
		{"integer", "1.0", ""},
		{"long", "5000000000", "00f2052a01000000"},
		{"float", "1.5", "0000c03f"},
		{"float", "-Infinity", "000080ff"},
		{"double", "1.0E10", "000000205fa00242"},
		{"double", "0x1p4", ""},
		{"decimal(10,3)", "12.345", "3930000000000000"},
		{"decimal(10,3)", "-0.001", "ffffffffffffffff"},
		{"decimal(10,3)", "0E-3", "0000000000000000"},
		{"decimal(10,3)", "1.2345", ""},
		{"decimal(4,3)", "12.3", ""},
		{"decimal(38,0)", "-2", "feffffffffffffffffffffffffffffff"},
		{"decimal(10,3)", "1/2", ""},
		{"decimal(10,3)", "1e999999999", ""},
		{"date", "1970-01-02", "01000000"},
		{"date", "1969-12-31", "ffffffff"},
		{"date", "0001-01-01", "c606f5ff"},
		{"date", "+10000-01-01", "a1c02c00"},
		{"date", "2026-02-30", ""},
		{"date", "2026-2-3", ""},
		{"timestamp", "1970-01-01 00:00:01", "40420f0000000000"},
		{"timestamp", "1970-01-01T00:00:01.000000Z", "40420f0000000000"},
		{"timestamp", "1970-01-01T01:00:01.000000+01:00", "40420f0000000000"},
		{"timestamp", "1970-01-01 00:00:00.000001", "0100000000000000"},
		{"timestamp", "1969-12-31 23:59:59.999999", "ffffffffffffffff"},
		{"timestamp", "1970-01-01", "0000000000000000"},
		{"timestamp", "1970-01-01 00:00:00.0000001", ""},
		{"timestamp", "1970-01-01 25:00:00", ""},
		{"timestamp_ntz", "1970-01-01 00:00:00.5", "20a1070000000000"},
		{"timestamp_ntz", "1970-01-01T00:00:00Z", ""},
		{"void", "x", ""},
	} {
		b, err := ParseValue(word(t, c.kind), c.text)
		if got := fmt.Sprintf("%x", b); err != nil && c.want != "" || err == nil && got != c.want {
			t.Errorf("%s %q is %s, %v, want %s", c.kind, c.text, got, err, c.want)
		}
	}
}
