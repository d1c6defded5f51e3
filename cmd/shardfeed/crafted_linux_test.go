package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/racetest"
)

const craftedMagic = "PAR1"

// crafted is a file of one column in one row group, in few bytes.
type crafted struct {
	schema []format.SchemaElement
	path   []string
	rows   int64
	values int64
	typ    format.Type
	coded  bool // there is a dictionary, of one value
	dict   []byte
	page   []byte // repeated so many times
	pages  int
}

func (c crafted) bytes(t *testing.T) []byte {
	b := []byte(craftedMagic)
	column := format.ColumnMetaData{
		Type: c.typ, Encoding: []format.Encoding{format.Plain, format.RLE}, PathInSchema: c.path, NumValues: c.values,
	}
	if c.coded {
		column.DictionaryPageOffset = int64(len(b))
		column.Encoding = []format.Encoding{format.RLEDictionary, format.Plain, format.RLE}
		b = appendPage(t, b, format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: 1})}, c.dict)
	}
	column.DataPageOffset = int64(len(b))
	h := format.DataPageHeader{NumValues: int32(c.values / int64(c.pages)), DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE}
	if c.coded {
		h.Encoding = format.RLEDictionary
	}
	page := appendPage(t, nil, format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(h)}, c.page)
	b = append(b, bytes.Repeat(page, c.pages)...)
	column.TotalCompressedSize = int64(len(b) - len(craftedMagic))
	column.TotalUncompressedSize = column.TotalCompressedSize
	footer := format.FileMetaData{
		Version: 1, Schema: c.schema, NumRows: c.rows,
		RowGroups: []format.RowGroup{{Columns: []format.ColumnChunk{{MetaData: column}}, NumRows: c.rows, TotalByteSize: column.TotalUncompressedSize}},
	}
	m, err := thrift.Marshal(new(thrift.CompactProtocol), &footer)
	if err != nil {
		t.Fatal(err)
	}
	return withFooter(b, m)
}

func withFooter(data, footer []byte) []byte {
	b := append(data, footer...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(footer))), craftedMagic...)
}

func appendPage(t *testing.T, b []byte, h format.PageHeader, body []byte) []byte {
	h.UncompressedPageSize, h.CompressedPageSize = int32(len(body)), int32(len(body))
	head, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err != nil {
		t.Fatal(err)
	}
	return append(append(b, head...), body...)
}

// levels are runs of a level of a byte, each as a number and a level.
func levels(runs ...int) []byte {
	var b []byte
	for ; len(runs) > 0; runs = runs[2:] {
		b = append(binary.AppendUvarint(b, uint64(runs[0])<<1), byte(runs[1]))
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
}

func rootOf(children int32) format.SchemaElement {
	return format.SchemaElement{Name: "schema", NumChildren: thrift.New(children)}
}

func craftedNulls(n int) crafted {
	return crafted{
		schema: []format.SchemaElement{rootOf(1), {Name: "x", Type: thrift.New(format.ByteArray), RepetitionType: thrift.New(format.Optional), ConvertedType: thrift.New(deprecated.UTF8)}},
		path:   []string{"x"}, rows: int64(n), values: int64(n), typ: format.ByteArray, page: levels(n, 0), pages: 1,
	}
}

func craftedItems(n int) crafted {
	return crafted{
		schema: []format.SchemaElement{
			rootOf(1),
			{Name: "x", RepetitionType: thrift.New(format.Optional), NumChildren: thrift.New(int32(1)), ConvertedType: thrift.New(deprecated.List)},
			{Name: "list", RepetitionType: thrift.New(format.Repeated), NumChildren: thrift.New(int32(1))},
			{Name: "element", Type: thrift.New(format.Int32), RepetitionType: thrift.New(format.Optional)},
		},
		path: []string{"x", "list", "element"}, rows: 2, values: int64(n), typ: format.Int32, coded: true, dict: []byte{7, 0, 0, 0},
		page: slices.Concat(levels(1, 0, n/2-1, 1, 1, 0, n/2-1, 1), levels(n, 3), []byte{1}, binary.AppendUvarint(nil, uint64(n)<<1), []byte{0}), pages: 1,
	}
}

// craftedLists are lists of equal lengths in one page.
func craftedLists(rows, per int) crafted {
	c, n := craftedItems(rows*per), rows*per
	c.rows = int64(rows)
	begins := levels(slices.Repeat([]int{1, 0, per - 1, 1}, rows)...)
	c.page = slices.Concat(begins, levels(n, 3), []byte{1}, binary.AppendUvarint(nil, uint64(n)<<1), []byte{0})
	return c
}

func craftedText(n, size int) crafted {
	return crafted{
		schema: []format.SchemaElement{rootOf(1), {Name: "x", Type: thrift.New(format.ByteArray), RepetitionType: thrift.New(format.Required), ConvertedType: thrift.New(deprecated.UTF8)}},
		path:   []string{"x"}, rows: int64(n), values: int64(n), typ: format.ByteArray, coded: true,
		dict: append(binary.LittleEndian.AppendUint32(nil, uint32(size)), strings.Repeat("a", size)...),
		page: slices.Concat([]byte{1}, binary.AppendUvarint(nil, uint64(n)<<1), []byte{0}), pages: 1,
	}
}

func craftedPages(n int) crafted {
	return crafted{
		schema: []format.SchemaElement{rootOf(1), {Name: "x", Type: thrift.New(format.Int32), RepetitionType: thrift.New(format.Required)}},
		path:   []string{"x"}, rows: int64(n), values: int64(n), typ: format.Int32, page: []byte{5, 0, 0, 0}, pages: n,
	}
}

// Few bytes can be more rows, items, text or pages than there is memory for. Verbs that look at
// data show them within --memory, or refuse with the numbers.
func TestCraftedFilesWithinMemory(t *testing.T) {
	if racetest.Enabled {
		t.Skip("the race detector takes memory of its own")
	}
	const limit, most = "128MiB", (128*11/10 + 64) << 20
	dir := t.TempDir()
	elements := slices.Concat([]byte{0x15, 0x02, 0x19, 0xfc, 0x80, 0x80, 0x80, 0x04}, make([]byte, 8<<20+2)) // version; a list of 8 Mi empty structs
	all := map[string][]byte{
		"nulls": craftedNulls(100_000_000).bytes(t), "items": craftedItems(100_000_000).bytes(t), "text": craftedText(4000, 256<<10).bytes(t),
		"pages": craftedPages(700_000).bytes(t), "lists": craftedLists(100_000, 1000).bytes(t), "elements": withFooter([]byte(craftedMagic), elements),
	}
	for name, b := range all {
		if err := os.WriteFile(filepath.Join(dir, name+".parquet"), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	good := map[string]bool{} // what must work
	for _, verb := range []string{"head", "sample", "verify", "count", "inspect", "schema", "plan", "select"} {
		good["nulls "+verb], good["pages "+verb], good["text "+verb], good["lists "+verb] = verb != "select", true, true, true
	}
	for name := range all {
		good[name+" cat"] = name != "items" && name != "elements"
	}
	good["text vocab"], good["items schema"] = true, true
	for name := range all {
		for verb, args := range map[string]string{
			"head": "-n 2", "sample": "-n 2", "cat": "--limit 3000", "verify": "", "inspect": "", "count": "--where 'x is not null'", "schema": "",
			"plan": "", "select": "--where 'x is not null' --save rows", "vocab": "--column x",
		} {
			t.Run(name+" "+verb, func(t *testing.T) {
				peak, stderr, err := runCrafted(t, verb, filepath.Join(dir, name+".parquet"), strings.ReplaceAll(args, "rows", filepath.Join(dir, name+".rows"))+" --memory "+limit)
				if peak > most {
					t.Errorf("%d MiB at its peak", peak>>20)
				}
				if err != nil && (good[name+" "+verb] || !strings.HasPrefix(stderr, "shardfeed: ")) {
					t.Errorf("%v: %s", err, stderr)
				}
			})
		}
	}
}

// A footer of row groups of one row takes at most 8 times its bytes, whatever a verb makes of it.
func TestFooterMemory(t *testing.T) {
	if racetest.Enabled {
		t.Skip("the race detector takes memory of its own")
	}
	path := filepath.Join(t.TempDir(), "groups.parquet")
	writeGroups(t, path, 1)
	base, _, _ := runCrafted(t, "schema", path, "")
	footer := writeGroups(t, path, 500_000)
	for verb, args := range map[string]string{"plan": "--shuffle --shuffle-buffer 10000", "inspect": ""} {
		t.Run(verb, func(t *testing.T) {
			peak, stderr, err := runCrafted(t, verb, path, args)
			if peak -= base; peak > 8*footer || err != nil {
				t.Errorf("%d KiB at its peak, the footer has %d KiB; %v: %s", peak>>10, footer>>10, err, stderr)
			}
		})
	}
}

// writeGroups writes a file of row groups of one row, all the same, and returns the bytes of its
// footer.
func writeGroups(t *testing.T, path string, groups int) (footer int64) {
	b := craftedPages(1).bytes(t)
	n := len(b) - 8 - int(binary.LittleEndian.Uint32(b[len(b)-8:]))
	before, group, ok := bytes.Cut(b[n:len(b)-9], []byte{0x16, 0x02, 0x19, 0x1c}) // 1 row, in a list of one struct
	if !ok {
		t.Fatalf("a footer of %x", b[n:])
	}
	head := binary.AppendVarint(append(bytes.Clone(before), 0x16), int64(groups))
	head = binary.AppendUvarint(append(head, 0x19, 0xfc), uint64(groups))
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	footer = int64(len(head) + groups*len(group) + 1)
	w.Write(append(b[:n:n], head...))
	for range groups {
		w.Write(group)
	}
	w.Write(append(binary.LittleEndian.AppendUint32([]byte{0}, uint32(footer)), craftedMagic...))
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return footer
}

// The time of plan depends on the bytes of a file, not on the rows that it claims to have.
func TestPlanOfClaimedRows(t *testing.T) {
	c := craftedNulls(1000)
	c.rows, c.values = 1_000_000_000_000, 1_000_000_000_000
	path := filepath.Join(t.TempDir(), "rows.parquet")
	if err := os.WriteFile(path, c.bytes(t), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := runCrafted(t, "plan", path, "--shuffle --batch-size 4"); err != nil {
		t.Errorf("%v: %s", err, stderr)
	}
}

// runCrafted runs this program as the command.
func runCrafted(t *testing.T, verb, path, args string) (peak int64, stderr string, err error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for i, part := range strings.Split(args, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	var said bytes.Buffer
	c := exec.CommandContext(t.Context(), exe)
	c.Args = append([]string{"shardfeed", verb, path}, words...)
	status := filepath.Join(t.TempDir(), "status")
	c.Env, c.Stderr = append(os.Environ(), "SHARDFEED_CACHE_DIR="+t.TempDir(), statusVariable+"="+status), &said
	err = c.Run()
	of, failed := os.ReadFile(status)
	_, hwm, _ := strings.Cut(string(of), "\nVmHWM:")
	if _, bad := fmt.Sscanf(hwm, "%d kB", &peak); failed != nil || bad != nil {
		t.Fatalf("no peak, %v, %v; the command: %v: %s", failed, bad, err, said.String())
	}
	return peak << 10, said.String(), err
}
