package hdfs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/hdfs/webhdfs"
)

// Options configure a Store. The zero value finds everything as Hadoop's own tools do.
type Options struct {
	ConfDir string            // directory of core-site.xml and hdfs-site.xml; "" asks HADOOP_CONF_DIR and HADOOP_HOME
	Conf    map[string]string // Hadoop's own keys (dfs.*, fs.*, hadoop.*), which override the directory's

	User      string // without Kerberos; "" means HADOOP_USER_NAME, then the operating system's user
	Principal string // Kerberos; "" takes the first of the keytab
	Keytab    string // file
	CCache    string // ticket cache, a file; "" asks KRB5CCNAME
	Krb5Conf  string // file; "" asks KRB5_CONFIG, then /etc/krb5.conf

	DataTransferProtection string // "authentication", "integrity" or "privacy"; "" asks the configuration
	UseDatanodeHostname    bool   // connect to datanodes by name, not by address; the configuration can set it too

	// AllowUnverified is the user's word to read natively what cannot be verified: over encrypted
	// transports, and blocks without checksums.
	AllowUnverified bool

	WebHDFS    string // namenode's HTTP address, as in http://host:9870; "" asks the configuration
	Delegation string // delegation token for WebHDFS
	TokenFile  string // file of such tokens; "" asks HADOOP_TOKEN_FILE_LOCATION
	CABundle   string // file of certificates that WebHDFS over TLS trusts, besides the system's
	Gateway    string // path of a gateway before /webhdfs/v1, as in /gateway/default
	Password   string // of User, for gateways that ask for one
	Proxy      string // URL of an HTTP proxy for WebHDFS; "" asks HTTP_PROXY, HTTPS_PROXY and NO_PROXY

	// DatanodeMap translates the addresses of datanodes that WebHDFS redirects to, as in
	// "dn1:9864=127.0.0.1:19864,dn2=10.0.0.2".
	DatanodeMap string

	Slots       int           // streams at a time, for one group of namenodes; 0: 16
	PartSize    int64         // bytes that one stream reads at most, so that a long range is read by several; 0: 32 MiB
	ReadTimeout time.Duration // how long a server may be silent; 0: 20 s
	RetryFor    time.Duration // how long a namenode may be out of reach; 0: 60 s
	IdleTimeout time.Duration // after which an unused slot is closed; 0: 15 s

	Getenv func(string) string // nil: os.Getenv
	Events Events
}

// Events report progress. Each may be nil, and is called from several goroutines.
type Events struct {
	Listed  func(n int)       // shards found so far by the list under way
	Warn    func(text string) // something that the user should know, once
	Waiting func(text string) // requests wait for a server that does not answer
}

// Defaults of Options.
const (
	defaultSlots       = 16
	defaultPartSize    = 32 << 20
	defaultReadTimeout = 20 * time.Second
	defaultIdleTimeout = 15 * time.Second
)

func (o Options) withDefaults() Options {
	o.Slots = cmp.Or(o.Slots, defaultSlots)
	o.PartSize = cmp.Or(o.PartSize, defaultPartSize)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, defaultReadTimeout)
	o.RetryFor = cmp.Or(o.RetryFor, driver.DefaultRetryFor)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, defaultIdleTimeout)
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return o
}

// Validate lists all that is wrong with the options in one error.
func (o Options) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(slices.Contains([]string{"", "authentication", "integrity", "privacy"}, o.DataTransferProtection),
		"hdfs.data_transfer_protection is %q, not authentication, integrity or privacy", o.DataTransferProtection)
	check(o.Keytab == "" || o.CCache == "", "hdfs.keytab and hdfs.ccache exclude each other")
	check(o.WebHDFS == "" || strings.HasPrefix(o.WebHDFS, "http://") || strings.HasPrefix(o.WebHDFS, "https://"),
		"hdfs.webhdfs is %q, not an address like http://namenode:9870", o.WebHDFS)
	proxy, err := url.Parse(o.Proxy)
	check(o.Proxy == "" || err == nil && proxy.Host != "" && slices.Contains([]string{"http", "https", "socks5"}, proxy.Scheme),
		"hdfs.proxy: the proxy must be a URL such as http://host:3128") // it may hold a password
	_, err = o.datanodeHost()
	check(err == nil, "hdfs.datanode_map: %w", err)
	check(o.Slots >= 0 && o.PartSize >= 0 && o.ReadTimeout >= 0 && o.RetryFor >= 0 && o.IdleTimeout >= 0,
		"sizes and times of hdfs options cannot be negative")
	return errors.Join(errs...)
}

// datanodeHost is how WebHDFS translates the addresses of datanodes; nil: not at all.
func (o Options) datanodeHost() (func(hostport string) string, error) {
	if o.DatanodeMap == "" {
		return nil, nil
	}
	return webhdfs.ParseDatanodeMap(o.DatanodeMap)
}

// option sets one field of Options from text.
type option func(o *Options, value string) error

// known are the keys of ParseOptions; kerb_ticket and user are fsspec's and pyarrow's names.
func known() map[string]option {
	return map[string]option{
		"hdfs.conf_dir":                 text(func(o *Options) *string { return &o.ConfDir }),
		"hdfs.user":                     text(func(o *Options) *string { return &o.User }),
		"hdfs.principal":                text(func(o *Options) *string { return &o.Principal }),
		"hdfs.keytab":                   text(func(o *Options) *string { return &o.Keytab }),
		"hdfs.ccache":                   text(func(o *Options) *string { return &o.CCache }),
		"hdfs.krb5_conf":                text(func(o *Options) *string { return &o.Krb5Conf }),
		"hdfs.data_transfer_protection": text(func(o *Options) *string { return &o.DataTransferProtection }),
		"hdfs.use_datanode_hostname":    truth(func(o *Options) *bool { return &o.UseDatanodeHostname }),
		"hdfs.allow_unverified":         truth(func(o *Options) *bool { return &o.AllowUnverified }),
		"hdfs.webhdfs":                  text(func(o *Options) *string { return &o.WebHDFS }),
		"hdfs.delegation":               text(func(o *Options) *string { return &o.Delegation }),
		"hdfs.token_file":               text(func(o *Options) *string { return &o.TokenFile }),
		"hdfs.ca_bundle":                text(func(o *Options) *string { return &o.CABundle }),
		"hdfs.gateway":                  text(func(o *Options) *string { return &o.Gateway }),
		"hdfs.password":                 text(func(o *Options) *string { return &o.Password }),
		"hdfs.proxy":                    text(func(o *Options) *string { return &o.Proxy }),
		"hdfs.datanode_map":             text(func(o *Options) *string { return &o.DatanodeMap }),
		"hdfs.slots":                    whole(func(o *Options) *int { return &o.Slots }),
		"hdfs.read_timeout":             duration(func(o *Options) *time.Duration { return &o.ReadTimeout }),
		"hdfs.retry_for":                duration(func(o *Options) *time.Duration { return &o.RetryFor }),
		"kerb_ticket":                   text(func(o *Options) *string { return &o.CCache }),
		"user":                          text(func(o *Options) *string { return &o.User }),
	}
}

// ParseOptions reads options from text, as flags and storage options give them. Keys of Hadoop's
// own (dfs.*, fs.*, hadoop.*) are laid over its configuration; any other key that is not known is
// an error that lists the known ones.
func ParseOptions(m map[string]string) (Options, error) {
	var o Options
	var errs []error
	keys := known()
	for _, key := range slices.Sorted(maps.Keys(m)) {
		set, ok := keys[key]
		switch {
		case ok:
			if err := set(&o, m[key]); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", key, err))
			}
		case hadoopKey(key):
			if o.Conf == nil {
				o.Conf = make(map[string]string)
			}
			o.Conf[key] = m[key]
		default:
			errs = append(errs, fmt.Errorf("unknown option %q; known are %s, and Hadoop's own keys (dfs.*, fs.*, hadoop.*)",
				key, strings.Join(slices.Sorted(maps.Keys(keys)), ", ")))
		}
	}
	if err := errors.Join(append(errs, o.Validate())...); err != nil {
		return Options{}, err
	}
	return o, nil
}

func hadoopKey(key string) bool {
	return strings.HasPrefix(key, "dfs.") || strings.HasPrefix(key, "fs.") || strings.HasPrefix(key, "hadoop.")
}

func text(field func(*Options) *string) option {
	return func(o *Options, value string) error {
		*field(o) = value
		return nil
	}
}

func truth(field func(*Options) *bool) option {
	return func(o *Options, value string) (err error) {
		if *field(o), err = strconv.ParseBool(strings.ToLower(value)); err != nil {
			return fmt.Errorf("must be true or false, got %q", value)
		}
		return nil
	}
}

func whole(field func(*Options) *int) option {
	return func(o *Options, value string) (err error) {
		if *field(o), err = strconv.Atoi(value); err != nil {
			return fmt.Errorf("must be a number, got %q", value)
		}
		return nil
	}
}

// duration reads "20s", or seconds.
func duration(field func(*Options) *time.Duration) option {
	return func(o *Options, value string) (err error) {
		if seconds, err := strconv.ParseFloat(value, 64); err == nil {
			*field(o) = time.Duration(seconds * float64(time.Second))
			return nil
		}
		if *field(o), err = time.ParseDuration(value); err != nil {
			return fmt.Errorf("must be a time such as 20s, got %q", value)
		}
		return nil
	}
}
