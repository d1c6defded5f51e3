package saved

import (
	"os"
	"path/filepath"

	"github.com/shardfeed/shardfeed/internal/regular"
)

// KeepTokens keeps the tokenizers of a rule beside lists of shards, since a state has only the
// rule's name.
func KeepTokens(dir, rule, tokens string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return WriteWhole(tokensPath(dir, rule), []byte(tokens+"\n"))
}

// Tokens returns what KeepTokens kept, or "".
func Tokens(dir, rule string) string {
	b, err := regular.ReadFile(tokensPath(dir, rule))
	if dir == "" || rule == "" || err != nil || len(b) == 0 {
		return ""
	}
	return string(b[:len(b)-1])
}

func tokensPath(dir, rule string) string { return filepath.Join(dir, rule+".tokens") }
