package rest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/regular"
)

// Options find catalogs. The zero value finds the settings of pyiceberg.
type Options struct {
	// Properties come first, by pyiceberg's names: uri, warehouse, credential, token and others.
	Properties map[string]string

	// Getenv looks up PYICEBERG_CATALOG__NAME__PROPERTY, PYICEBERG_HOME, HOME and AWS_*; nil is
	// os.Getenv. Environ lists the variables as NAME=VALUE; nil is os.Environ.
	Getenv  func(name string) string
	Environ func() []string

	CABundle string // file of certificates that servers are checked with besides the system's
}

// known are the properties that options may set.
var known = []string{
	"uri", "warehouse", "prefix", "credential", "token", "scope", "oauth2-server-uri", "audience", "resource",
	"rest.sigv4-enabled", "rest.signing-region", "rest.signing-name",
}

const optionPrefix, headerPrefix = "iceberg.", "header."

// ParseOptions returns the options of storage options by their names, such as iceberg.uri.
func ParseOptions(given map[string]string) (o Options, err error) {
	var errs []error
	for name, value := range given {
		property := strings.TrimPrefix(name, optionPrefix)
		if value == "" || !slices.Contains(known, property) && !strings.HasPrefix(property, headerPrefix) {
			near := option.Near(property, slices.Values(known), known)
			errs = append(errs, fmt.Errorf("%s: it is not an option of Iceberg catalogs with a value%s", name, near))
			continue
		}
		if o.Properties == nil {
			o.Properties = make(map[string]string)
		}
		o.Properties[property] = value
	}
	return o, errors.Join(errs...)
}

func (o Options) getenv() func(string) string {
	if o.Getenv == nil {
		return os.Getenv
	}
	return o.Getenv
}

// properties of a catalog: of the options, else of the environment, else of pyiceberg's file.
func (o Options) properties(catalog string) (map[string]string, error) {
	getenv, environ := o.getenv(), o.Environ
	if environ == nil {
		environ = os.Environ
	}
	all, err := ofFile(getenv, catalog)
	if err != nil {
		return nil, err
	}
	prefix := "PYICEBERG_CATALOG__" + strings.ToUpper(catalog) + "__"
	for _, line := range environ() {
		name, value, _ := strings.Cut(line, "=")
		if property, ok := strings.CutPrefix(strings.ToUpper(name), prefix); ok {
			property = strings.ReplaceAll(strings.ToLower(property), "__", ".")
			all[strings.ReplaceAll(property, "_", "-")] = value
		}
	}
	for property, value := range o.Properties {
		all[property] = value
	}
	if all["uri"] == "" {
		return nil, fmt.Errorf("the catalog %q has no uri: set the storage option iceberg.uri, %sURI, or catalog.%s.uri in ~/.pyiceberg.yaml",
			catalog, prefix, catalog)
	}
	if kind := all["type"]; kind != "" && kind != "rest" {
		return nil, fmt.Errorf("the catalog %q is of type %s, and only catalogs of type rest can be read", catalog, kind)
	}
	return all, nil
}

// ofFile returns the properties of a catalog in the first .pyiceberg.yaml that exists.
func ofFile(getenv func(string) string, catalog string) (map[string]string, error) {
	for _, dir := range []string{getenv("PYICEBERG_HOME"), getenv("HOME"), "."} {
		if dir == "" {
			continue
		}
		path := filepath.Join(dir, ".pyiceberg.yaml")
		content, err := regular.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all, err := parseYAML(string(content), "catalog", catalog)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return all, nil
	}
	return map[string]string{}, nil
}

// parseYAML returns the scalars below a path of keys. It reads block mappings of plain and quoted
// scalars, and refuses other YAML.
func parseYAML(content string, path ...string) (map[string]string, error) {
	type level struct {
		indent int
		key    string
	}
	var open []level
	all := map[string]string{}
	for i, line := range strings.Split(content, "\n") {
		text := strings.TrimLeft(strings.TrimRight(line, " \r"), " ")
		if text == "" || text[0] == '#' || text == "---" {
			continue
		}
		indent := strings.IndexFunc(line, func(r rune) bool { return r != ' ' })
		for len(open) > 0 && open[len(open)-1].indent >= indent {
			open = open[:len(open)-1]
		}
		key, value, found := strings.Cut(text, ":")
		if !found || strings.HasPrefix(text, "- ") || text[0] == '\t' || value != "" && value[0] != ' ' {
			return nil, fmt.Errorf("line %d is not a key and a value", i+1)
		}
		open = append(open, level{indent, scalar(key)})
		value = scalar(value)
		within := len(open) == len(path)+1
		for j, k := range path {
			within = within && j < len(open) && strings.EqualFold(open[j].key, k)
		}
		if within && value != "" {
			all[open[len(path)].key] = value
		}
	}
	return all, nil
}

// scalar is a value without quotes and without a comment behind it.
func scalar(text string) string {
	text = strings.TrimSpace(text)
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		inner, _, _ := strings.Cut(text[1:], text[:1])
		return inner
	}
	before, _, _ := strings.Cut(text, " #")
	return strings.TrimSpace(before)
}
