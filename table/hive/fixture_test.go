package hive_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/hive"
	"github.com/shardfeed/shardfeed/table/internal/thrift"
)

// A server is a metastore that has some tables in the database db.
type server struct {
	host       string
	old        bool // it does not know get_table_req
	tables     map[string]thrift.Struct
	partitions map[string]thrift.Struct // by name, of all tables

	mu      sync.Mutex
	methods []string // that were called
}

// newServer starts a metastore with the table t.
func newServer(t *testing.T, of thrift.Struct) *server {
	s := &server{tables: map[string]thrift.Struct{"t": of, "other": {1: "other"}}, partitions: map[string]thrift.Struct{}}
	s.host = listen(t, func(conn net.Conn) { _ = thrift.Serve(conn, s.answer) })
	return s
}

// listen serves connections until the test ends.
func listen(t *testing.T, serve func(conn net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				serve(conn)
				conn.Close()
			})
		}
	})
	t.Cleanup(func() { l.Close(); group.Wait() })
	return l.Addr().String()
}

func (s *server) answer(method string, args thrift.Struct) (thrift.Struct, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.methods = append(s.methods, method)
	switch {
	case method == "get_all_databases":
		return thrift.Struct{0: []string{"db", "default"}}, nil
	case method == "get_all_tables" && args.Text(1) == "db":
		return thrift.Struct{0: []string{"t", "other"}}, nil
	case method == "get_all_tables":
		return thrift.Struct{0: []string{}}, nil
	case method == "get_partition_names":
		var names []string
		for name := range s.partitions {
			names = append(names, name)
		}
		return thrift.Struct{0: names}, nil
	case method == "get_partitions_by_names":
		var all []thrift.Struct
		for _, name := range args.Texts(3) {
			all = append(all, s.partitions[name])
		}
		return thrift.Struct{0: all}, nil
	case method == "get_table_req" && !s.old:
		args = args.Struct(1)
	case method != "get_table" || !s.old:
		return nil, &thrift.Exception{Message: "Invalid method name: '" + method + "'", Type: thrift.UnknownMethod}
	}
	if args.Text(2) == "broken" {
		return thrift.Struct{1: thrift.Struct{1: "the database is down"}}, nil
	}
	found := s.tables[args.Text(2)]
	if args.Text(1) != "db" || found == nil {
		return thrift.Struct{2: thrift.Struct{1: "no such table"}}, nil
	}
	if s.old {
		return thrift.Struct{0: found}, nil
	}
	return thrift.Struct{0: thrift.Struct{1: found}}, nil
}

// open opens the table t.
func (s *server) open(t *testing.T, o table.Options) (*table.Snapshot, error) {
	t.Helper()
	return hive.Open(t.Context(), "hive://"+s.host+"/db.t", hive.Options{}, o)
}

const (
	parquetInput = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"
	parquetSerde = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
)

// storage is a StorageDescriptor of parquet with columns, as in "id bigint, text string".
func storage(location, columns string) thrift.Struct {
	return thrift.Struct{1: columnsOf(columns), 2: location, 3: parquetInput, 7: thrift.Struct{2: parquetSerde, 3: map[string]string{"serialization.format": "1"}}}
}

func columnsOf(text string) (all []thrift.Struct) {
	for column := range strings.SplitSeq(text, ", ") {
		if name, kind, ok := strings.Cut(column, " "); ok {
			all = append(all, thrift.Struct{1: name, 2: kind})
		}
	}
	return all
}

// described is a Table of parquet.
func described(columns, keys string, parameters ...string) thrift.Struct {
	all := map[string]string{}
	for _, p := range parameters {
		name, value, _ := strings.Cut(p, "=")
		all[name] = value
	}
	return thrift.Struct{1: "t", 2: "db", 7: storage("mem://wh/t", columns), 8: columnsOf(keys), 9: all, 12: "MANAGED_TABLE"}
}

// A files is a store that lists files.
type files map[string]string

func (f files) List(_ context.Context, pattern string) (all []shard.Shard, err error) {
	for uri, version := range f {
		if strings.HasPrefix(uri, pattern+"/") {
			all = append(all, shard.Shard{URI: uri, Size: int64(len(version)), Version: version, Partitions: []shard.Partition{{Key: "k"}}})
		}
	}
	if all == nil {
		return nil, &shard.Error{Op: "list", URI: pattern, Err: shard.ErrNotExist}
	}
	return all, nil
}

func (f files) Open(context.Context, shard.Shard) (shard.Object, error) {
	return nil, shard.ErrNotExist
}
