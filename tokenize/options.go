package tokenize

import "github.com/shardfeed/shardfeed/internal/option"

// Options are the choices of an Encoder. The zero value encodes as tokenizers does with
// add_special_tokens=False.
type Options struct {
	// Specials chooses the meaning of a special token's text inside a document.
	Specials Specials
	// Template adds the tokens that the file's post-processor adds, such as <s>.
	Template bool
	// MaxTokens limits the tokens of a document, the template's included: its end is cut off, as
	// tokenizers does with truncation. 0 sets no limit.
	MaxTokens int
	// Repair reads each byte that is not part of a character in UTF-8 as U+FFFD; else a text
	// with such bytes is an error.
	Repair bool
	// CacheBytes limits the caches of words. The default is 12 MiB; tokens do not depend on it.
	CacheBytes int
}

// Specials chooses the meaning of a special token's text inside a document.
type Specials string

// The choices of Specials.
const (
	SpecialsParse Specials = "parse" // the special token, as in tokenizers; the default
	SpecialsText  Specials = "text"  // the tokens of its characters
	SpecialsError Specials = "error" // an error
)

const (
	defaultCacheBytes = 12 << 20
	minCacheBytes     = 64 << 10
	maxCacheBytes     = 1 << 30
	maxTokens         = 1 << 30
)

func (o Options) withDefaults() Options {
	if o.Specials == "" {
		o.Specials = SpecialsParse
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	return o
}

// Validate returns all problems in one error.
func (o Options) Validate() error {
	l := option.List{New: option.NewError}
	l.OneOf("Specials", string(o.Specials), string(SpecialsParse), string(SpecialsText), string(SpecialsError))
	l.Within("MaxTokens", int64(o.MaxTokens), maxTokens)
	l.Within("CacheBytes", int64(o.CacheBytes), maxCacheBytes)
	if o.CacheBytes > 0 && o.CacheBytes < minCacheBytes {
		l.Add("CacheBytes", "must be at least %d, got %d", minCacheBytes, o.CacheBytes)
	}
	return l.Err()
}
