package values

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed"
)

// Tokenizers is a flag that gives tokenizers to columns: text=tokenizer.json,specials=text. It may
// be given many times.
type Tokenizers map[string]shardfeed.Tokenizer

func (v *Tokenizers) Set(s string) (err error) {
	name, text, found := strings.Cut(s, "=")
	file, settings, _ := strings.Cut(text, ",")
	if name = strings.TrimSpace(name); !found || name == "" || file == "" {
		return fmt.Errorf("must be a column with a tokenizer.json, as in text=tokenizer.json, got %q", s)
	}
	t := shardfeed.Tokenizer{File: file}
	for setting := range strings.SplitSeq(settings, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(setting), "=")
		switch {
		case key == "":
		case key == "specials" && value != "":
			t.Specials = value
		case key == "pattern" && value != "":
			t.Pattern = value
		case key == "template" && value == "":
			t.Template = true
		case key == "join" && value != "":
			t.Join = append(t.Join, value)
		case key == "labels" && value != "":
			t.Labels = append(t.Labels, value)
		case key == "max_tokens":
			if t.MaxTokens, err = strconv.Atoi(value); err != nil || t.MaxTokens < 1 {
				return fmt.Errorf("must be followed by a max_tokens of at least 1, got %q", value)
			}
		default:
			return fmt.Errorf("must be followed by specials=parse, text or error, by template, max_tokens=512, pattern=cl100k_base, join=column or labels=column, got %q", setting)
		}
	}
	return setOnce((*map[string]shardfeed.Tokenizer)(v), name, t)
}

func (v *Tokenizers) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(*v)) {
		all = append(all, name+"="+(*v)[name].File)
	}
	return strings.Join(all, " ")
}

func (v *Tokenizers) Type() string { return "column=tokenizer.json" }
