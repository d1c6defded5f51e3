package augment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// MarshalJSON writes the steps as a list of objects with the name of the step and its fields, as in
// [{"step": "rand_augment", "num_ops": 2, "magnitude": 9}].
func (s Steps) MarshalJSON() ([]byte, error) {
	var list []json.RawMessage
	for _, step := range s {
		if step == nil {
			break
		}
		fields, err := json.Marshal(step)
		if err != nil {
			return nil, err
		}
		object := fmt.Sprintf(`{"step":%q`, names[step.kind()])
		if rest := fields[1:]; len(rest) > 1 {
			object += "," + string(rest)
		} else {
			object += "}"
		}
		list = append(list, json.RawMessage(object))
	}
	return json.Marshal(list)
}

// UnmarshalJSON reads what MarshalJSON writes. It refuses steps and fields that it does not know.
func (s *Steps) UnmarshalJSON(b []byte) error {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	if len(list) > Most {
		return fmt.Errorf("augment must have at most %d steps, got %d", Most, len(list))
	}
	*s = Steps{}
	for i, object := range list {
		var name string
		if given, ok := object["step"]; ok {
			if err := json.Unmarshal(given, &name); err != nil {
				return fmt.Errorf("the step of augment[%d]: %w", i, err)
			}
			delete(object, "step")
		}
		fields, err := json.Marshal(object)
		if err != nil {
			return err
		}
		if s[i], err = readStep(name, fields); err != nil {
			return fmt.Errorf("augment[%d]: %w", i, err)
		}
	}
	return nil
}

func readStep(name string, fields []byte) (Step, error) {
	switch kind(max(0, slices.Index(names[:], name))) {
	case randAugment:
		return read[RandAugment](fields)
	case autoAugment:
		return read[AutoAugment](fields)
	case trivialAugmentWide:
		return read[TrivialAugmentWide](fields)
	case colorJitter:
		return read[ColorJitter](fields)
	case gaussianBlur:
		return read[GaussianBlur](fields)
	case randomGrayscale:
		return read[RandomGrayscale](fields)
	case randomSolarize:
		return read[RandomSolarize](fields)
	case randomErasing:
		return read[RandomErasing](fields)
	}
	return nil, fmt.Errorf("there is no step %q; there are %s", name, strings.Join(names[1:], ", "))
}

func read[S Step](fields []byte) (Step, error) {
	var s S
	d := json.NewDecoder(bytes.NewReader(fields))
	d.DisallowUnknownFields()
	err := d.Decode(&s)
	return s, err
}
