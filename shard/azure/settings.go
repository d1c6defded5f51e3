package azure

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/cloud"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

// settings come from options and the environment.
type settings struct {
	account  string // of az:// addresses, or ""
	endpoint string // of its blobs, without a slash at the end; "": Azure's
	suffix   string // of Azure's hosts
	by       cloud.Signer
	source   string // of the credentials, in words
	forAll   bool   // the credentials are for all accounts, as tokens are
}

// The emulator's account and key are public: https://github.com/Azure/Azurite.
const (
	emulatorAccount  = "devstoreaccount1"
	emulatorKey      = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	emulatorEndpoint = "http://127.0.0.1:10000/" + emulatorAccount
)

// settings reads a connection string first, as it has an account and credentials.
func (o Options) settings() (s settings, err error) {
	if err := o.Validate(); err != nil {
		return s, fmt.Errorf("%w: %w", shard.ErrBadURI, err)
	}
	text, from := o.ConnectionString, "a connection string of the options"
	if text == "" && !o.given() {
		text, from = o.first("AZURE_STORAGE_CONNECTION_STRING"), "AZURE_STORAGE_CONNECTION_STRING"
	}
	if text != "" {
		if o, s.suffix, err = o.connected(text); err != nil {
			return s, err
		}
	}
	s.suffix = cmp.Or(s.suffix, "core.windows.net")
	s.account = cmp.Or(o.Account, o.first("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"))
	s.endpoint = strings.TrimRight(o.Endpoint, "/")
	if s.by, s.source, s.forAll, err = o.credentials(s.account); text != "" {
		s.source = from
	}
	return s, err
}

// given reports whether the options have credentials.
func (o Options) given() bool {
	return o.lent != nil || o.Key != "" || o.SAS != "" || o.AccessToken != "" || o.ClientSecret != "" || o.Anonymous
}

// connected returns the options with what a connection string has, and the suffix that it has of
// Azure's hosts, or "".
func (o Options) connected(text string) (_ Options, suffix string, err error) {
	values := map[string]string{}
	for part := range strings.SplitSeq(text, ";") {
		if name, value, found := strings.Cut(part, "="); found {
			values[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
		}
	}
	if strings.EqualFold(values["usedevelopmentstorage"], "true") {
		values = map[string]string{"accountname": emulatorAccount, "accountkey": emulatorKey, "blobendpoint": emulatorEndpoint}
	}
	endpoint := values["blobendpoint"]
	o.Account, o.Key, o.SAS, o.ConnectionString = values["accountname"], values["accountkey"], values["sharedaccesssignature"], ""
	if o.Account == "" && endpoint != "" {
		_, host, _ := strings.Cut(endpoint, "://")
		o.Account = place{host: host}.account()
	}
	o.Endpoint = cmp.Or(o.Endpoint, endpoint)
	switch {
	case o.Account == "" || o.Key == "" && o.SAS == "":
		return o, "", fmt.Errorf("%w: a connection string has AccountName, and AccountKey or SharedAccessSignature", shard.ErrBadURI)
	case endpoint != "" && !connect.IsURL(endpoint):
		return o, "", fmt.Errorf("%w: BlobEndpoint of the connection string is not an address", shard.ErrBadURI)
	}
	return o, values["endpointsuffix"], nil
}

// base returns the URL of the blobs of a place's account.
func (s settings) base(p place) (string, error) {
	own := p.host == "" || p.account() == s.account
	switch {
	case own && s.endpoint != "":
		return s.endpoint, nil
	case p.host == "" && s.account == "":
		return "", fmt.Errorf("%w: which account? give az.account_name or AZURE_STORAGE_ACCOUNT_NAME, or abfss://container@account.dfs.core.windows.net/path", shard.ErrBadURI)
	case p.host == "":
		return "https://" + s.account + ".blob." + s.suffix, nil
	case !own && !s.forAll && s.account != "":
		return "", fmt.Errorf("%w: the credentials are of account %q", shard.ErrDenied, s.account)
	}
	return "https://" + p.host, nil
}
