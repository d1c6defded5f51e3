package bpe

// A Config is a vocabulary with its merges.
type Config struct {
	// Vocab has the ids of all tokens. If Bytes is set, the texts are bytes; else characters.
	Vocab map[string]int32
	// Merges are pairs of tokens in the order of their ranks.
	Merges [][2]string
	// Bytes makes symbols of bytes, else of characters.
	Bytes bool
	// ByteTokens are the tokens of single bytes, for characters that Vocab lacks. It may be
	// nil; the id of a byte without a token is -1.
	ByteTokens *[256]int32
	// Unknown is the token of characters that have no other, or -1.
	Unknown int32
	// FuseUnknown makes one token of unknown characters that follow each other.
	FuseUnknown bool
	// Words makes a word that is a token this token, whatever the merges make of it.
	Words bool
}
