package rowgroup

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
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
		{"k=01/a k=2/a", "k string: 01 2"},
		{"k=+1/a", "k string: +1"},
		{"k=-0/a", "k string: -0"},
		{"k=1.5/a", "k string: 1.5"},
		{"k=true/a", "k string: true"},
		{"k=/a k=1/a", "k string:  1"},
		{"k=1970-01-02/a k=1969-12-31/a", "k date: 1 -1"},
		{"k=2024-02-29/a k=0001-01-01/a k=9999-12-31/a", "k date: 19782 -719162 2932896"},
		{"k=2023-02-29/a", "k string: 2023-02-29"},
		{"k=2024-1-01/a", "k string: 2024-1-01"},
		{"k=2024-01-01/a k=5/a", "k string: 2024-01-01 5"},
		{"k=5/a k=__HIVE_DEFAULT_PARTITION__/a", "k int64: 5 null"},
		{"k=__HIVE_DEFAULT_PARTITION__/a", "k string: null"},
		{"y=1/m=02/a y=2/m=10/a", "y int64: 1 2; m string: 02 10"},
		{"y=1/m=x/a m=y/y=2/a", "y int64: 1 2; m string: x y"},
	} {
		t.Run(c.paths, func(t *testing.T) {
			columns, err := inferPartitions(shardsOf(strings.Fields(c.paths)...))
			if err != nil {
				t.Errorf("%v", err)
			}
			var got []string
			for _, col := range columns {
				text := fmt.Sprintf("%s %s:", col.field.Name, col.field)
				for _, n := range col.nodes {
					switch data := n.partition.data; {
					case n.partition.null:
						text += " null"
					case col.field.Type == column.TypeInt64:
						text += fmt.Sprint(" ", int64(binary.LittleEndian.Uint64(data)))
					case col.field.Type == column.TypeDate:
						text += fmt.Sprint(" ", int32(binary.LittleEndian.Uint32(data)))
					default:
						text += " " + string(data)
					}
				}
				got = append(got, text)
			}
			if g := strings.Join(got, "; "); g != c.want {
				t.Errorf("%q, want %q", g, c.want)
			}
		})
	}
	if columns, err := inferPartitions(nil); columns != nil || err != nil {
		t.Errorf("no shards: %v, %v", columns, err)
	}
}

func TestInferPartitionsErrors(t *testing.T) {
	for _, c := range []struct{ paths, want string }{
		{"k=1/a b", `b: list: bad address: its path has no partition key "k", which k=1/a has`},
		{"a k=1/b", `a: list: bad address: its path has no partition key "k", which k=1/b has`},
		{"k=1/l=2/a k=1/b", `k=1/b: list: bad address: its path has no partition key "l", which k=1/l=2/a has`},
		{"k=1/k=2/a", `k=1/k=2/a: list: bad address: its path has the partition key "k" twice`},
	} {
		columns, err := inferPartitions(shardsOf(strings.Fields(c.paths)...))
		if columns != nil || err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", c.paths, columns, err)
		}
	}
}
