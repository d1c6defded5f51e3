package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

// writeParquet writes rows into a file below dir.
func writeParquet[T any](t *testing.T, dir, name string, rows []T, options ...parquet.WriterOption) {
	t.Helper()
	name = filepath.Join(dir, name)
	write(t, name, "")
	if err := parquet.WriteFile(name, rows, options...); err != nil {
		t.Fatal(err)
	}
}

type narrowRow struct {
	X int32 `parquet:"x"`
}

type wideRow struct {
	X int64   `parquet:"x"`
	Y float32 `parquet:"y"`
}

type richRow struct {
	Text   string            `parquet:"text"`
	Binary []byte            `parquet:"binary"`
	Nested nestedRow         `parquet:"nested"`
	Pairs  map[string]uint64 `parquet:"pairs"`
	At     time.Time         `parquet:"at,timestamp(microsecond)"`
	UUID   [16]byte          `parquet:"uuid,uuid"`
	Price  int64             `parquet:"price,decimal(2:12)"`
	Maybe  *bool             `parquet:"maybe,optional"`
}

type nestedRow struct {
	Inner []int32 `parquet:"inner,list"`
	Other string  `parquet:"other"`
}

func TestCatValues(t *testing.T) {
	dir := t.TempDir()
	yes := true
	writeParquet(t, dir, "rich.parquet", []richRow{
		{
			Text: "가방 \"<b>\"\n", Binary: []byte{0xff, 0}, Nested: nestedRow{Inner: []int32{-1, 2}, Other: "o"},
			Pairs: map[string]uint64{"k": 1<<64 - 1}, At: time.UnixMicro(-1), UUID: [16]byte{15: 1}, Price: -5, Maybe: &yes,
		},
		{At: time.UnixMicro(1_700_000_000_000_000)},
	})
	writeParquet(t, dir, "mixed/a.parquet", []narrowRow{{-7}})
	writeParquet(t, dir, "mixed/b.parquet", []wideRow{{1 << 40, 0.1}})
	writeParquet(t, dir, "hive/dt=2026-01-01/k=a%2Fb/x.parquet", []narrowRow{{1}})
	writeParquet(t, dir, "hive/dt=__HIVE_DEFAULT_PARTITION__/k=c/x.parquet", []narrowRow{{2}})
	writeParquet(t, dir, "bad.parquet", []struct {
		S string `parquet:"s"`
	}{{"a\xffb"}})
	t.Chdir(dir)
	cases := []struct{ args, want string }{
		{"rich.parquet", `{"text":"가방 \"<b>\"\n","binary":"/wA=","nested":{"inner":[-1,2],"other":"o"},"pairs":[["k",18446744073709551615]],` +
			`"at":"1969-12-31T23:59:59.999999Z","uuid":"00000000-0000-0000-0000-000000000001","price":"-0.05","maybe":true}
{"text":"","binary":"","nested":{"inner":[],"other":""},"pairs":[],` +
			`"at":"2023-11-14T22:13:20.000000Z","uuid":"00000000-0000-0000-0000-000000000000","price":"0.00","maybe":null}`},
		{"rich.parquet --columns price,nested.other --columns text --limit 1", `{"text":"가방 \"<b>\"\n","nested":{"other":"o"},"price":"-0.05"}`},
		{"mixed --columns x", "{\"x\":-7}\n{\"x\":1099511627776}"},
		{"mixed --missing null", "{\"x\":-7,\"y\":null}\n{\"x\":1099511627776,\"y\":0.1}"},
		{"hive", "{\"x\":1,\"dt\":\"2026-01-01\",\"k\":\"a/b\"}\n{\"x\":2,\"dt\":null,\"k\":\"c\"}"},
		{"hive --columns k", "{\"k\":\"a/b\"}\n{\"k\":\"c\"}"},
		{"hive/dt=2026-01-01/k=a%2Fb/x.parquet", `{"x":1}`},
		{"bad.parquet --invalid-utf8 replace", "{\"s\":\"a\ufffdb\"}"},
	}
	for _, c := range cases {
		t.Run(c.args, func(t *testing.T) {
			code, stdout, stderr := command(t, append([]string{"cat"}, strings.Fields(c.args)...)...)
			if code != 0 || stderr != "" || stdout != c.want+"\n" {
				t.Errorf("exit %d, stderr %q, got\n%swant\n%s", code, stderr, stdout, c.want)
			}
		})
	}
}

func TestCatRefuses(t *testing.T) {
	dir := t.TempDir()
	writeParquet(t, dir, "mixed/a.parquet", []narrowRow{{-7}})
	writeParquet(t, dir, "mixed/b.parquet", []wideRow{{1, 1}})
	writeParquet(t, dir, "clash/a.parquet", []narrowRow{{-7}})
	writeParquet(t, dir, "clash/b.parquet", []struct {
		X string `parquet:"x"`
	}{{"text"}})
	writeParquet(t, dir, "bad.parquet", []struct {
		S string `parquet:"s"`
	}{{"a\xffb"}})
	t.Chdir(dir)
	for args, want := range map[string]string{
		"mixed":                    `shardfeed: mixed/a.parquet: column "y": `,
		"mixed --columns nonsense": `shardfeed: mixed/a.parquet: there is no column "nonsense"`,
		"clash":                    `shardfeed: clash/b.parquet: column "x": its type is string here and int32 in clash/a.parquet`,
		"bad.parquet":              `shardfeed: bad.parquet: row group 0, column "s", page at byte 4: a string that is not UTF-8`,
	} {
		t.Run(args, func(t *testing.T) {
			code, stdout, stderr := command(t, append([]string{"cat"}, strings.Fields(args)...)...)
			if code != exitFailed || stdout != "" || !strings.HasPrefix(stderr, want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}
