// Package tokens shows a tokenizer: its parts, and what it makes of the first documents of a table.
//
// A [Trial] encodes documents and counts. A [View] shows the tokens of one document, in colours or
// with bars between them.
package tokens
