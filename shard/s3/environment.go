package s3

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// swapping is held while the process has the environment of one store: the SDK reads that of the process and of nobody else.
var swapping sync.Mutex

// inEnvironment does what reads the environment with the one that the options give. What is not the SDK's stays as it is.
func (o Options) inEnvironment(do func() error) error {
	if o.Environ == nil {
		return do()
	}
	swapping.Lock()
	defer swapping.Unlock()
	for name, value := range o.foreign() {
		old, had := os.LookupEnv(name)
		set(name, value)
		defer func() {
			if had {
				_ = os.Setenv(name, old) // it was valid before
			} else {
				_ = os.Unsetenv(name)
			}
		}()
	}
	return do()
}

// set sets a variable, or takes it away where it is empty, which the SDK does not tell apart. A name that the system refuses has no meaning
// for the SDK.
func set(name, value string) {
	if value == "" {
		_ = os.Unsetenv(name)
		return
	}
	_ = os.Setenv(name, value)
}

// foreign are the variables of the SDK in which the environments differ, and their values.
func (o Options) foreign() map[string]string {
	wanted := maps.Clone(o.Environ)
	if home := wanted["HOME"]; home != os.Getenv("HOME") { // the SDK has looked for it when the process began
		for variable, file := range map[string]string{"AWS_CONFIG_FILE": "config", "AWS_SHARED_CREDENTIALS_FILE": "credentials"} {
			wanted[variable] = cmp.Or(wanted[variable], filepath.Join(home, ".aws", file))
		}
	}
	differ := map[string]string{}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if ofSDK(name) && wanted[name] != value {
			differ[name] = wanted[name]
		}
	}
	for name, value := range wanted {
		if ofSDK(name) && os.Getenv(name) != value {
			differ[name] = value
		}
	}
	return differ
}

// ofSDK reports whether the SDK reads a variable: its own, and where the profiles are.
func ofSDK(name string) bool { return strings.HasPrefix(name, "AWS_") || name == "HOME" }
