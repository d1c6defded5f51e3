package hive

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/internal/spark"
)

// fields returns the columns of the table, with the partition columns last and in the order of the
// metastore, and the columns that cannot be read.
func (d *described) fields() ([]table.Field, []table.Unreadable, error) {
	own, not, err := d.sparkFields()
	if err != nil {
		return nil, nil, err
	}
	if d.provider() == "hive" || own == nil {
		plain, notPlain, err := spark.Fields(schemaOf(slices.Concat(d.columns, d.keys)), nil)
		if err != nil {
			return nil, nil, err
		}
		for _, u := range notPlain {
			if slices.ContainsFunc(d.keys, func(k named) bool { return k.name == u.Column }) {
				return nil, nil, fmt.Errorf("partition %v", u)
			}
		}
		if own == nil || !same(own, plain) {
			own, not = plain, notPlain // Hive has changed the table since, or made it
		}
	}
	anyCase(own)
	return own, not, nil
}

// sparkFields returns the columns that Spark keeps in the parameters of a table, or nil.
func (d *described) sparkFields() (fields []table.Field, not []table.Unreadable, err error) {
	text := d.parameters[sparkSchema]
	if count := d.parameters[schemaParts]; text == "" && count != "" {
		n, err := strconv.ParseUint(count, 10, 16)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %s is %q", shard.ErrCorrupt, schemaParts, count)
		}
		for i := range n {
			text += d.parameters[schemaPart+strconv.FormatUint(i, 10)]
		}
	}
	if text == "" {
		return nil, nil, nil
	}
	fields, not, err = spark.Fields(text, nil)
	if err != nil {
		return nil, nil, err
	}
	for _, key := range d.keys {
		at := slices.IndexFunc(fields, func(f table.Field) bool { return strings.EqualFold(f.Column.Name, key.name) })
		if at < 0 {
			return nil, nil, fmt.Errorf("%w: Spark's schema lacks the partition column %q", shard.ErrCorrupt, key.name)
		}
		fields = append(slices.Delete(slices.Clone(fields), at, at+1), fields[at])
	}
	return fields, not, nil
}

// same reports whether fields differ only in the case of their names.
func same(a, b []table.Field) bool {
	return slices.EqualFunc(a, b, func(a, b table.Field) bool {
		return strings.EqualFold(a.Column.Name, b.Column.Name) && strings.EqualFold(a.Column.String(), b.Column.String())
	})
}

// anyCase finds fields and their parts in any case.
func anyCase(fields []table.Field) {
	for i := range fields {
		fields[i].AnyCase = true
		anyCase(fields[i].Parts)
	}
}

// schemaOf returns a schema of Hive's columns as Spark has it.
func schemaOf(columns []named) string {
	members := []any{}
	for _, c := range columns {
		members = append(members, member(c.name, typeOf(c.kind)))
	}
	text, _ := json.Marshal(map[string]any{"type": "struct", "fields": members}) // of texts and lists
	return string(text)
}

func member(name string, kind any) any {
	return map[string]any{"name": name, "type": kind, "nullable": true, "metadata": map[string]any{}}
}
