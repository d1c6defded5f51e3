package s3

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/shardfeed/shardfeed/shard/driver"
)

// Options configure the access to buckets. The zero value uses the settings of the AWS tools: the
// environment, profiles, the machine's role.
type Options struct {
	EndpointURL string // of a server that is not AWS; "" asks AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL and the profile, then AWS
	Region      string // "" asks the environment and the profile, then the bucket
	Profile     string // "" is AWS_PROFILE, or the default one
	Anonymous   bool   // requests are not signed: public data

	Key, Secret, Token string // credentials, instead of looking for some

	// PathStyle puts the bucket into the path of a request instead of its host name. Nil does that
	// where an endpoint is set.
	PathStyle     *bool
	RequesterPays bool   // the requests are charged to the caller
	CABundle      string // file of certificates to trust, in PEM; "" is AWS_CA_BUNDLE, or the system's
	Proxy         string // address of an HTTP proxy; "" asks HTTPS_PROXY and its like

	// Environ is the environment that credentials, profiles, region and endpoint are looked for in,
	// by name: AWS_* and HOME. A credential_process runs with these variables and the process's
	// others. Nil is the environment of the process.
	Environ map[string]string

	MaxRequests int           // requests in flight to one endpoint at most; 0 is 128
	PartSize    int64         // bytes that one request reads at most; 0 is 16 MiB. Longer runs are cut evenly
	ReadTimeout time.Duration // without a byte, after which a request is given up and made again; 0 is 20 s
	HedgeAfter  time.Duration // without an answer, after which a request is made a second time, or later where answers are slow; 0 is 2 s
	RetryFor    time.Duration // how long a request is made again without progress, lists and looks included; 0 is 60 s

	Events Events

	lender *lender // of borrowed credentials, instead of all others
}

// Events report the actions of a store. Nil functions are not called; the others may be called from
// several goroutines.
type Events struct {
	Listed  func(n int)       // shards found so far by the list under way
	Waiting func(text string) // a server does not answer, and requests wait for it
}

// The defaults, and what is allowed.
const (
	defaultMaxRequests = 128
	startRequests      = 64 // until the server's answers say more or less
	leastRequests      = 2
	maxMaxRequests     = 4096
	defaultPartSize    = 16 << 20
	minPartSize        = 64 << 10
	maxPartSize        = 1 << 30
	defaultReadTimeout = 20 * time.Second
	defaultHedgeAfter  = 2 * time.Second
)

// withDefaults fills in what is not set and what neither environment nor profiles can say.
func (o Options) withDefaults() Options {
	o.MaxRequests = cmp.Or(o.MaxRequests, defaultMaxRequests)
	o.PartSize = cmp.Or(o.PartSize, defaultPartSize)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, defaultReadTimeout)
	o.HedgeAfter = cmp.Or(o.HedgeAfter, defaultHedgeAfter)
	o.RetryFor = cmp.Or(o.RetryFor, driver.DefaultRetryFor)
	return o
}

// Validate lists everything that is wrong with the options in one error.
func (o Options) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check((o.Key == "") == (o.Secret == ""), "credentials: key and secret come together")
	check(o.Token == "" || o.Key != "", "credentials: a token comes with a key and a secret")
	check(!o.Anonymous || o.Key == "", "credentials: anonymous requests take no credentials")
	check(!o.Anonymous || !o.RequesterPays, "credentials: anonymous requests cannot be charged, so the requester cannot pay")
	check(o.EndpointURL == "" || isURL(o.EndpointURL), "endpoint: must be an address such as https://host:9000, got %q", redactURL(o.EndpointURL))
	check(o.Proxy == "" || isURL(o.Proxy), "proxy: must be an address such as http://host:3128, got %q", redactURL(o.Proxy))
	check(o.MaxRequests >= 0 && o.MaxRequests <= maxMaxRequests, "requests in flight: must be 1 to %d, got %d", maxMaxRequests, o.MaxRequests)
	check(o.PartSize == 0 || o.PartSize >= minPartSize && o.PartSize <= maxPartSize, "part size: must be %d to %d bytes, got %d", minPartSize,
		maxPartSize, o.PartSize)
	check(o.ReadTimeout >= 0, "read timeout: must be positive, got %v", o.ReadTimeout)
	check(o.HedgeAfter >= 0, "hedge: must be positive, got %v", o.HedgeAfter)
	check(o.RetryFor >= 0, "retry for: must be positive, got %v", o.RetryFor)
	return errors.Join(errs...)
}

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// redactURL returns an address for messages, without the part before its host.
func redactURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "(not shown)"
	case u.User != nil:
		u.User = url.User("***")
	}
	u.RawQuery = ""
	return u.String()
}
