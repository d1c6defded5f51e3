package transform

import (
	"errors"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// Bind leaves the schema that it was given as it is, and Apply stops at the first step that fails.
func TestSteps(t *testing.T) {
	schema := &column.Schema{Fields: []*column.Field{{Name: "a", Kind: column.Binary, Type: column.TypeString}, {Name: "b", Kind: column.Binary, Type: column.TypeString, Nullable: true}}}
	c, err := Bind(schema, Options{Words: Words{Vocabulary: map[string][]string{"a": {"x"}, "b": {"y"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if f := schema.Fields[0]; f.Kind != column.Binary {
		t.Errorf("the schema changed to %v", f)
	}
	if f := c.Schema.Fields[1]; f.Type != column.TypeInt64 || !f.Nullable {
		t.Errorf("column b became %v", f)
	}
	var done []string
	wrong := errors.New("wrong")
	for i, err := range []error{nil, wrong} {
		c.Steps[i].Apply = func(*rowgroup.Decoder, []*rowgroup.Block, []uint32) (Made, error) {
			done = append(done, c.Steps[i].Column)
			return Made{Tokens: 3}, err
		}
	}
	c.Steps = append(c.Steps, Step{Column: "c", Apply: func(*rowgroup.Decoder, []*rowgroup.Block, []uint32) (Made, error) { panic("reached") }})
	made, err := c.Apply(nil, nil, nil)
	var e *rowgroup.Error
	if !errors.Is(err, wrong) || !errors.As(err, &e) || e.Column != "b" || len(done) != 2 || made.Tokens != 3 {
		t.Errorf("steps %q, error %v", done, err)
	}
}
