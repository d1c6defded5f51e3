package transform

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shardfeed/shardfeed/internal/option"
)

// Replaced returns tokenizers, by column, of which others replace some.
func Replaced(all, by map[string]Tokenizer) map[string]Tokenizer {
	all = maps.Clone(all)
	for name := range all {
		if other, ok := by[name]; ok {
			all[name] = other
		}
	}
	return all
}

// ValidateReplaced lists what is wrong with tokenizers in place of others.
func ValidateReplaced(all, by map[string]Tokenizer) error {
	p := option.List{New: option.NewError}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		field, other := fmt.Sprintf("Tokenize[%q]", name), by[name]
		switch t, ok := all[name]; {
		case !ok:
			p.Add(field, "replaces the tokenizer that {Tokenize} of all sources has for the column, and that has none")
		case !slices.Equal(other.Texts(name), t.Texts(name)) || !slices.Equal(other.Labels, t.Labels):
			p.Add(field, "must join the columns that {Tokenize} of all sources joins, %q with labels of %q, got %q with labels of %q; {Rename} gives columns of a source other names",
				t.Texts(name), t.Labels, other.Texts(name), other.Labels)
		default:
			other.validate(&p, name)
		}
	}
	return p.Err()
}
