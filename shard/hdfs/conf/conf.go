package conf

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrConfig is wrapped by every error of this package, for errors.Is.
var ErrConfig = errors.New("configuration of Hadoop")

// A Conf holds the properties of a configuration. The zero value has none, so all defaults apply.
type Conf struct {
	dir    string // directory of the files, or ""
	values map[string]string
	finals map[string]bool
}

// deprecated are old names of properties that matter to a reader of files.
var deprecated = map[string]string{
	"fs.default.name":                                 "fs.defaultFS",
	"dfs.federation.nameservices":                     "dfs.nameservices",
	"dfs.federation.nameservice.id":                   "dfs.nameservice.id",
	"dfs.http.address":                                "dfs.namenode.http-address",
	"dfs.https.address":                               "dfs.namenode.https-address",
	"dfs.namenode.kerberos.internal.spnego.principal": "dfs.web.authentication.kerberos.principal",
}

func canonical(name string) string {
	name = strings.TrimSpace(name)
	if now, ok := deprecated[name]; ok {
		return now
	}
	return name
}

// Find returns the directory of a client's configuration by its environment: HADOOP_CONF_DIR, else
// etc/hadoop or conf in HADOOP_HOME, or "" if neither exists. HADOOP_CONF_DIR is not checked, so
// that Load can report what is wrong with it.
func Find(env func(string) string) string {
	if dir := env("HADOOP_CONF_DIR"); dir != "" {
		return dir
	}
	home := env("HADOOP_HOME")
	if home == "" {
		return ""
	}
	for _, dir := range []string{filepath.Join(home, "etc", "hadoop"), filepath.Join(home, "conf")} {
		for _, site := range sites {
			if _, err := os.Stat(filepath.Join(dir, site)); err == nil {
				return dir
			}
		}
	}
	return ""
}

// New returns a configuration with the given values.
func New(values map[string]string) *Conf { return (&Conf{}).With(values) }

// With returns a configuration in which values, given by the user, win over what the files say,
// final or not.
func (c *Conf) With(values map[string]string) *Conf {
	all := maps.Clone(c.values)
	if all == nil {
		all = make(map[string]string, len(values))
	}
	for name, value := range values {
		all[canonical(name)] = strings.TrimSpace(value)
	}
	return &Conf{dir: c.dir, values: all}
}

// Dir is the directory that the configuration was read from, or "".
func (c *Conf) Dir() string { return c.dir }

// Get returns a property's value, or "" without one.
func (c *Conf) Get(name string) string {
	value, _ := c.expand(canonical(name)) // Load refused what cannot be expanded
	return value
}

// Bool returns a property that is true or false, or byDefault when it is neither.
func (c *Conf) Bool(name string, byDefault bool) bool {
	switch strings.ToLower(c.Get(name)) {
	case "true":
		return true
	case "false":
		return false
	}
	return byDefault
}

func (c *Conf) list(name string) []string {
	words := strings.FieldsFunc(c.Get(name), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r' })
	return slices.Clip(words)
}

func (c *Conf) wrong(format string, args ...any) error {
	where := ""
	if c.dir != "" {
		where = " in " + c.dir
	}
	return fmt.Errorf("%w%s: %w", ErrConfig, where, fmt.Errorf(format, args...))
}
