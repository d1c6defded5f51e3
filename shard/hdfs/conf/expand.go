package conf

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

const (
	maxDepth      = 20      // references within references, as in Hadoop
	maxReferences = 10_000  // of one value, those within references included
	maxValue      = 1 << 20 // bytes of an expanded value
)

// expand replaces the references in a property's value. One that leads back to it is an error.
func (c *Conf) expand(name string) (string, error) {
	e := expansion{conf: c}
	return e.refer(name, c.values[name])
}

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

func (e *expansion) text(text string) (_ string, err error) {
	size := len(text)
	text = reference.ReplaceAllStringFunc(text, func(ref string) (value string) {
		if err == nil {
			value, err = e.value(ref[len("${") : len(ref)-len("}")])
		}
		size += len(value)
		if e.count++; err == nil && (e.count > maxReferences || size > maxValue) {
			err = fmt.Errorf("the value of %s has over %d references or %d bytes", e.above[0], maxReferences, maxValue)
		}
		return value
	})
	return text, err
}

// reference matches a reference from one value to another.
var reference = regexp.MustCompile(`\$\{[^${} ]*\}`)

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
