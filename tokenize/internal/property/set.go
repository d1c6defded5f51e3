package property

// A Set is a set of properties of a code point, or a union of such sets that patterns test for.
type Set uint32

// The properties. Ll to Han are Oniguruma's: \p{Ll} and so on, \s and \p{Han}.
const (
	Ll Set = 1 << iota
	Lu
	Lt
	Lm
	Lo
	M
	N
	P
	S
	Space
	Han

	Word    // \w of Rust's crate regex
	White   // char::is_whitespace
	Numeric // char::is_numeric
	Punct   // punctuation of BERT, and of the pre-tokenizer Punctuation

	BertControl // removed by BertNormalizer's clean_text
	BertSpace   // made a space by it
	Ideograph   // set apart by handle_chinese_chars
	Accent      // removed by StripAccents
	BertAccent  // removed by BertNormalizer's strip_accents

	// Of grapheme clusters, as in Unicode's Annex 29: what GB9 and GB9a join to a character before
	// it, what GB9b joins to one after it, and so on.
	Joins
	Prepend
	Control
	Pictograph
	Extend
	Consonant
	Linker
	BetweenConsonants
)

// Letter is \p{L}.
const Letter = Ll | Lu | Lt | Lm | Lo
