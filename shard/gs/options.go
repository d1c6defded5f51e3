package gs

import (
	"errors"
	"os"
	"time"

	"github.com/shardfeed/shardfeed/shard/cloud"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

// Options configure the access to buckets. The zero value finds the credentials that Google's own
// libraries find.
type Options struct {
	// Token chooses the credentials, as gcsfs does: "anon", "google_default" (as ""), "cloud" (the
	// metadata server), the path of a file of credentials, or its content.
	Token       string
	AccessToken string // a token of OAuth, instead of credentials
	Anonymous   bool   // public data, without credentials
	Endpoint    string // "": STORAGE_EMULATOR_HOST, else https://storage.googleapis.com
	UserProject string // project to charge for requests, "": the bucket's

	// Getenv looks up GOOGLE_APPLICATION_CREDENTIALS, CLOUDSDK_CONFIG, STORAGE_EMULATOR_HOST,
	// GCE_METADATA_HOST and HOME; nil is os.Getenv.
	Getenv func(name string) string

	CABundle string        // as of package web
	Proxy    string        // as of package web
	RetryFor time.Duration // as of package web

	Listed  func(n int)       // called with the shards found so far by the list under way; may be nil
	Waiting func(text string) // called when requests wait; may be nil

	lent cloud.Fetch // of borrowed tokens, instead of all other credentials
}

// setters are the storage options by their names.
var setters = map[string]func(o *Options, value string) error{
	"gs.token":        func(o *Options, v string) error { o.Token = v; return nil },
	"gs.access_token": func(o *Options, v string) error { o.AccessToken = v; return nil },
	"gs.anonymous":    func(o *Options, v string) (err error) { o.Anonymous, err = cloud.ParseBool(v); return err },
	"gs.endpoint":     func(o *Options, v string) error { o.Endpoint = v; return nil },
	"gs.user_project": func(o *Options, v string) error { o.UserProject = v; return nil },
	"gs.proxy":        func(o *Options, v string) error { o.Proxy = v; return nil },
}

// aliases are the names of gcsfs and pyarrow.
var aliases = map[string]string{
	"gs.anon": "gs.anonymous", "gs.endpoint_url": "gs.endpoint", "gs.endpoint_override": "gs.endpoint", "gs.requester_pays": "gs.user_project",
}

// ParseOptions returns the options of storage options by their names, as gs.token.
func ParseOptions(given map[string]string) (Options, error) {
	return cloud.ParseOptions("gs", setters, aliases, given)
}

// Validate lists everything that is wrong with the options in one error.
func (o Options) Validate() error {
	var errs []error
	if o.Endpoint != "" && !connect.IsURL(o.Endpoint) {
		errs = append(errs, errors.New("gs.endpoint: must be an address such as http://localhost:4443"))
	}
	if o.Proxy != "" && !connect.IsURL(o.Proxy) {
		errs = append(errs, errors.New("gs.proxy: must be an address such as http://host:3128"))
	}
	if o.AccessToken != "" && o.Token != "" || o.Anonymous && (o.AccessToken != "" || o.Token != "" && o.Token != anonymous) {
		errs = append(errs, errors.New("gs.token, gs.access_token, gs.anonymous: give one of them"))
	}
	return errors.Join(errs...)
}

func (o Options) getenv(name string) string {
	if o.Getenv == nil {
		return os.Getenv(name)
	}
	return o.Getenv(name)
}

// emulator returns the address that STORAGE_EMULATOR_HOST names, or "".
func (o Options) emulator() string {
	host := o.getenv("STORAGE_EMULATOR_HOST")
	if host == "" || connect.IsURL(host) {
		return host
	}
	return "http://" + host
}
