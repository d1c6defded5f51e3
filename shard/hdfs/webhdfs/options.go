package webhdfs

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"path"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/shard/hdfs/conf"
	"github.com/shardfeed/shardfeed/shard/hdfs/krb"
)

// Options say how servers are reached. The zero value is ready for use.
type Options struct {
	// Setup gives Hadoop's configuration and the source of Kerberos credentials, each may be nil.
	// It is called at the first use and may be called again; the store closes neither. nil: there
	// are none.
	Setup func() (*conf.Conf, *krb.Source, error)

	User       string // name without Kerberos; "": HADOOP_USER_NAME, else the process's user
	Password   string // of User, for gateways that ask for one (HTTP Basic)
	Delegation string // delegation token; "": from TokenFile, when that has one for the server
	TokenFile  string // "": the file that HADOOP_TOKEN_FILE_LOCATION names
	Gateway    string // path before /webhdfs/v1, as /gateway/default

	// DatanodeHost translates the host:port that a namenode redirects to; nil: as it is.
	DatanodeHost func(hostport string) string

	CABundle string // file of certificates that servers are checked with besides the system's
	Proxy    string // URL of an HTTP proxy; "": as HTTP_PROXY, HTTPS_PROXY and NO_PROXY say

	MaxRequests int           // in flight for each cluster; 0: 64
	PartSize    int64         // longest range of one request in bytes; 0: 16 MiB
	ReadTimeout time.Duration // a request that brings no byte for so long is given up; 0: 20 s
	RetryFor    time.Duration // passing faults are tried again for so long without progress; 0: 1 min, or 5 s: see defaultFirstContact

	Events Events
}

// Events tell what a store does. Each may be nil.
type Events struct {
	Listed func(n int) // shards found so far by the list under way
}

// Defaults of Options.
const (
	defaultRequests    = 64
	defaultPart        = 16 << 20
	defaultReadTimeout = 20 * time.Second
	defaultRetryFor    = time.Minute

	// defaultFirstContact is how long a lone server may refuse connections that has never answered:
	// a wrong port rather than a restart.
	defaultFirstContact = 5 * time.Second
)

func (o Options) withDefaults() Options {
	if o.Setup == nil {
		o.Setup = func() (*conf.Conf, *krb.Source, error) { return nil, nil, nil }
	}
	if o.MaxRequests == 0 {
		o.MaxRequests = defaultRequests
	}
	if o.PartSize == 0 {
		o.PartSize = defaultPart
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = defaultReadTimeout
	}
	if o.RetryFor == 0 {
		o.RetryFor = defaultRetryFor
	}
	if o.TokenFile == "" {
		o.TokenFile = os.Getenv("HADOOP_TOKEN_FILE_LOCATION")
	}
	if o.User == "" {
		o.User = defaultUser()
	}
	if o.Gateway != "" {
		o.Gateway = strings.TrimSuffix(path.Clean("/"+strings.TrimSuffix(strings.TrimRight(o.Gateway, "/"), apiRoot)), "/")
	}
	if o.Events.Listed == nil {
		o.Events.Listed = func(int) {}
	}
	return o
}

// defaultUser is the name that Hadoop takes for this process's.
func defaultUser() string {
	if name := os.Getenv("HADOOP_USER_NAME"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}

// Validate lists what is wrong with the options, in one error.
func (o Options) Validate() error {
	var errs []error
	if o.MaxRequests < 0 {
		errs = append(errs, fmt.Errorf("MaxRequests is %d", o.MaxRequests))
	}
	if o.PartSize < 0 {
		errs = append(errs, fmt.Errorf("PartSize is %d", o.PartSize))
	}
	if o.ReadTimeout < 0 || o.RetryFor < 0 {
		errs = append(errs, errors.New("times must be positive"))
	}
	if o.Proxy != "" {
		if u, err := url.Parse(o.Proxy); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" {
			errs = append(errs, errors.New("the proxy must be a URL such as http://host:3128"))
		}
	}
	return errors.Join(errs...)
}
