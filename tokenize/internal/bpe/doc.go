// Package bpe is byte pair encoding: the symbols of a word are merged pair by pair, the pair with the
// lowest rank first, and of equal pairs the leftmost.
//
// Symbols are the bytes of a word, or its characters. A character that the vocabulary lacks becomes
// its bytes' tokens, or the unknown token.
//
// # One pair for each token
//
// A vocabulary often lists many merges that make one token; Llama 3 has 280,147 for 127,156 tokens.
// Only one of them is ever done. Where a merge joins two symbols, no merge crossed the ends of the
// pair before, so the merges inside it were the same, and in the same order, as of a word of its text. The last
// of these depends only on the text, which is the token's. So [New] merges the text of each token
// once, and keeps this last pair; its rank is the token's rank.
//
// Inside the package tokens are numbered by rank, so the value of a pair is the token it makes, and
// the lowest value is merged first.
//
// # Where words may be divided
//
// Between two characters that no token contains side by side, no merge ever happens. A long word
// is divided there before it is merged, so texts without spaces have short parts that a cache can
// hold. A text that no pre-tokenizer cuts, as SentencePiece has it, is divided everywhere by a
// [Divider]: a word and the comma after it are two parts, and more parts are a token or in the
// cache. A set of hashes answers this, and its false positives only make parts longer.
//
// # Linear time
//
// A word of at most 15 bytes that its merges make one token is looked up, without a merge. Other
// words of at most 32 symbols are merged in an array.
//
// Longer words are merged window by window. A list of tokens is right for a text if each two
// neighbours are right for theirs: the first merge that crosses an end would also happen in the text
// of its two neighbours. So two windows join at a token that both have: its left neighbour comes
// from the first window, its right neighbour from the second.
//
// The end of a window may change tokens before it, since a merge depends on merges of lower ranks to
// its right. Ranks rise along such a chain, so the vocabulary limits its length; in most texts it
// spans a few tokens. If two windows share no token, the second starts twice as far back and
// becomes longer. So the time is linear, and only the symbols of a long word take memory.
package bpe
