package webhdfs

import (
	"cmp"
	"os"
	"os/user"
	"path"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/hdfs/conf"
	"github.com/shardfeed/shardfeed/shard/hdfs/krb"
)

// Options configure the connection to servers. The zero value is ready for use. Package hdfs
// derives them from its own options, which it has validated.
type Options struct {
	// Setup returns Hadoop's configuration and the source of Kerberos credentials, each possibly
	// nil. It is called at the first use and may be called again; the store closes neither. Without
	// Setup both are nil.
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
	RetryFor    time.Duration // passing faults are tried again for so long without progress; 0: 60 s

	Listed  func(n int)       // called with the shards found so far by the list under way; may be nil
	Waiting func(text string) // called when requests wait for a server that does not answer; may be nil
}

// Defaults of Options.
const (
	defaultRequests    = 64
	defaultPart        = 16 << 20
	defaultReadTimeout = 20 * time.Second
)

func (o Options) withDefaults() Options {
	if o.Setup == nil {
		o.Setup = func() (*conf.Conf, *krb.Source, error) { return nil, nil, nil }
	}
	o.MaxRequests = cmp.Or(o.MaxRequests, defaultRequests)
	o.PartSize = cmp.Or(o.PartSize, defaultPart)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, defaultReadTimeout)
	o.RetryFor = cmp.Or(o.RetryFor, driver.DefaultRetryFor)
	o.TokenFile = cmp.Or(o.TokenFile, os.Getenv("HADOOP_TOKEN_FILE_LOCATION"))
	if o.User == "" {
		o.User = defaultUser()
	}
	if o.Gateway != "" {
		o.Gateway = strings.TrimSuffix(path.Clean("/"+strings.TrimSuffix(strings.TrimRight(o.Gateway, "/"), apiRoot)), "/")
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
