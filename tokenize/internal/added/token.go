package added

// A Token is an added token.
type Token struct {
	ID                         int32
	Text                       string // to find; normalized if the set is
	SingleWord, LStrip, RStrip bool
	Special                    bool
}
