package cloud

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ParseOptions returns the options of storage options by their names, which setters and aliases
// list. Values are never part of an error: they can be secrets.
func ParseOptions[O interface{ Validate() error }](driver string, setters map[string]func(o *O, value string) error, aliases, given map[string]string) (o O, err error) {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		set, known := setters[cmp.Or(aliases[name], name)]
		if !known {
			errs = append(errs, fmt.Errorf("%s: not an option of %s; there are %s", name, driver, strings.Join(slices.Sorted(maps.Keys(setters)), ", ")))
			continue
		}
		if err := set(&o, given[name]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return o, errors.Join(append(errs, o.Validate())...)
}

// ParseBool reads the value of an option.
func ParseBool(value string) (bool, error) {
	b, err := strconv.ParseBool(strings.ToLower(value))
	if err != nil {
		return false, errors.New("must be true or false")
	}
	return b, nil
}
