package values

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/spf13/pflag"
)

// All flags that give values to names read them alike.
func TestFlagsOfPairs(t *testing.T) {
	for _, c := range []struct {
		name  string
		flag  func() pflag.Value
		given []string
		want  string // the map, or the error
	}{
		{"parts", func() pflag.Value { return new(Weights) }, []string{" train = 9,val=0.5"}, "map[train:9 val:0.5]"},
		{"sizes", func() pflag.Value { return new(Sizes) }, []string{"a=8", "b=8"}, "map[a:8 b:8]"},
		{"casts", func() pflag.Value { return new(Casts) }, []string{"label=int32,num_*=bfloat16"}, "map[label:int32 num_*:bfloat16]"},
		{"hashes", func() pflag.Value { return new(Hashes) }, []string{"user_id=1000"}, "map[user_id:1000]"},
		{"a name with =", func() pflag.Value { return new(Sizes) }, []string{"a=b=8"}, "map[a=b:8]"},
		{"no =", func() pflag.Value { return new(Weights) }, []string{"train"}, `must be name=value, as in train=9,val=1, got "train"`},
		{"no name", func() pflag.Value { return new(Casts) }, []string{"=int8"}, `must be name=value, as in label=int32, got "=int8"`},
		{"no number", func() pflag.Value { return new(Sizes) }, []string{"a=8,b=x"}, `must be name=value, as in token_ids=8192, got "b=x"`},
		{"no whole number", func() pflag.Value { return new(Hashes) }, []string{"a=1.5"}, `must be name=value, as in user_id=1000000, got "a=1.5"`},
		{"an end", func() pflag.Value { return new(Hashes) }, []string{"a=1,"}, `must be name=value, as in user_id=1000000, got ""`},
		{"twice", func() pflag.Value { return new(Weights) }, []string{"a=1,a=2"}, `must have each name once, got "a" again`},
		{"in two flags", func() pflag.Value { return new(Sizes) }, []string{"a=1", "a=2"}, `must have each name once, got "a" again`},
		{"two scales", func() pflag.Value { return new(Scales) }, []string{"a=1,2", "a=2,3"}, `must have each name once, got "a" again`},
		{"two matrices", func() pflag.Value { return new(Stacks) }, []string{"x=a", "x:int8=b"}, `must have each name once, got "x" again`},
	} {
		t.Run(c.name, func(t *testing.T) {
			flag, got := c.flag(), ""
			for _, s := range c.given {
				if err := flag.Set(s); err != nil {
					got = err.Error()
				}
			}
			if got == "" {
				got = fmt.Sprint(reflect.Indirect(reflect.ValueOf(flag)).Interface())
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
