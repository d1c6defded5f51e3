package values

import (
	"fmt"
	"strconv"
	"strings"
)

// setPairs reads the value of a flag that gives values to names, as in train=9,val=1, into a map. A
// name may hold =, and comes once.
func setPairs[V any](m *map[string]V, s, example string, parse func(string) (V, error)) error {
	for pair := range strings.SplitSeq(s, ",") {
		name, text, found := cutLast(pair)
		value, err := parse(strings.TrimSpace(text))
		if !found || name == "" || err != nil {
			return fmt.Errorf("must be name=value, as in %s, got %q", example, pair)
		}
		if err := setOnce(m, name, value); err != nil {
			return err
		}
	}
	return nil
}

// cutLast cuts at the last =, which names may hold.
func cutLast(s string) (name, value string, found bool) {
	at := strings.LastIndexByte(s, '=')
	if at < 0 {
		return s, "", false
	}
	return strings.TrimSpace(s[:at]), s[at+1:], true
}

// setOnce refuses a name that has a value.
func setOnce[V any](m *map[string]V, name string, value V) error {
	if _, twice := (*m)[name]; twice {
		return fmt.Errorf("must have each name once, got %q again", name)
	}
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[name] = value
	return nil
}

func asText(s string) (string, error) { return s, nil }

func asWhole(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

func asNumber(s string) (float64, error) { return strconv.ParseFloat(s, 64) }
