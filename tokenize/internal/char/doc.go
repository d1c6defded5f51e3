// Package char reads the characters of UTF-8 text, and knows the kind of each: letter, mark, number
// and so on, as the patterns of tokenizers divide them.
//
// A [View] reads without bounds checks. Its text must be valid UTF-8 and have [Slack] readable bytes
// after its end, whose values do not matter; [Pad] makes such a text.
//
// Kinds are of Unicode 16, as in the regular expressions of tokenizers and tiktoken. Package unicode
// of Go has another version.
//
// The package starts no goroutine. Its tables take 60 KB.
package char
