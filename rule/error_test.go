package rule

import (
	"errors"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
)

// Braces in a user's own names stay as they are, and are not taken for the name of an option.
func TestErrorLeavesBraces(t *testing.T) {
	for _, c := range []struct {
		name string
		find func() error
		want string
	}{
		{"a column that is missing", func() error {
			e, err := Parse("`{UnitRows}` = 1")
			if err != nil {
				return err
			}
			_, err = e.Bind(bindSchema(), readTestFile)
			return err
		}, `filters names column "{UnitRows}", which the data does not have; there are 34 others`},
		{"a text that cannot be read", func() error {
			_, err := Parse("a = {UnitRows}")
			return err
		}, `filters at column 5, near "{UnitRows}": '{' is not known here`},
		{"a weight", func() error {
			return CheckWeight(&column.Field{Name: "{UnitRows}", Type: column.TypeString})
		}, `weight must be a column of integers, float32 or float64, got "{UnitRows}", which is string`},
		{"a file of values", func() error {
			e, err := Parse("i8 in @'{UnitRows}'")
			if err != nil {
				return err
			}
			_, err = e.Bind(bindSchema(), func(string) ([]byte, error) { return nil, errors.New("{UnitRows}: gone") })
			return err
		}, `filters reads @{UnitRows}: {UnitRows}: gone`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := option.Spelled(c.find(), option.Argument); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
