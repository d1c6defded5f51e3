// Package tokenize turns text into the tokens of a language model, exactly as the libraries
// tokenizers and tiktoken do.
//
// [Load] reads a tokenizer.json. It accepts a file only if the package implements each of its parts
// exactly; otherwise it returns an [UnsupportedError], which names the part. A [Tokenizer] is
// immutable, and goroutines share it. Each goroutine makes its own [Encoder].
//
// A text passes through these steps, in this order:
//
//	added tokens   that text contains literally are found, and divide it into pieces
//	normalizers    rewrite each piece; then added tokens that are normalized are found
//	pre-tokenizer  rewrites each piece, and cuts it into words
//	model          turns each word into tokens
//	template       adds tokens before and after, if Options.Template is set
//
// Options.MaxTokens limits the tokens of a document, and [Encoder.Join] makes one document of
// several texts. Truncation and padding of a tokenizer.json are not applied.
//
// Each step has a package below this one:
//
//	internal/char       characters and their kinds, of Unicode 16
//	internal/property   properties of code points, of the versions that tokenizers has
//	internal/added      added tokens
//	internal/normal     normalizers
//	internal/cut        the patterns of pre-tokenizers, each written by hand
//	internal/words      caches of words, and the interface of a model
//	internal/bpe        byte pair encoding
//	internal/unigram    the model of T5 and XLM-R
//	internal/wordpiece  the model of BERT
//	internal/trie       tokens by their prefixes, for the last two
//	internal/vocab      the texts of tokens
//
// Time is linear in the length of a text, also if it is one word: 2 MB of one character take about
// 0.1 s. A text that repeats the start of an added token takes time for that start at each place.
//
// A Tokenizer takes at most 20 MB for a vocabulary of 262,144 tokens, as its method Memory returns.
// An Encoder takes Options.CacheBytes and at most 1 MB; the function of its method Allow is asked
// for all that a long text takes besides. The package reads no files, and starts no goroutine.
package tokenize
