package tokenize

import (
	"encoding/json"
	"fmt"

	"github.com/shardfeed/shardfeed/tokenize/internal/vocab"
)

// A template lists the tokens that a post-processor adds to one text.
type template struct{ before, after []int32 }

// newTemplate reads a post-processor.
func newTemplate(raw json.RawMessage, tokens *vocab.Vocabulary) (t template, err error) {
	all, ok, err := newPart("post_processor", raw)
	if err != nil || !ok {
		return t, err
	}
	parts, err := all.flatten("processors")
	if err != nil {
		return t, err
	}
	for _, p := range parts {
		var next template
		switch p.kind {
		case "ByteLevel": // it changes only offsets
		case "TemplateProcessing":
			next, err = templateProcessing(p, tokens)
		case "BertProcessing", "RobertaProcessing":
			next, err = clsSep(p, tokens)
		default:
			err = p.unsupported()
		}
		if err != nil {
			return t, err
		}
		t.before = append(next.before, t.before...)
		t.after = append(t.after, next.after...)
	}
	return t, nil
}

// templateProcessing reads the template of a single text. It ignores the one of pairs.
func templateProcessing(p part, tokens *vocab.Vocabulary) (t template, err error) {
	var fields struct {
		typed
		Single []struct {
			SpecialToken *struct {
				ID string `json:"id"`
			}
			Sequence *struct {
				ID string `json:"id"`
			}
		} `json:"single"`
		Special map[string]struct {
			IDs []int32 `json:"ids"`
		} `json:"special_tokens"`
	}
	if err := json.Unmarshal(p.raw, &fields); err != nil {
		return t, fmt.Errorf("%s: %w", p.name, err)
	}
	texts := 0
	for i, piece := range fields.Single {
		switch {
		case piece.Sequence != nil && piece.SpecialToken == nil && piece.Sequence.ID == "A":
			texts++
		case piece.SpecialToken != nil && piece.Sequence == nil:
			special, ok := fields.Special[piece.SpecialToken.ID]
			if !ok {
				return t, fmt.Errorf("%s: %q is not in special_tokens", p.name, piece.SpecialToken.ID)
			}
			for _, id := range special.IDs {
				if _, ok := tokens.Text(id); !ok {
					return t, fmt.Errorf("%s: %q has the id %d, which is no token", p.name, piece.SpecialToken.ID, id)
				}
			}
			if texts == 0 {
				t.before = append(t.before, special.IDs...)
			} else {
				t.after = append(t.after, special.IDs...)
			}
		default:
			return t, unsupported(p.name, "element %d of single is neither $A nor a special token", i+1)
		}
	}
	if texts != 1 {
		return t, unsupported(p.name, "single has the text %d times", texts)
	}
	return t, nil
}

// clsSep reads a post-processor that puts one token before a text and one after.
func clsSep(p part, tokens *vocab.Vocabulary) (t template, err error) {
	type token struct {
		text string
		id   int32
	}
	var fields struct{ Sep, Cls [2]json.RawMessage }
	if err := json.Unmarshal(p.raw, &fields); err != nil {
		return t, fmt.Errorf("%s: %w", p.name, err)
	}
	var sep, cls token
	for raw, to := range map[*[2]json.RawMessage]*token{&fields.Sep: &sep, &fields.Cls: &cls} {
		if err := json.Unmarshal(raw[0], &to.text); err != nil {
			return t, fmt.Errorf("%s: %w", p.name, err)
		}
		if err := json.Unmarshal(raw[1], &to.id); err != nil {
			return t, fmt.Errorf("%s: %w", p.name, err)
		}
		if _, ok := tokens.Text(to.id); !ok {
			return t, fmt.Errorf("%s: %q has the id %d, which is no token", p.name, to.text, to.id)
		}
	}
	return template{before: []int32{cls.id}, after: []int32{sep.id}}, nil
}
