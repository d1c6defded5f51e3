package conf

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

const (
	maxDepth      = 20      // references within references, as in Hadoop
	maxReferences = 10_000  // of one value, those within references included
	maxValue      = 1 << 20 // bytes of an expanded value
)

// expand puts the values in place that the ${} of a property refer to. A name that refers to itself
// is an error.
func (c *Conf) expand(name string) (string, error) {
	e := expansion{conf: c}
	return e.refer(name, c.values[name])
}

// An expansion is the work on one value.
type expansion struct {
	conf  *Conf
	above []string // properties that are being expanded, the outermost first
	count int      // references so far
}

func (e *expansion) refer(name, value string) (string, error) {
	if !strings.Contains(value, "${") {
		return value, nil
	}
	if slices.Contains(e.above, name) {
		return "", fmt.Errorf("%s refers to itself: %s", name, strings.Join(append(e.above, name), " -> "))
	}
	if len(e.above) > maxDepth {
		return "", fmt.Errorf("%s has over %d references within each other", e.above[0], maxDepth)
	}
	e.above = append(e.above, name)
	defer func() { e.above = e.above[:len(e.above)-1] }()
	return e.text(value)
}

func (e *expansion) text(text string) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || strings.ContainsAny(name, "${ ") { // no reference: as it stands
			b.WriteString("${")
			text = rest
			continue
		}
		value, err := e.value(name)
		if err != nil {
			return "", err
		}
		if e.count++; e.count > maxReferences || b.Len()+len(value) > maxValue {
			return "", fmt.Errorf("the value of %s has over %d references or %d bytes", e.above[0], maxReferences, maxValue)
		}
		b.WriteString(value)
		text = after
	}
}

func (e *expansion) value(name string) (string, error) {
	if variable, ok := strings.CutPrefix(name, "env."); ok {
		return environment(variable), nil
	}
	now := canonical(name)
	switch value, ok := e.conf.values[now]; {
	case ok:
		return e.refer(now, value)
	case now == "user.name":
		return os.Getenv("USER"), nil
	}
	return "${" + name + "}", nil
}

// environment is the value of NAME, of NAME-word (word when it is unset) or of NAME:-word (word
// when it is unset or empty).
func environment(text string) string {
	name, word, hasWord := strings.Cut(text, "-")
	name, emptyToo := strings.CutSuffix(name, ":")
	value, ok := os.LookupEnv(name)
	if hasWord && (!ok || emptyToo && value == "") {
		return word
	}
	return value
}
