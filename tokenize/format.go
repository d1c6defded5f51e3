package tokenize

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// wrongFormat explains why a file is not a tokenizer.json. err is of the JSON decoder.
func wrongFormat(data []byte, err error) error {
	text := bytes.TrimSpace(data)
	first, _, _ := bytes.Cut(text, []byte("\n"))
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case len(text) == 0:
		return errors.New("the file is empty")
	case !utf8.Valid(first) || bytes.ContainsFunc(first, func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' }):
		return errors.New("the file is not JSON, and has bytes that no text has; of a SentencePiece model, write a tokenizer.json with transformers: AutoTokenizer.from_pretrained(directory).save_pretrained(directory)")
	case isRank(first):
		return fmt.Errorf("the file is not JSON but has tokens and ranks, as files of tiktoken have: name its pattern, such as %s", strings.Join(Patterns(), ", "))
	case bytes.HasPrefix(text, []byte("version https://git-lfs")):
		return errors.New("the file is a pointer of Git LFS; git lfs pull fetches the content")
	case text[0] == '<':
		return errors.New("the file is a page for browsers, not JSON; download the file itself")
	case errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input":
		return fmt.Errorf("the file is not complete: %w", err)
	case errors.As(err, &kind):
		return fmt.Errorf("the file is not a tokenizer's: %s is a JSON %s", cmp.Or(kind.Field, "its content"), kind.Value)
	}
	return fmt.Errorf("the file is not JSON: %w", err)
}

// isRank reports whether a line has a token and its rank, as in a file of tiktoken.
func isRank(line []byte) bool {
	_, err := readRanks(line)
	return err == nil
}
