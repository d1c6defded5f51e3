// Package char reads the characters of UTF-8 text, and knows the kind of each: letter, mark, number
// and so on, as the patterns of tokenizers divide them.
//
// A [View] reads without bounds checks. Its text must be valid UTF-8 and have [Slack] readable
// bytes after its end, whose values do not matter; [Pad] makes such a text.
//
// Kinds come from package property, so they agree with the regular expressions of the libraries
// tokenizers and tiktoken. They are known once a View has been made.
package char
