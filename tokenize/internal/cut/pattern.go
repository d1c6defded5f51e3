package cut

import (
	"maps"
	"slices"
	"strings"
)

// parts of regular expressions that patterns share
const (
	alternatives = `'s|'t|'re|'ve|'m|'ll|'d`
	folded       = `(?i:` + alternatives + `)`
	gaps         = `|\s*[\r\n]+|\s+(?!\S)|\s+`
	capitalsRe   = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	smallsRe     = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	before       = `[^\r\n\p{L}\p{N}]?`

	gpt2     = alternatives + `| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	cjk      = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
	deepSeek = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+" +
		"| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
)

// cl100k returns the expression of a CL100K with an expression for numbers.
func cl100k(numbers string) string {
	return folded + `|` + before + `\p{L}+|` + numbers + `| ?[^\s\p{L}\p{N}]+[\r\n]*` + gaps
}

// o200k returns the expression of an O200K with one for contractions and one for numbers.
func o200k(contraction, numbers, after string) string {
	return before + capitalsRe + `*` + smallsRe + `+` + contraction + `|` +
		before + capitalsRe + `+` + smallsRe + `*` + contraction + `|` +
		numbers + `| ?[^\s\p{L}\p{N}]+` + after + gaps
}

// A Pattern is a regular expression with the Cutter that does the same.
type Pattern struct {
	Cutter Cutter
	Covers bool // all text is in matches
}

// Named returns the pattern of a tiktoken file by the name of its encoding or of its family of
// models, or by the regular expression that tiktoken has for it.
func Named(name string) (c Cutter, ok bool) {
	if c, ok = named[name]; !ok {
		c, ok = possessive[name]
	}
	if p, known := Find(name); !ok && known && p.Covers {
		return p.Cutter, true
	}
	return c, ok
}

// Names lists the names of patterns.
func Names() []string { return slices.Sorted(maps.Keys(named)) }

var named = map[string]Cutter{
	"gpt2": GPT2{}, "r50k_base": GPT2{}, "p50k_base": GPT2{},
	"cl100k_base":   CL100K{Digits: 3, Tail: true},
	"o200k_base":    O200K{Digits: 3, Contractions: true},
	"o200k_harmony": O200K{Digits: 3, Contractions: true},
	"llama3":        CL100K{Digits: 3},
	"llama4":        O200K{Digits: 3, Contractions: true},
	"qwen":          CL100K{Digits: 1},
	"kimi":          O200K{Digits: 3, Contractions: true, NoSlash: true, Han: true},
}

// possessive has expressions of tiktoken with possessive quantifiers. In a tokenizer.json they are
// not known: there {1,3}+ repeats.
var possessive = map[string]Cutter{
	`'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s`:                                       GPT2{},
	`'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s`: CL100K{Digits: 3, Tail: true},
}

// Find returns the pattern of a regular expression that the package knows.
func Find(expression string) (p Pattern, ok bool) {
	p, ok = known[expression]
	return p, ok
}

var known = patterns()

// patterns lists the regular expressions in use. Other ones of the same families are accepted too,
// if they differ only in these parts.
func patterns() map[string]Pattern {
	all := map[string]Pattern{
		gpt2:     {GPT2{}, true},
		cjk:      {CJK{}, false},
		deepSeek: {DeepSeek{}, false},
	}
	marked := strings.NewReplacer(`\p{L}+`, `[\p{L}\p{M}]+`, `[^\s\p{L}\p{N}]`, `[^\s\p{L}\p{M}\p{N}]`)
	// nanochat's spelling of cl100k, with possessive quantifiers that change nothing
	plain := strings.NewReplacer(folded, `'(?i:[sdmt]|ll|ve|re)`, before, before+`+`, `[^\s\p{L}\p{N}]+`, `[^\s\p{L}\p{N}]++`, `[\r\n]+|`, `[\r\n]|`)
	for numbers, most := range map[string]int{`\p{N}`: 1, `\p{N}{1}`: 1, `\p{N}{1,2}`: 2, `\p{N}{1,3}`: 3, `\p{N}+`: 0} {
		all[numbers] = Pattern{Numbers{most}, false}
		all[cl100k(numbers)] = Pattern{CL100K{Digits: most}, true}
		all[plain.Replace(cl100k(numbers))] = Pattern{CL100K{Digits: most}, true}
		all[marked.Replace(cl100k(numbers))] = Pattern{CL100K{Digits: most, Marks: true}, true}
		for contraction, has := range map[string]bool{"": false, folded + `?`: true} {
			for after, slash := range map[string]bool{`[\r\n]*`: false, `[\r\n/]*`: true} {
				all[o200k(contraction, numbers, after)] = Pattern{O200K{Digits: most, Contractions: has, NoSlash: !slash}, true}
			}
		}
	}
	return all
}
