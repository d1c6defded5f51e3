package shardfeed

import (
	"encoding/json"
	"errors"

	"github.com/shardfeed/shardfeed/rule"
)

// FillInTheMiddle permutes the documents of packed blocks for models that write the middle between
// a prefix and a suffix. See [rule.FillInTheMiddle].
type FillInTheMiddle struct {
	Rate    float64 `json:"rate"`     // the share of documents that are permuted, above 0 to 1
	SPMRate float64 `json:"spm_rate"` // the share of these whose suffix is first

	Prefix Token `json:"prefix"`
	Middle Token `json:"middle"`
	Suffix Token `json:"suffix"`

	// Boundaries divide documents, beside EOS and BOS of the packing, and stay in place.
	Boundaries []Token `json:"boundaries,omitempty"`
}

// A Token is a token by its number or, of a column with a tokenizer, by its text. JSON is a number
// or a string.
type Token struct {
	ID   int64
	Text string // "" selects by ID
}

// MarshalJSON writes the number or the text.
func (t Token) MarshalJSON() ([]byte, error) {
	if t.Text != "" {
		return json.Marshal(t.Text)
	}
	return json.Marshal(t.ID)
}

// UnmarshalJSON reads a number or a text.
func (t *Token) UnmarshalJSON(b []byte) error {
	*t = Token{}
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &t.Text); err != nil {
			return err
		}
		if t.Text == "" {
			return errors.New("the text of a token must not be empty")
		}
		return nil
	}
	return json.Unmarshal(b, &t.ID)
}

// tokens lists the tokens with their names.
func (f *FillInTheMiddle) tokens() (all []namedToken) {
	if f == nil {
		return nil
	}
	all = []namedToken{{"prefix", f.Prefix}, {"middle", f.Middle}, {"suffix", f.Suffix}}
	for _, t := range f.Boundaries {
		all = append(all, namedToken{"boundary", t})
	}
	return all
}

// A namedToken is a token that a packing names for a purpose.
type namedToken struct {
	name string
	Token
}

// options returns the rule's form with the numbers that find has for texts.
func (f *FillInTheMiddle) options(find func(namedToken) (int64, error)) (*rule.FillInTheMiddle, error) {
	if f == nil {
		return nil, nil
	}
	var ids []int64
	for _, t := range f.tokens() {
		id, err := find(t)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return &rule.FillInTheMiddle{Rate: f.Rate, SPMRate: f.SPMRate, Prefix: ids[0], Middle: ids[1], Suffix: ids[2], Boundaries: ids[3:]}, nil
}
