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

// ErrConfig is what every error of this package wraps, for errors.Is.
var ErrConfig = errors.New("configuration of Hadoop")

// A Conf is what the files of a configuration say. The zero value says nothing, so that all
// defaults hold.
type Conf struct {
	dir    string // where it was read, or ""
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

// Find returns the directory that holds the configuration of a client, by what the environment
// says: HADOOP_CONF_DIR, else etc/hadoop or conf in HADOOP_HOME; "" when there is none. A
// HADOOP_CONF_DIR is taken at its word, so that Load says what is wrong with it.
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

// New returns a configuration that says what values do.
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

// Get returns a property's value, or "" when it has none.
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
