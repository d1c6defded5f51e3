package hive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/hive"
	"github.com/shardfeed/shardfeed/table/internal/thrift"
	"github.com/shardfeed/shardfeed/table/tabletest"
)

// describe spells a snapshot: columns, then files with their versions and constants.
func describe(s *table.Snapshot) string {
	var b strings.Builder
	for _, f := range s.Fields {
		fmt.Fprintf(&b, "%s: %s\n", f.Column.Name, f.Column)
	}
	for _, f := range s.Files {
		fmt.Fprintf(&b, "%s %s", f.Shard.URI, f.Shard.Version)
		for _, c := range f.Constants {
			fmt.Fprintf(&b, " %d=%x,%t", c.Field, c.Value.Data, c.Value.Null)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func partition(location string, values ...string) thrift.Struct {
	return thrift.Struct{1: values, 6: storage(location, "id bigint")}
}

// A table has the files of its partitions' places, with their values.
func TestPartitions(t *testing.T) {
	s := newServer(t, described("id bigint, s struct<a:int,b:array<string>>", "lang string, year int"))
	s.partitions["a"] = partition("mem://wh/t/a", "en", "2026")
	s.partitions["b"] = partition("mem://else where/b", "d=e", "__HIVE_DEFAULT_PARTITION__")
	s.partitions["c"] = partition("mem://wh/t/none", "it", "1")
	store := files{
		"mem://wh/t/a/2.parquet": "v2", "mem://wh/t/a/1.parquet": "v1", "mem://else where/b/x/1": "v3",
		"mem://wh/t/dropped/1.parquet": "v", "mem://wh/t/a/empty": "",
	}
	const want = `id: int64
s: struct<a: int32, b: list<string>>
lang: string
year: int32
mem://else where/b/x/1 v3 2=643d65,false 3=,true
mem://wh/t/a/1.parquet v1 2=656e,false 3=ea070000,false
mem://wh/t/a/2.parquet v2 2=656e,false 3=ea070000,false
`
	got, err := s.open(t, table.Options{Store: store, Parallel: 2})
	if err != nil {
		t.Fatal(err)
	}
	if describe(got) != want || got.Format != "Hive" || got.Files[0].Rows != -1 || got.Files[0].Shard.Partitions != nil {
		t.Errorf("got\n%swant\n%s%+v", describe(got), want, got)
	}
	if got := strings.Join(s.methods, " "); got != "get_table_req get_partition_names get_partitions_by_names" {
		t.Errorf("calls %s", got)
	}
	s.old = true
	if got, err := s.open(t, table.Options{Store: store}); err != nil || describe(got) != want {
		t.Errorf("of an old metastore: %v", err)
	}
	s.partitions["d"] = partition("mem://wh/t", "fr", "2")
	if _, err := s.open(t, table.Options{Store: store}); err == nil || !strings.Contains(err.Error(), "is in two partitions") {
		t.Errorf("a place in another: %v", err)
	}
}

// Many partitions are asked for in batches.
func TestBatches(t *testing.T) {
	s, store := newServer(t, described("id bigint", "n int")), files{}
	for i := range 601 {
		place := fmt.Sprintf("mem://wh/t/n=%d", i)
		s.partitions[place] = partition(place, fmt.Sprint(i))
		store[place+"/1"] = "v"
	}
	got, err := s.open(t, table.Options{Store: store, Parallel: 8})
	if err != nil || len(got.Files) != 601 || len(s.methods) != 5 {
		t.Errorf("%v, calls %s", err, s.methods)
	}
}

// Columns are Spark's if it keeps the metastore's own, and the metastore's if those have changed.
func TestColumns(t *testing.T) {
	const schema = `spark.sql.sources.schema={"type":"struct","fields":[` +
		`{"name":"Day","type":"string","nullable":true,"metadata":{}},{"name":"Id","type":"long","nullable":false,"metadata":{}}]}`
	parts := []string{"spark.sql.sources.schema.numParts=2", "spark.sql.sources.schema.part.0=" + schema[25:60], "spark.sql.sources.schema.part.1=" + schema[60:]}
	ofSpark := []string{"spark.sql.sources.provider=parquet", "spark.sql.sources.schema.numPartCols=1", "spark.sql.partitionProvider=catalog"}
	for name, c := range map[string]struct {
		table thrift.Struct
		want  string
	}{
		"Hive's":       {described("id bigint", "day string"), "id: int64\nday: string\n"},
		"Spark's":      {described("id bigint", "day string", schema), "Id: int64\nDay: string\n"},
		"in parts":     {described("id bigint", "day string", parts...), "Id: int64\nDay: string\n"},
		"another type": {described("id int", "day string", schema), "id: int32\nday: string\n"},
		"added":        {described("id bigint, x date", "day string", schema), "id: int64\nx: date\nday: string\n"},
		"unknown":      {described("col array<string>", "day string", append(ofSpark, schema)...), "Id: int64\nDay: string\n"},
	} {
		s := newServer(t, c.table)
		got, err := s.open(t, table.Options{Store: files{}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if describe(got) != c.want || !got.Fields[0].AnyCase {
			t.Errorf("%s: got\n%swant\n%s", name, describe(got), c.want)
		}
	}
}

// Types in Hive's words.
func TestTypes(t *testing.T) {
	for kind, want := range map[string]string{
		"tinyint": "int8", "smallint": "int16", "int": "int32", "BIGINT": "int64", "float": "float", "double": "double", "boolean": "bool",
		"string": "string", "varchar(10)": "string", "char(3)": "string", "binary": "binary", "date": "date", "decimal(10,2)": "decimal(10,2)",
		"decimal": "decimal(10,0)", "timestamp": "timestamp(us, UTC)", "timestamp with local time zone": "timestamp(us, UTC)",
		"map<string,array<struct<a:decimal(38,10),`b c`:map<int,date>>>>": "map<string, list<struct<a: decimal(38,10), b c: map<int32, date>>>>",
		"uniontype<int,string>": "!uniontype<int,string>", "interval_day_time": "!interval_day_time", "array<int": "!array<int", "struct<a>": "!struct<a>",
		"map<int>": "!map<int>", "decimal(1": "!decimal(1", "array<foo>": "!foo",
	} {
		s := newServer(t, thrift.Struct{1: "t", 7: thrift.Struct{1: []thrift.Struct{{1: "c", 2: kind}}, 2: "mem://t", 3: parquetInput, 7: thrift.Struct{2: parquetSerde}}})
		got, err := s.open(t, table.Options{Store: files{}})
		if bad, ok := strings.CutPrefix(want, "!"); ok {
			if err != nil || len(got.Fields) != 0 || len(got.Unreadable) != 1 || got.Unreadable[0].Type != bad {
				t.Errorf("%s: %+v, %v", kind, got, err)
			}
			continue
		}
		if err != nil || got.Fields[0].Column.String() != want {
			t.Errorf("%s: %v, want %s: %+v", kind, err, want, got)
		}
	}
}

// with changes a table's StorageDescriptor or other fields.
func with(t thrift.Struct, change func(t, sd thrift.Struct)) thrift.Struct {
	change(t, t.Struct(7))
	return t
}

// Tables that are not plain parquet are refused by name.
func TestRefused(t *testing.T) {
	input := func(class string) thrift.Struct {
		return with(described("id bigint", ""), func(_, sd thrift.Struct) { sd[3] = class })
	}
	spark := func(parameters ...string) thrift.Struct {
		return described("id bigint", "", append(parameters, "spark.sql.sources.provider=PARQUET")...)
	}
	for want, of := range map[string]thrift.Struct{
		"it is a view":                         with(described("id bigint", ""), func(t, _ thrift.Struct) { t[12] = "VIRTUAL_VIEW" }),
		"it is a view, which":                  with(described("id bigint", ""), func(t, _ thrift.Struct) { t[12] = "MATERIALIZED_VIEW" }),
		"a transactional (ACID) table":         described("id bigint", "", "transactional=TRUE"),
		"its rows are kept by HBaseHandler":    described("id bigint", "", "storage_handler=org.HBaseHandler"),
		"its rows are kept by an unknown":      described("id bigint", "", "table_type=ICEBERG"),
		"format ORC":                           input("org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"),
		"format text":                          input("org.apache.hadoop.mapred.TextInputFormat"),
		"format Avro":                          input("org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat"),
		"format Hudi":                          input("org.apache.hudi.hadoop.HoodieParquetInputFormat"),
		"format Symlink with ParquetHive":      input("com.x.Symlink"),
		"format json":                          described("id bigint", "", "spark.sql.sources.provider=json"),
		"parquet.column.index.access":          described("id bigint", "", "parquet.column.index.access=true"),
		"run MSCK REPAIR TABLE":                spark("spark.sql.sources.schema.numPartCols=1"),
		"its option pathGlobFilter":            with(spark(), func(_, sd thrift.Struct) { sd.Struct(7)[3] = map[string]string{"pathGlobFilter": "*.parquet"} }),
		"the metastore has no location":        with(described("id bigint", ""), func(_, sd thrift.Struct) { sd[2] = "" }),
		"schema is not of the known form":      described("id bigint", "", "spark.sql.sources.schema=["),
		"lacks the partition column \"k\"":     described("id bigint", "k int", `spark.sql.sources.schema={"type":"struct","fields":[]}`),
		"spark.sql.sources.schema.numParts is": described("id bigint", "", "spark.sql.sources.schema.numParts=x"),
		"answered without a table":             {2: "db"},
	} {
		_, err := newServer(t, of).open(t, table.Options{Store: files{}})
		if e := (*shard.Error)(nil); err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &e) || e.Op != "table" {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Partitions that do not fit their table are refused.
func TestRefusedPartitions(t *testing.T) {
	orc := partition("mem://wh/t/a", "1")
	orc.Struct(6)[3] = "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"
	for want, p := range map[string]thrift.Struct{
		`its partition ["1"]: bad address: its files are of format ORC`:            orc,
		`the value "x" of the partition column "n" is not int32`:                   partition("mem://wh/t/a", "x"),
		`its partition ["1" "2"] has no location, or other columns than the table`: partition("mem://wh/t/a", "1", "2"),
		`its partition ["1"] has no location, or other columns than the table`:     partition("", "1"),
	} {
		s := newServer(t, described("id bigint", "n int"))
		s.partitions["p"] = p
		if _, err := s.open(t, table.Options{Store: files{}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

const delta = "../../testdata/tables/delta/rs"

const iceberg = `{"format-version":2,"table-uuid":"u","location":"/t","current-snapshot-id":3,"current-schema-id":0,
 "schemas":[{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":true,"type":"long"}]}],
 "snapshots":[{"snapshot-id":3,"timestamp-ms":1767225600000,"manifest-list":"/t/none.avro","summary":{"operation":"append"}}]}`

// Tables of Delta and Iceberg are opened by their own metadata.
func TestLeads(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	store := local.New()
	s := newServer(t, with(described("col array<string>", "", "spark.sql.sources.provider=delta"), func(_, sd thrift.Struct) {
		sd.Struct(7)[3] = map[string]string{"path": "file:" + dir + "/" + delta}
	}))
	got, err := s.open(t, options(store))
	if err != nil || got.Format != "Delta" || len(got.Files) == 0 {
		t.Errorf("Delta: %+v, %v", got, err)
	}
	history, err := hive.History(t.Context(), "hive://"+s.host+"/db.t", hive.Options{}, options(store))
	if err != nil || len(history) < 2 {
		t.Errorf("Delta: %+v, %v", history, err)
	}
	file := t.TempDir() + "/v1.metadata.json"
	if err := os.WriteFile(file, []byte(iceberg), 0o600); err != nil {
		t.Fatal(err)
	}
	s = newServer(t, described("id bigint", "", "table_type=iceberg", "metadata_location=file:"+file, "storage_handler=x"))
	history, err = hive.History(t.Context(), "hive://"+s.host+"/db.t", hive.Options{}, options(store))
	if err != nil || len(history) != 1 || history[0].Name != "3" {
		t.Errorf("Iceberg: %+v, %v", history, err)
	}
	if _, err := s.open(t, options(store)); err == nil || !strings.Contains(err.Error(), "/t/none.avro") {
		t.Errorf("Iceberg: %v", err)
	}
}

// Errors name what does not exist or does not answer, and what to do.
func TestErrors(t *testing.T) {
	s := newServer(t, described("id bigint", ""))
	page := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(page.Close)
	closed := listen(t, func(net.Conn) {})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()
	web := listen(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 100))
		_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n")
	})
	silent := listen(t, func(conn net.Conn) {
		for b := make([]byte, 100); ; {
			if _, err := conn.Read(b); err != nil {
				return
			}
		}
	})
	for address, c := range map[string]struct {
		kind error
		want string
	}{
		s.host + "/db.none":   {shard.ErrNotExist, "no table db.none: the database has other, t"},
		s.host + "/x.none":    {shard.ErrNotExist, "no table x.none: the database has no tables or does not exist; the metastore has the databases db, default"},
		s.host + "/db.broken": {shard.ErrTransient, "answered get_table_req: the database is down"},
		nobody + "/db.t":      {shard.ErrTransient, "connection refused"},
		closed + "/db.t":      {shard.ErrTransient, "it may want TLS (hive.metastore.use.SSL=true) or Kerberos (hive.metastore.sasl.enabled=true)"},
		silent + "/db.t":      {shard.ErrTransient, "did not answer within 20ms: it may not be a metastore, whose port is often 9083, or want TLS"},
		web + "/db.t":         {shard.ErrBadURI, "is not a Hive metastore"},
		"h/db":                {shard.ErrBadURI, "hive://HOST:PORT/DATABASE.TABLE"},
		"h/db.":               {shard.ErrBadURI, "hive://HOST:PORT/DATABASE.TABLE"},
		"/db.t":               {shard.ErrBadURI, "hive://HOST:PORT/DATABASE.TABLE"},
		"h/a.b.c":             {shard.ErrBadURI, "hive://HOST:PORT/DATABASE.TABLE"},
		"h/a.b/c":             {shard.ErrBadURI, "hive://HOST:PORT/DATABASE.TABLE"},
		"u@h/a.b":             {shard.ErrBadURI, "hive://HOST:PORT/DATABASE.TABLE"},
		"h,/db.t":             {shard.ErrBadURI, "hive://HOST:PORT/DATABASE.TABLE"},
		"h/db%.t":             {shard.ErrBadURI, "hive://HOST:PORT/DATABASE.TABLE"},
	} {
		o := hive.Options{}
		if strings.HasPrefix(address, silent) {
			o.Timeout = 20 * time.Millisecond
		}
		_, err := hive.Open(t.Context(), "hive://"+address, o, table.Options{Store: files{}})
		if e := (*shard.Error)(nil); err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.kind) || !errors.As(err, &e) || e.Op != "table" {
			t.Errorf("%s: got %v, want %s", address, err, c.want)
		}
	}
	if _, err := hive.Open(t.Context(), "hive://"+nobody+","+s.host+"/db.t", hive.Options{}, table.Options{Store: files{}}); err != nil {
		t.Errorf("the second host: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := hive.Open(ctx, "hive://"+silent+"/db.t", hive.Options{}, table.Options{Store: files{}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := hive.Open(t.Context(), "hive://"+page.Listener.Addr().String()+"/db.t", hive.Options{TLS: true}, table.Options{Store: files{}}); err == nil || !strings.Contains(err.Error(), "does not speak TLS: leave hive.metastore.use.SSL out") {
		t.Errorf("TLS with a server without: %v", err)
	}
}

func TestParseOptions(t *testing.T) {
	o, err := hive.ParseOptions(map[string]string{
		"hive.metastore.use.SSL": "True", "hive.ca_bundle": "ca.pem", "hive.metastore.client.socket.timeout": "90", "hive.metastore.sasl.enabled": "false",
	})
	if want := (hive.Options{TLS: true, CABundle: "ca.pem", Timeout: 90 * time.Second}); err != nil || !reflect.DeepEqual(o, want) {
		t.Errorf("%+v, %v, want %+v", o, err, want)
	}
	for name, c := range map[string]struct{ value, want string }{
		"hive.metastore.use.SSL":               {"x", "must be true or false"},
		"hive.metastore.client.socket.timeout": {"soon", "must be a time such as 600s"},
		"hive.metastore.sasl.enabled":          {"yes", "must be true or false"},
		"hive.metastore.uri":                   {"x", "it is not an option of Hive metastores"},
	} {
		if _, err := hive.ParseOptions(map[string]string{name: c.value}); err == nil || !strings.Contains(err.Error(), name+": "+c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

// Names find the columns of files in any case, if none has the same.
func TestAnyCase(t *testing.T) {
	dir, err := filepath.Abs("../../testdata/shop/part-00000.parquet")
	if err != nil {
		t.Fatal(err)
	}
	store := local.New()
	read := func(columns string) []string {
		s, err := newServer(t, with(described(columns, ""), func(_, sd thrift.Struct) { sd[2] = "file:" + dir })).open(t, options(store))
		if err != nil {
			t.Fatal(err)
		}
		return tabletest.Lines(t, store, s, nil)
	}
	same, other := read("unique_id string"), read("Unique_ID string")
	if len(same) == 0 || strings.Contains(same[0], "null") {
		t.Fatalf("%.3q", same)
	}
	for i := range other {
		other[i] = strings.Replace(other[i], "Unique_ID", "unique_id", 1)
	}
	tabletest.Compare(t, "in another case", other, same)
}
