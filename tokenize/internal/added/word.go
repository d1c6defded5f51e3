package added

import "github.com/shardfeed/shardfeed/tokenize/internal/property"

// isSpace reports whether r is \s of the regular expressions that tokenizers has for added tokens.
func isSpace(r rune) bool { return property.Of(r)&property.White != 0 }

// isWord reports whether r is \w there.
func isWord(r rune) bool { return property.Of(r)&property.Word != 0 }
