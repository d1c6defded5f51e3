package delta

import (
	"encoding/json"
	"fmt"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/internal/spark"
)

// A partition is the values of the partition columns in some files.
type partition struct {
	values    map[string]*string // by physical name; nil is null
	constants []table.Constant   // of these values, once made
}

// ofJSON returns the partition of an object in JSON.
func (p *partitions) ofJSON(text json.RawMessage) (*partition, error) {
	if len(text) == 0 {
		text = []byte("{}")
	}
	return p.of(text, func() (values map[string]*string, err error) {
		if err := json.Unmarshal(text, &values); err != nil {
			return nil, fmt.Errorf("%w: partition values are not of the known form: %w", shard.ErrCorrupt, err)
		}
		return values, nil
	})
}

// ofArray returns the partition of value i of an array of maps. key is a buffer.
func (p *partitions) ofArray(a *column.Array, i int, key *[]byte) (*partition, error) {
	if a == nil || a.Field.Kind != column.Map || a.IsNull(i) {
		return p.ofJSON(nil)
	}
	names, values := a.Children[0].Children[0], a.Children[0].Children[1]
	lo, hi := a.Items(i)
	text := (*key)[:0]
	for at := lo; at < hi; at++ {
		text = fmt.Appendf(text, "%d:%s", len(bytesAt(names, at)), bytesAt(names, at))
		if values.IsNull(at) {
			text = append(text, '-')
		} else {
			text = fmt.Appendf(text, "%d:%s", len(bytesAt(values, at)), bytesAt(values, at))
		}
	}
	*key = text
	return p.of(text, func() (map[string]*string, error) {
		found := make(map[string]*string, hi-lo)
		for at := lo; at < hi; at++ {
			var value *string
			if !values.IsNull(at) {
				text := string(bytesAt(values, at))
				value = &text
			}
			found[string(bytesAt(names, at))] = value
		}
		return found, nil
	})
}

// constants returns the values of the partition columns in the files of a partition.
func (s *schema) constants(p *partition) ([]table.Constant, error) {
	if p.constants != nil || len(s.partitions) == 0 {
		return p.constants, nil
	}
	for _, at := range s.partitions {
		f := &s.fields[at]
		c := table.Constant{Field: at, Value: table.Value{Null: true}}
		if text := p.values[f.Names[0]]; text != nil && *text != "" {
			data, err := spark.ParseValue(f.Column, *text)
			if err != nil {
				return nil, fmt.Errorf("%w: the partition value %q of column %q is not %s", shard.ErrCorrupt, *text, f.Column.Name, f.Column)
			}
			c.Value = table.Value{Data: data}
		}
		p.constants = append(p.constants, c)
	}
	return p.constants, nil
}
