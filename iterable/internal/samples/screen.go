package samples

import (
	"os"
	"strings"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
)

// Screen finds shards that the filter excludes before their schemas are united, nil without a
// filter. A wrong filter excludes no shard: binding it to the schema of all returns its error.
func (o Options) Screen() rowgroup.Screen {
	if o.Filter == nil {
		return nil
	}
	e, err := o.Filter.At(o.Now)
	if err != nil {
		return nil
	}
	columns, read := o.Columns(), o.readOnce()
	return func(schema *column.Schema) func(rule.Stats) rule.Verdict {
		s := e.Screen(schema, read)
		var inputs []int
		for _, in := range s.Inputs() {
			inputs = append(inputs, columns.at[strings.Join(in.Path, ".")])
		}
		return func(stats rule.Stats) rule.Verdict { return s.Prune(inputStats{stats: stats, inputs: inputs}) }
	}
}

// readOnce is ReadFile with the files that it has read.
func (o Options) readOnce() func(name string) ([]byte, error) {
	read := o.ReadFile
	if read == nil {
		read = os.ReadFile
	}
	files := map[string][]byte{}
	return func(name string) (b []byte, err error) {
		b, ok := files[name]
		if !ok {
			if b, err = read(name); err == nil {
				files[name] = b
			}
		}
		return b, err
	}
}

// prunePartition asks the filter about what is known of a shard before it is read.
func (r *Rules) prunePartition(m *rowgroup.Reader, shard int) rule.Verdict {
	if m.Excluded(shard) {
		return rule.None
	}
	return r.prune(m.PartitionStats(shard))
}
