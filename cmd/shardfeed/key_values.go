package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/internal/regular"
)

// keyValues is a flag that may be given many times: key=value, or @FILE.json with an object of
// them. The last value of a key wins. Objects within the object are as fsspec has them:
// {"client_kwargs": {"region_name": "x"}} is client_kwargs.region_name=x.
type keyValues map[string]string

func (k *keyValues) Set(s string) error {
	if *k == nil {
		*k = keyValues{}
	}
	if file, ok := strings.CutPrefix(s, "@"); ok {
		return k.read(file)
	}
	key, value, found := strings.Cut(s, "=")
	if key = strings.TrimSpace(key); !found || !keyName.MatchString(key) { // which may be a secret, so the error does not hold it
		return errors.New("must be key=value or @FILE.json")
	}
	(*k)[key] = value
	return nil
}

// keyName matches the names of options.
var keyName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)

// notJSON names the position of a JSON error, or the type that is not an object, without quoting
// the content.
func notJSON(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("not JSON at byte %d", syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Errorf("it holds a JSON %s", kind.Value)
	}
	return err
}

func (k *keyValues) read(file string) error {
	content, err := regular.ReadFile(file)
	if err != nil {
		return regular.Error(err)
	}
	var object map[string]any
	if err := json.Unmarshal(content, &object); err != nil {
		return fmt.Errorf("must be key=value or the @FILE of a JSON object, got %s: %w", file, notJSON(err))
	}
	if err := k.flatten("", object); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func (k *keyValues) flatten(prefix string, object map[string]any) error {
	for key, value := range object {
		switch value := value.(type) {
		case map[string]any:
			if err := k.flatten(prefix+key+".", value); err != nil {
				return err
			}
		case []any:
			return fmt.Errorf("%s%s must be text, a number, true or false, got a list", prefix, key)
		case nil: // as if it were not there
		default:
			text, err := json.Marshal(value) // numbers and booleans as JSON writes them
			if err != nil {
				return err
			}
			if s, ok := value.(string); ok {
				text = []byte(s)
			}
			(*k)[prefix+key] = string(text)
		}
	}
	return nil
}

// String returns only the keys: values may be secrets.
func (k *keyValues) String() string {
	return strings.Join(slices.Sorted(maps.Keys(*k)), ",")
}

func (k *keyValues) Type() string { return "key=value" }
