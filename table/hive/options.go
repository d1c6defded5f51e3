package hive

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/shard/hdfs/krb"
)

// Options are for the connection to a metastore. The zero value is one without TLS.
type Options struct {
	TLS      bool
	CABundle string        // file of certificates that servers are checked with besides the system's
	Timeout  time.Duration // for an answer; 0: a minute for the first, then 10, as Hive's own clients have

	Kerberos  bool                     // the metastore wants it (SASL)
	Principal string                   // of the metastore, with _HOST for its host; "": hive/_HOST
	Login     krb.Options              // who asks, as of package krb
	Getenv    func(name string) string // looks up KRB5CCNAME and others; nil is os.Getenv
}

const (
	defaultTimeout = 10 * time.Minute
	firstTimeout   = time.Minute // for the first answer of a connection
	dialTimeout    = 20 * time.Second
)

// Options of text, by the names of Hive's configuration.
const (
	useTLS   = "hive.metastore.use.SSL"
	timeout  = "hive.metastore.client.socket.timeout"
	useSASL  = "hive.metastore.sasl.enabled"
	caBundle = "hive.ca_bundle"
	service  = "hive.metastore.kerberos.principal"
	keytab   = "hive.keytab"
	user     = "hive.principal"
	ccache   = "hive.ccache"
	krb5Conf = "hive.krb5_conf"
)

var settings = map[string]func(o *Options, value string) error{
	useTLS: func(o *Options, value string) (err error) {
		o.TLS, err = truth(value)
		return err
	},
	useSASL: func(o *Options, value string) (err error) {
		o.Kerberos, err = truth(value)
		return err
	},
	service:  func(o *Options, value string) error { o.Principal = value; return nil },
	keytab:   func(o *Options, value string) error { o.Login.Keytab = value; return nil },
	user:     func(o *Options, value string) error { o.Login.Principal = value; return nil },
	ccache:   func(o *Options, value string) error { o.Login.CCache = value; return nil },
	krb5Conf: func(o *Options, value string) error { o.Login.Config = value; return nil },
	caBundle: func(o *Options, value string) error {
		o.CABundle = value
		return nil
	},
	timeout: func(o *Options, value string) (err error) {
		if seconds, isNumber := strconv.ParseUint(value, 10, 31); isNumber == nil {
			o.Timeout = time.Duration(seconds) * time.Second
			return nil
		}
		if o.Timeout, err = time.ParseDuration(value); err != nil || o.Timeout <= 0 {
			return fmt.Errorf("must be a time such as 600s, got %q", value)
		}
		return nil
	},
}

// ParseOptions returns the options of storage options by their names.
func ParseOptions(given map[string]string) (o Options, err error) {
	var errs []error
	names := slices.Sorted(maps.Keys(settings))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		set := settings[name]
		if set == nil {
			errs = append(errs, fmt.Errorf("%s: it is not an option of Hive metastores%s", name, option.Near(name, slices.Values(names), names)))
			continue
		}
		if err := set(&o, given[name]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return o, errors.Join(errs...)
}

func truth(value string) (bool, error) {
	on, err := strconv.ParseBool(strings.ToLower(value))
	if err != nil {
		return false, fmt.Errorf("must be true or false, got %q", value)
	}
	return on, nil
}

// tls returns the configuration of connections to a host.
func (o Options) tls(host string) (*tls.Config, error) {
	c := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if o.CABundle == "" {
		return c, nil
	}
	pem, err := regular.ReadFile(o.CABundle)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", caBundle, err)
	}
	if c.RootCAs, err = x509.SystemCertPool(); err != nil {
		c.RootCAs = x509.NewCertPool()
	}
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: %s has no certificate", caBundle, o.CABundle)
	}
	return c, nil
}
