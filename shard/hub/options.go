package hub

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/internal/regular"
)

// Options configure the access to the hub. The zero value finds the settings of the hub's own
// client.
type Options struct {
	Token    string // "": HF_TOKEN, the file of HF_TOKEN_PATH, or the file token below HF_HOME
	Endpoint string // "": HF_ENDPOINT, else https://huggingface.co

	// Getenv looks up HF_TOKEN, HF_TOKEN_PATH, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE, HF_ENDPOINT,
	// XDG_CACHE_HOME, HOME and older names of these; nil is os.Getenv.
	Getenv func(name string) string

	CABundle string        // as of package web
	RetryFor time.Duration // as of package web

	Listed  func(n int)       // called with the shards found so far by the list under way; may be nil
	Waiting func(text string) // called when requests wait; may be nil
}

// ParseOptions returns the options of storage options by their names: hf.token and hf.endpoint.
func ParseOptions(given map[string]string) (o Options, err error) {
	var errs []error
	for name, value := range given {
		switch {
		case name == "hf.token" && value != "":
			o.Token = value
		case name == "hf.endpoint" && isURL(value):
			o.Endpoint = value
		case name == "hf.endpoint":
			errs = append(errs, fmt.Errorf("%s: must be an address such as https://hub.example, got %q", name, value))
		default:
			errs = append(errs, fmt.Errorf("%s: it is no option of the hub with a value; there are hf.token and hf.endpoint", name))
		}
	}
	return o, errors.Join(errs...)
}

func isURL(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}

// settings come from options and the environment.
type settings struct {
	endpoint string // without a slash at the end
	token    string // or ""
	cache    string // directory of the hub's own client
	offline  bool
}

func (o Options) settings() (s settings, err error) {
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	home := expanded(getenv, getenv("HF_HOME"))
	if home == "" {
		home = filepath.Join(cmp.Or(getenv("XDG_CACHE_HOME"), filepath.Join(getenv("HOME"), ".cache")), "huggingface")
	}
	s.endpoint = strings.TrimRight(cmp.Or(o.Endpoint, getenv("HF_ENDPOINT"), "https://huggingface.co"), "/")
	s.cache = expanded(getenv, cmp.Or(getenv("HF_HUB_CACHE"), getenv("HUGGINGFACE_HUB_CACHE"), filepath.Join(home, "hub")))
	s.offline = slices.Contains([]string{"1", "ON", "YES", "TRUE"}, strings.ToUpper(cmp.Or(getenv("HF_HUB_OFFLINE"), getenv("TRANSFORMERS_OFFLINE"))))
	if s.token = cmp.Or(o.Token, strings.TrimSpace(getenv("HF_TOKEN")), strings.TrimSpace(getenv("HUGGING_FACE_HUB_TOKEN"))); s.token != "" {
		return s, nil
	}
	content, err := regular.ReadFile(cmp.Or(expanded(getenv, getenv("HF_TOKEN_PATH")), filepath.Join(home, "token")))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("token of the hub: %w", err)
	}
	s.token = strings.TrimSpace(string(content))
	return s, nil
}

// expanded replaces ~ and $NAME in a path, as the hub's own client does.
func expanded(getenv func(name string) string, path string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		path = getenv("HOME") + path[1:]
	}
	return os.Expand(path, func(name string) string { return cmp.Or(getenv(name), "$"+name) })
}
