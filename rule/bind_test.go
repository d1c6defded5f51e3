package rule

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
)

// bindSchema has a column of each type of testTypes, and some that are not compared.
func bindSchema() *column.Schema {
	s := &column.Schema{}
	for _, t := range testTypes() {
		s.Fields = append(s.Fields, &t.field)
	}
	source := &column.Field{Name: "source", Kind: column.Binary, Type: column.TypeString}
	items := column.FieldOf[int32]("item")
	s.Fields = append(s.Fields,
		&column.Field{Name: "token_ids", Kind: column.List, Children: []*column.Field{items}},
		&column.Field{Name: "meta", Kind: column.Struct, Children: []*column.Field{source}},
		&column.Field{Name: "gap", Kind: column.Fixed, Type: column.TypeInterval, Width: 12},
		&column.Field{Name: "empty", Kind: column.Null, Type: column.TypeUnknown},
		&column.Field{Name: "huge", Kind: column.Binary, Type: column.TypeDecimal, Precision: 90, Scale: 1},
		&column.Field{Name: "dotted.name", Kind: column.Fixed, Type: column.TypeInt8, Width: 1},
		column.FieldOf[int32]("twice"), column.FieldOf[int64]("twice"),
		&column.Field{Name: "part", Kind: column.Binary, Type: column.TypeString, Partition: true},
	)
	return s
}

var testFiles = map[string]string{
	"ids.txt": "\ufeff1\r\n\n 2 \n-3", "words.txt": "a b\n'\n", "bad.txt": "1\n\nx\n", "none.txt": "\n\n", "long.txt": strings.Repeat("1\n", 1_000_001),
}

func readTestFile(name string) ([]byte, error) {
	text, ok := testFiles[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return []byte(text), nil
}

func TestBindErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"i8 = 127 and u64 = 18446744073709551615 and i64 >= -9223372036854775808", ""},
		{"i8 = 128", `compares column "i8" (int8) with 128, which is outside of -128 to 127`},
		{"u16 in (1, -1)", `compares column "u16" (uint16) with -1, which is outside of 0 to 65535`},
		{"u64 = 18446744073709551616", `compares column "u64" (uint64) with 18446744073709551616, which is outside of 0 to 18446744073709551615`},
		{"i64 < 1e300", `compares column "i64" (int64) with 1e300, which is outside of -9223372036854775808 to 9223372036854775807`},
		{"i32 > 0.5", `compares column "i32" (int32) with 0.5, which is not a whole number`},
		{"i32 = '5'", `compares column "i32" (int32) with '5', which is a string; give a whole number`},
		{"f64 = 'x'", `compares column "f64" (double) with 'x', which is a string; give a number`},
		{"f32 = 1e40", `compares column "f32" (float) with 1e40, which is beyond its range`},
		{"f16 = 65519 and f16 = -65520", `compares column "f16" (float16) with -65520, which is beyond its range`},
		{"name = 5", `compares column "name" (string) with 5, which is a number; give a string in quotes`},
		{"name = x'00'", `compares column "name" (string) with x'00', which is bytes; give a string in quotes`},
		{"flag = 1", `compares column "flag" (bool) with 1, which is a number; give true or false`},
		{"flag < true", `orders column "flag" (bool) by <; a boolean is only compared by = and !=`},
		{"flag between false and true", `orders column "flag" (bool) by between; a boolean is only compared by = and !=`},
		{"i32", `compares column "i32" (int32) with true, which is a boolean; give a whole number`},
		{"d9 = 1234567.89 and d9 = 5", ""},
		{"d9 = 0.123", `compares column "d9" (decimal(9,2)) with 0.123, which has more than 2 digits after the point`},
		{"d9 < 12345678", `compares column "d9" (decimal(9,2)) with 12345678, which has more than 7 digits before the point`},
		{"token_ids = 5", `compares column "token_ids" (list<int32>) with 5; use len(token_ids) or token_ids is null`},
		{"token_ids is null and len(token_ids) in (1, 5)", ""},
		{"len(token_ids) = -1", `compares len(token_ids) (a whole number) with -1, which is outside of 0 to 18446744073709551615`},
		{"len(i32) = 1", `takes the length of column "i32" (int32); len is of lists, maps, strings and binary values`},
		{"hash(token_ids) % 2 = 1", `takes the hash of column "token_ids" (list<int32>); name a column of single values`},
		{"hash(i32) % 2 = 'x'", `compares hash(i32) % 2 (a whole number) with 'x', which is a string; give a whole number`},
		{"meta = 1", `compares column "meta" (struct<source: string>) with 1; name a member, as in meta.source`},
		{"meta.source = 'x' and meta is null and dotted.name = 1 and \"dotted.name\" = 2 and part = 'p'", ""},
		{"gap = 1", `compares column "gap" (interval) with 1; use is null or is not null`},
		{"gap is null and empty is null and huge is null", ""},
		{"empty = 1 and not empty in ('a', 'b') and len(empty) > 2", ""},
		{"huge = 1", `compares column "huge" (decimal(90,1)) with 1; use is null or is not null`},
		{"twice = 1", `names column "twice", which the data has 2 times`},
		{"nmae = 'x'", `names column "nmae", which the data does not have; there is "name"`},
		{"meta.sorce = 'x'", `names column "meta.sorce", which the data does not have; there is "meta.source"`},
		{"name.x = 'x'", `names column "name.x", but "name" is string, which has no members that a filter can name`},
		{"unfamiliar_words = 1", `names column "unfamiliar_words", which the data does not have; there are 34 others`},
		{"day = '2024-01-31' and day = date '2024-01-31'", ""},
		{"day = '31.1.2024'", `compares column "day" (date) with '31.1.2024', which is not a date; write a date as in '2024-01-31'`},
		{"day = timestamp '2024-01-31 01:00:00'", `compares column "day" (date) with timestamp '2024-01-31 01:00:00', which is a timestamp; give a date, as in '2024-01-31'`},
		{"ms = date '2024-01-31' and us = '2024-01-31' and ms = '2024-01-31 01:00:00.001+01'", ""},
		{"ms = '2024-01-31 01:00:00.0001'", `compares column "ms" (timestamp(ms, UTC)) with '2024-01-31 01:00:00.0001', which is finer than the column's unit, ms`},
		{"us = '2024-01-31 01:00:00Z'", `compares column "us" (timestamp(us, local)) with '2024-01-31 01:00:00Z', which has a zone, and the column's times are local; leave the zone out`},
		{"ns = '2500-01-01'", `compares column "ns" (timestamp(ns, UTC)) with '2500-01-01', which is outside of the years of timestamps in ns`},
		{"us = 'noon'", `compares column "us" (timestamp(us, local)) with 'noon', which is not a timestamp; ` + timestampForm},
		{"clock = '25:00'", `compares column "clock" (time(us, local)) with '25:00', which is not a time of the day; write a time as in '16:30:00.5'`},
		{"clock = 5", `compares column "clock" (time(us, local)) with 5, which is a number; give a time, as in '16:30:00'`},
		{"uuid = '123e4567-e89b-12d3-a456-426614174000' and uuid = '123e4567e89b12d3a456426614174000'", ""},
		{"uuid = '123'", `compares column "uuid" (uuid) with '123', which is not a UUID, as in '123e4567-e89b-12d3-a456-426614174000'`},
		{"five = 'abcde' and raw = 'text' and raw = b'text'", ""},
		{"five = x'00'", `compares column "five" (fixed binary(5)) with x'00', whose length is 1 bytes, and the column's values have 5`},
		{"raw = 5", `compares column "raw" (binary) with 5, which is a number; give bytes, as in x'00ff', or a string`},
		{"i8 in @ids.txt and name in @words.txt and f64 not in @ids.txt", ""},
		{"i8 in @bad.txt", `compares column "i8" (int8) with line 3 of @bad.txt, 'x', which is not a number`},
		{"u8 in @ids.txt", `compares column "u8" (uint8) with line 4 of @ids.txt, '-3', which is outside of 0 to 255`},
		{"name like 'a%' and contains(colour, 'x') and starts_with(raw, x'00') and ends_with(five, 'x') and lower(part) in @words.txt", ""},
		{"empty like 'x' and lower(empty) = 'x' and empty is nan and f16 is nan and f32 is not nan", ""},
		{"lower(name) is null and upper(name) between 'A' and 'B'", ""},
		{"i32 like '1%'", `takes like of column "i32" (int32); like is of strings, and this column is compared with whole values`},
		{"raw like 'x'", `takes like of column "raw" (binary); like is of strings, and this column is compared with whole values`},
		{"starts_with(uuid, '1')", `takes starts_with of column "uuid" (uuid); starts_with is of strings and binary values, and this column is compared with whole values`},
		{"starts_with(day, '2024')", `takes starts_with of column "day" (date); starts_with is of strings and binary values, and dates and times are compared, as in >= '2024-01-31'`},
		{"contains(token_ids, 'x')", `takes contains of column "token_ids" (list<int32>); contains is of strings and binary values`},
		{"lower(raw) = 'x'", `takes lower of column "raw" (binary); lower is of strings, and this column is compared with whole values`},
		{"contains(len(name), 'x')", `searches len(name), which is a number; name a column of strings`},
		{"hash(name) % 5 like 'x'", `searches hash(name) % 5, which is a number; name a column of strings`},
		{"len(name) is nan", `asks whether len(name) (a whole number) is nan, which only floats can be; write is null for values that are missing`},
		{"i32 is nan", `asks whether column "i32" (int32) is nan, which only floats can be; write is null for values that are missing`},
		{"contains(name, 5)", `compares column "name" (string) with 5, which is a number; give a string in quotes`},
		{"contains(name, x'00')", `compares column "name" (string) with x'00', which is bytes; give a string in quotes`},
		{"lower(name)", `compares lower(name) (string) with true, which is a boolean; give a string in quotes`},
		{"i8 in @none.txt", "reads @none.txt, which has no values"},
		{"i8 in @long.txt", "reads @long.txt, which has more than 1000000 values; use a file of rows"},
		{"i8 in @missing.txt", "reads @missing.txt: missing.txt: file does not exist"},
	} {
		t.Run(c.text, func(t *testing.T) {
			e, err := Parse(c.text)
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Bind(bindSchema(), readTestFile)
			got := ""
			if err != nil {
				got = strings.TrimPrefix(err.Error(), "Filters ")
			}
			if got != c.want {
				t.Errorf("error %q\nwant  %q", got, c.want)
			}
		})
	}
}

// TestBindNamesAllProblems: each once, and by the name that a face has for the option.
func TestBindNamesAllProblems(t *testing.T) {
	e, err := Parse("nmae = 1 or nmae = 2 or i8 = 1000 or i8 in @missing.txt or i16 in @missing.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Bind(bindSchema(), readTestFile)
	want := `filters names column "nmae", which the data does not have; there is "name"
filters compares column "i8" (int8) with 1000, which is outside of -128 to 127
filters reads @missing.txt: missing.txt: file does not exist`
	if got := option.Spelled(err, option.Argument); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the error is not the file's")
	}
	var problem *Error
	if !errors.As(err, &problem) {
		t.Error("the error has no Error")
	}
}

func TestBindWithoutFiles(t *testing.T) {
	e, err := Parse("i8 in @ids.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Bind(bindSchema(), nil)
	if want := "Filters reads @ids.txt, and no files can be read here; list the values"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestKey: a filter's key changes with the content of its files and the types of its columns.
func TestKey(t *testing.T) {
	key := func(content string, f *column.Field) string {
		e, err := Parse("( id IN @ids.txt )")
		if err != nil {
			t.Fatal(err)
		}
		bound, err := e.Bind(&column.Schema{Fields: []*column.Field{f}}, func(string) ([]byte, error) { return []byte(content), nil })
		if err != nil {
			t.Fatal(err)
		}
		return bound.Key()
	}
	one := key("1\n", column.FieldOf[int32]("id"))
	if want := "id in @ids.txt\nid int32\n@ids.txt sha256:4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865\nrule/1"; one != want {
		t.Errorf("key %q, want %q", one, want)
	}
	if key("2\n", column.FieldOf[int32]("id")) == one || key("1\n", column.FieldOf[int64]("id")) == one {
		t.Error("the key of another filter is equal")
	}
}

func TestInputs(t *testing.T) {
	e, err := Parse(`dotted.name = 1 and "dotted.name" = 2 and meta.source = 'x' and len(token_ids) > 1 and len(meta.source) = 2`)
	if err != nil {
		t.Fatal(err)
	}
	f, err := e.Bind(bindSchema(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, in := range f.Inputs() {
		got = append(got, fmt.Sprintf("%q %v %v", in.Path, in.Field, in.Lengths))
	}
	want := `["dotted.name"] int8 false; ["meta" "source"] string false; ["token_ids"] list<int32> true`
	if got := strings.Join(got, "; "); got != want {
		t.Errorf("inputs %s, want %s", got, want)
	}
}
