// Package cut divides text into words, as the pre-tokenizers of tokenizer.json do. A [Cutter] never
// changes the text: what it returns are the ends of words, and words follow each other.
//
// Regular expressions are not interpreted. The package has a Cutter for each expression that it
// knows, and no other is accepted.
//
// A Cutter is immutable. What it keeps between two calls for one text is in a [Text].
package cut
