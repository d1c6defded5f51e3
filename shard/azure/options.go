package azure

import (
	"errors"
	"os"
	"time"

	"github.com/shardfeed/shardfeed/shard/cloud"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

// Options configure the access to containers. The zero value finds the settings that adlfs and
// Azure's own libraries find in the environment.
type Options struct {
	Account          string // of az:// addresses; "": AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT
	Key              string // of the account, in base64
	SAS              string // a shared access signature
	ConnectionString string // has the account, and a key or a signature
	Anonymous        bool   // public data, without credentials
	AccessToken      string // a token of OAuth

	// Who asks Entra for tokens, or which managed identity (ClientID).
	TenantID, ClientID, ClientSecret string

	Endpoint string // of the account's blobs, such as http://127.0.0.1:10000/devstoreaccount1; "": Azure's

	// Getenv looks up AZURE_*, IDENTITY_ENDPOINT, IDENTITY_HEADER, MSI_ENDPOINT and MSI_SECRET; nil
	// is os.Getenv.
	Getenv func(name string) string

	CABundle string        // as of package web
	Proxy    string        // as of package web
	RetryFor time.Duration // as of package web

	Listed  func(n int)       // called with the shards found so far by the list under way; may be nil
	Waiting func(text string) // called when requests wait; may be nil

	lent cloud.Signer // by borrowed credentials, instead of all others
}

// setters are the storage options by their names.
var setters = map[string]func(o *Options, value string) error{
	"az.account_name":      func(o *Options, v string) error { o.Account = v; return nil },
	"az.account_key":       func(o *Options, v string) error { o.Key = v; return nil },
	"az.sas_token":         func(o *Options, v string) error { o.SAS = v; return nil },
	"az.connection_string": func(o *Options, v string) error { o.ConnectionString = v; return nil },
	"az.anonymous":         func(o *Options, v string) (err error) { o.Anonymous, err = cloud.ParseBool(v); return err },
	"az.access_token":      func(o *Options, v string) error { o.AccessToken = v; return nil },
	"az.tenant_id":         func(o *Options, v string) error { o.TenantID = v; return nil },
	"az.client_id":         func(o *Options, v string) error { o.ClientID = v; return nil },
	"az.client_secret":     func(o *Options, v string) error { o.ClientSecret = v; return nil },
	"az.endpoint":          func(o *Options, v string) error { o.Endpoint = v; return nil },
	"az.proxy":             func(o *Options, v string) error { o.Proxy = v; return nil },
}

// aliases are the names of adlfs, pyarrow and object_store.
var aliases = map[string]string{
	"az.account": "az.account_name", "az.anon": "az.anonymous", "az.sas_key": "az.sas_token", "az.account_url": "az.endpoint", "az.key": "az.account_key",
}

// ParseOptions returns the options of storage options by their names, as az.account_name.
func ParseOptions(given map[string]string) (Options, error) {
	return cloud.ParseOptions("az", setters, aliases, given)
}

// Validate lists everything that is wrong with the options in one error.
func (o Options) Validate() error {
	var errs []error
	if o.Endpoint != "" && !connect.IsURL(o.Endpoint) {
		errs = append(errs, errors.New("az.endpoint: must be an address such as http://127.0.0.1:10000/devstoreaccount1"))
	}
	if o.Proxy != "" && !connect.IsURL(o.Proxy) {
		errs = append(errs, errors.New("az.proxy: must be an address such as http://host:3128"))
	}
	given := 0
	for _, is := range []bool{o.Key != "", o.SAS != "", o.ConnectionString != "", o.Anonymous, o.AccessToken != "", o.ClientSecret != ""} {
		if is {
			given++
		}
	}
	if given > 1 {
		errs = append(errs, errors.New("az.account_key, az.sas_token, az.connection_string, az.access_token, az.client_secret, az.anonymous: give one of them"))
	}
	if o.ClientSecret != "" && (o.TenantID == "" || o.ClientID == "") {
		errs = append(errs, errors.New("az.client_secret: comes with az.tenant_id and az.client_id"))
	}
	return errors.Join(errs...)
}

// first returns the first variable that is set.
func (o Options) first(names ...string) string {
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	for _, name := range names {
		if value := getenv(name); value != "" {
			return value
		}
	}
	return ""
}
