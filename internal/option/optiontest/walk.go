// Package optiontest checks that options are validated field by field.
package optiontest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/option"
)

// Walk sets each exported field of good, a struct, to invalid values, one at a time, and expects
// Validate to name only that field. Numbers become negative and absurdly large, words become
// nonsense; wrong has the values for other types, or other values. The fields in free accept every
// value; each has the reason.
func Walk[T interface{ Validate() error }](t *testing.T, good T, free map[string]string, wrong map[string][]any) {
	t.Helper()
	if err := good.Validate(); err != nil {
		t.Fatalf("to begin with: %v", err)
	}
	for _, field := range fields(reflect.TypeOf(good), "") {
		if _, ok := free[field]; ok {
			continue
		}
		values := wrong[field]
		if values == nil {
			values = absurd(at(reflect.ValueOf(&good).Elem(), field).Kind())
		}
		if values == nil {
			t.Errorf("%s: give wrong values, or the reason why every value is allowed", field)
		}
		for _, value := range values {
			bad := good
			v := at(reflect.ValueOf(&bad).Elem(), field)
			v.Set(reflect.ValueOf(value).Convert(v.Type()))
			err := bad.Validate()
			if err == nil {
				t.Errorf("%s = %v is allowed", field, value)
				continue
			}
			marked := option.Spelled(err, func(name string) string { return "<" + name + ">" })
			if !strings.Contains(marked, "<"+field) {
				t.Errorf("%s = %v: %v", field, value, err)
			}
			problems := slices.Sorted(strings.Lines(marked + "\n"))
			if len(slices.Compact(problems)) < len(problems) {
				t.Errorf("%s = %v is checked twice: %v", field, value, err)
			}
		}
	}
	for name := range free {
		if !slices.Contains(fields(reflect.TypeOf(good), ""), name) {
			t.Errorf("there is no field %s", name)
		}
	}
}

// fields returns the exported fields, including fields of nested structs as "Size.Rows", and of
// embedded ones under their own names.
func fields(s reflect.Type, path string) (all []string) {
	for i := range s.NumField() {
		f := s.Field(i)
		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			all = append(all, fields(f.Type, path)...)
		case !f.IsExported():
		case f.Type.Kind() == reflect.Struct && f.Type.PkgPath() == s.PkgPath() && f.Name != "Events" && f.Name != "Loader":
			all = append(all, fields(f.Type, path+f.Name+".")...)
		default:
			all = append(all, path+f.Name)
		}
	}
	return all
}

func at(v reflect.Value, path string) reflect.Value {
	for name := range strings.SplitSeq(path, ".") {
		v = v.FieldByName(name)
	}
	return v
}

func absurd(k reflect.Kind) []any {
	switch k {
	case reflect.Int, reflect.Int64:
		return []any{int64(-1), int64(1<<63 - 1)}
	case reflect.Uint8:
		return []any{uint8(255)}
	case reflect.String:
		return []any{"nonsense"}
	}
	return nil
}
