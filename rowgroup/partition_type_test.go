package rowgroup

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// shardsOf makes shards of the paths, found below a directory.
func shardsOf(paths ...string) []shard.Shard {
	shards := make([]shard.Shard, len(paths))
	for i, p := range paths {
		shards[i].URI = p
		dirs := strings.Split(p, "/")
		for _, dir := range dirs[:len(dirs)-1] {
			key, value, _ := strings.Cut(dir, "=")
			part := shard.Partition{Key: key, Value: value}
			if value == "__HIVE_DEFAULT_PARTITION__" {
				part = shard.Partition{Key: key, Null: true}
			}
			shards[i].Partitions = append(shards[i].Partitions, part)
		}
	}
	return shards
}

func TestInferPartitions(t *testing.T) {
	for _, c := range []struct {
		paths string
		want  string
	}{
		{"a b", ""},
		{"k=1/a k=-2/a k=0/a", "k int64: 1 -2 0"},
		{"k=9223372036854775807/a k=9223372036854775808/a", "k string: 9223372036854775807 9223372036854775808"},
		{"k=9223372036854775807/a", "k int64: 9223372036854775807"},
		{"m=10/a m=12/a", "m int64: 10 12"},
		{"m=01/a m=10/a m=12/a", "m int64: 1 10 12"},
		{"k=007/a k=7/a k=-07/a", "k int64: 7 7 -7"},
		{"k=+1/a", "k int64: 1"},
		{"k=-0/a", "k int64: 0"},
		{"k=02134/a k=K1A/a", "k string: 02134 K1A"},
		{"k=1.5/a", "k double: 1.5"},
		{"k=1/a k=2.5/a k=-0.25/a", "k double: 1 2.5 -0.25"},
		{"k=1e-05/a k=1.5e3/a", "k double: 1e-05 1500"},
		{"k=1e5/a k=12/a", "k string: 1e5 12"},
		{"k=nan/a k=1.5/a", "k string: nan 1.5"},
		{"k=9007199254740993/a k=0.5/a", "k string: 9007199254740993 0.5"},
		{"k=true/a k=False/a", "k bool: 1 0"},
		{"k=true/a k=1/a", "k string: true 1"},
		{"k=/a k=1/a", "k string:  1"},
		{"k=1970-01-02/a k=1969-12-31/a", "k date: 1 -1"},
		{"k=2024-02-29/a k=0001-01-01/a k=9999-12-31/a", "k date: 19782 -719162 2932896"},
		{"k=2023-02-29/a", "k string: 2023-02-29"},
		{"k=2024-1-01/a", "k string: 2024-1-01"},
		{"k=2024-01-01/a k=5/a", "k string: 2024-01-01 5"},
		{"k=5/a k=__HIVE_DEFAULT_PARTITION__/a", "k int64: 5 null"},
		{"k=__HIVE_DEFAULT_PARTITION__/a", "k string: null"},
		{"y=1/m=02/a y=2/m=10/a", "y int64: 1 2; m int64: 2 10"},
		{"y=1/m=x/a m=y/y=2/a", "y int64: 1 2; m string: x y"},
	} {
		t.Run(c.paths, func(t *testing.T) {
			columns, err := schema.InferPartitions(shardsOf(strings.Fields(c.paths)...), nil)
			if err != nil {
				t.Errorf("%v", err)
			}
			got := describePartitions(columns)
			if g := got; g != c.want {
				t.Errorf("%q, want %q", g, c.want)
			}
		})
	}
	if columns, err := schema.InferPartitions(nil, nil); columns != nil || err != nil {
		t.Errorf("no shards: %v, %v", columns, err)
	}
}

func describePartitions(columns []schema.PartitionColumn) string {
	var all []string
	for _, col := range columns {
		text := fmt.Sprintf("%s %s:", col.Field.Name, col.Field)
		for _, n := range col.Nodes {
			text += " " + describeValue(col.Field, n.Partition)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func describeValue(f *column.Field, p *schema.PartitionValue) string {
	if p.Null {
		return "null"
	}
	wide := binary.LittleEndian.Uint64(append(slices.Clone(p.Data), 0, 0, 0, 0, 0, 0, 0, 0))
	switch f.Type {
	case column.TypeInt64:
		return fmt.Sprint(int64(wide))
	case column.TypeInt32, column.TypeDate:
		return fmt.Sprint(int32(wide))
	case column.TypeInt8:
		return fmt.Sprint(int8(wide))
	case column.TypeUint16, column.TypeBool:
		return fmt.Sprint(wide)
	case column.TypeFloat64:
		return fmt.Sprint(math.Float64frombits(wide))
	case column.TypeFloat32:
		return fmt.Sprint(math.Float32frombits(uint32(wide)))
	}
	return string(p.Data)
}

func TestGivenPartitionTypes(t *testing.T) {
	for _, c := range []struct{ paths, types, want string }{
		{"m=01/a m=12/a", "m=int32", "m int32: 1 12"},
		{"m=01/a m=12/a", "m=string", "m string: 01 12"},
		{"m=01/a m=__HIVE_DEFAULT_PARTITION__/a", "m=int8", "m int8: 1 null"},
		{"m=__HIVE_DEFAULT_PARTITION__/a", "m=date", "m date: null"},
		{"y=1/m=2/a", "m=uint16", "y int64: 1; m uint16: 2"},
		{"k=1/a k=1e5/a", "k=float64", "k double: 1 100000"},
		{"k=0.1/a", "k=float32", "k float: 0.1"},
		{"k=1/a k=false/a", "k=bool", "k bool: 1 0"},
		{"k=1970-01-02/a", "k=string", "k string: 1970-01-02"},
		{"k=a/a k=200/b", "k=int32", `k=a/a: list: bad address: partition "k" has the value "a", which is not of type int32 (give PartitionTypes another type for it, or leave the shard out)`},
		{"k=1/a k=200/b", "k=int8", `k=200/b: list: bad address: partition "k" has the value "200", which is not of type int8 (give PartitionTypes another type for it, or leave the shard out)`},
		{"k=1/a", "j=int8", `: column "j": the types of partitions name it, and no shard's path has a directory j=...`},
	} {
		t.Run(c.paths+" "+c.types, func(t *testing.T) {
			key, of, _ := strings.Cut(c.types, "=")
			columns, err := schema.InferPartitions(shardsOf(strings.Fields(c.paths)...), map[string]string{key: of})
			got := describePartitions(columns)
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	err := Options{PartitionTypes: map[string]string{"k": "int"}}.Validate()
	if err == nil || !strings.Contains(err.Error(), `the type of partition "k" must be int64, float64, bool, date, string, int8, `) {
		t.Errorf("%v", err)
	}
}

func TestInferPartitionsErrors(t *testing.T) {
	for _, c := range []struct{ paths, want string }{
		{"k=1/a b", `b: list: bad address: its path has no partition key "k", which k=1/a has`},
		{"a k=1/b", `a: list: bad address: its path has no partition key "k", which k=1/b has`},
		{"k=1/l=2/a k=1/b", `k=1/b: list: bad address: its path has no partition key "l", which k=1/l=2/a has`},
		{"k=1/k=2/a", `k=1/k=2/a: list: bad address: its path has the partition key "k" twice`},
	} {
		columns, err := schema.InferPartitions(shardsOf(strings.Fields(c.paths)...), nil)
		if columns != nil || err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", c.paths, columns, err)
		}
	}
}
