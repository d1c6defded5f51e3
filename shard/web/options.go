package web

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/shard/driver"
)

// Options configure the access to web servers. The zero value is ready for use.
type Options struct {
	Headers  http.Header // of each request to a server of an address, such as Authorization
	CABundle string      // file of certificates that servers are checked with besides the system's
	Proxy    string      // URL of an HTTP proxy; "": as HTTP_PROXY, HTTPS_PROXY and NO_PROXY say

	Protocol Protocol // of the servers of addresses; nil: Plain

	FirstRequests int           // in flight to each server until its answers say more or less; 0: 8
	MaxRequests   int           // in flight to each server; 0: 32
	PartSize      int64         // longest range of one request in bytes; 0: 16 MiB
	ReadTimeout   time.Duration // a request that brings no byte for so long is given up; 0: 20 s
	RetryFor      time.Duration // passing faults are tried again for so long without progress; 0: 60 s

	Waiting func(text string) // called when requests wait for a server that does not answer; may be nil
}

const (
	firstRequests      = 8 // few, since most web servers are small
	defaultRequests    = 32
	defaultPart        = 16 << 20
	defaultReadTimeout = 20 * time.Second
)

func (o Options) withDefaults() Options {
	o.FirstRequests = cmp.Or(o.FirstRequests, firstRequests)
	o.MaxRequests = cmp.Or(o.MaxRequests, defaultRequests)
	o.PartSize = cmp.Or(o.PartSize, defaultPart)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, defaultReadTimeout)
	o.RetryFor = cmp.Or(o.RetryFor, driver.DefaultRetryFor)
	if o.Protocol == nil {
		o.Protocol = Plain{}
	}
	return o
}

// headerOption is the start of the names of storage options for headers.
const headerOption = "http.header."

// Names and values of headers by RFC 9110.
var (
	headerName  = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	headerValue = regexp.MustCompile(`^[^\x00-\x08\x0a-\x1f\x7f]*$`)
)

// ParseOptions returns the options of storage options by their names: http.header.NAME, http.proxy
// and http.max-requests.
func ParseOptions(given map[string]string) (o Options, err error) {
	var errs []error
	for name, value := range given {
		header, isHeader := strings.CutPrefix(name, headerOption)
		switch {
		case isHeader && (!headerName.MatchString(header) || !headerValue.MatchString(value)):
			errs = append(errs, fmt.Errorf("%s: it is not a header of HTTP with a value", name))
		case isHeader:
			if o.Headers == nil {
				o.Headers = http.Header{}
			}
			o.Headers.Set(header, value)
		case name == "http.proxy":
			if u, err := url.Parse(value); err != nil || u.Host == "" {
				errs = append(errs, fmt.Errorf("%s: must be an address such as http://host:3128", name))
			}
			o.Proxy = value
		case name == "http.max-requests":
			if o.MaxRequests, err = strconv.Atoi(value); err != nil || o.MaxRequests < 1 {
				errs = append(errs, fmt.Errorf("%s: must be at least 1, got %q", name, value))
			}
		default:
			errs = append(errs, fmt.Errorf("%s: not an option of http; there are %sNAME, http.proxy and http.max-requests", name, headerOption))
		}
	}
	return o, errors.Join(errs...)
}
