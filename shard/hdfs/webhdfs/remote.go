package webhdfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

var errUnsupported = errors.New("the server has no such operation")

var errStandby = errors.New("the namenode is not active")

var errRange = errors.New("the file does not reach so far")

// A remoteError is an answer that reports a failure.
type remoteError struct {
	Status    int    // of HTTP
	Exception string // as StandbyException, or ""
	Message   string // one line
	host      string // that answered
}

func (e *remoteError) Error() string {
	what := e.Exception
	if what == "" {
		what = fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	}
	text := e.host + ": " + what
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

func parseRemote(host string, code int, body []byte) *remoteError {
	e := &remoteError{Status: code, host: host}
	var answer struct {
		RemoteException struct {
			Exception string `json:"exception"`
			Message   string `json:"message"`
		}
	}
	if json.Unmarshal(body, &answer) == nil {
		e.Exception = answer.RemoteException.Exception
		e.Message = oneLine(answer.RemoteException.Message)
	}
	return e
}

var secret = regexp.MustCompile(`((?:delegation|token|password)=)[^& \t,;"']*`)

// oneLine is the first line of a message, without a stack trace and without the values of tokens.
func oneLine(message string) string {
	message, _, _ = strings.Cut(message, "\n")
	message = secret.ReplaceAllString(message, "$1***")
	const most = 500
	if len(message) > most {
		message = message[:most] + "..."
	}
	return strings.TrimSpace(strings.ToValidUTF8(message, "?"))
}

// exceptions maps names of exceptions to errors.
var exceptions = map[string]error{
	"FileNotFoundException":          shard.ErrNotExist,
	"AccessControlException":         shard.ErrDenied,
	"SecurityException":              shard.ErrDenied,
	"AuthorizationException":         shard.ErrDenied,
	"AuthenticationException":        shard.ErrDenied,
	"InvalidToken":                   shard.ErrDenied,
	"StandbyException":               errStandby,
	"ObserverRetryOnActiveException": errStandby,
	"RetriableException":             shard.ErrTransient,
	"SafeModeException":              shard.ErrTransient,
	"RetryCacheException":            shard.ErrTransient,
	"ConnectException":               shard.ErrTransient, // a gateway or datanode that does not reach a namenode
	"NoRouteToHostException":         shard.ErrTransient,
	"SocketTimeoutException":         shard.ErrTransient,
	"SocketException":                shard.ErrTransient,
	"EOFException":                   shard.ErrTransient,
	"BlockMissingException":          shard.ErrTransient, // its datanodes may come back
	"ChecksumException":              shard.ErrCorrupt,
	"UnsupportedOperationException":  errUnsupported,
}

// Unwrap returns the kind of failure.
func (e *remoteError) Unwrap() error {
	if strings.Contains(e.Message, "StandbyException") || strings.Contains(e.Message, "Operation category READ is not supported in state standby") {
		return errStandby
	}
	if strings.Contains(e.Message, "out of the range") {
		return errRange
	}
	if e.Status == http.StatusBadRequest || e.Status == http.StatusNotImplemented || strings.Contains(e.Message, "not a valid GET operation") {
		return errUnsupported // each server says it in its own words
	}
	if kind, ok := exceptions[e.Exception]; ok {
		return kind
	}
	if strings.HasPrefix(e.Message, "No active nodes contain this block") || strings.Contains(e.Message, "Could not obtain block") ||
		strings.Contains(e.Message, "Failed to find datanode") {
		return shard.ErrTransient
	}
	switch {
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden && e.Exception == "":
		return shard.ErrDenied
	case e.Status == http.StatusNotFound && e.Exception == "":
		return errNoAPI
	case e.Status == http.StatusTooManyRequests, e.Status == http.StatusRequestTimeout, e.Status >= 500 && e.Status != http.StatusNotImplemented:
		return shard.ErrTransient
	}
	return nil
}

// errNoAPI is a web server that is not one of HDFS.
var errNoAPI = fmt.Errorf("%w: WebHDFS is not served there", shard.ErrBadURI)

func throttled(err error) bool {
	e, ok := errors.AsType[*remoteError](err)
	return ok && (e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests)
}

// passing reports whether the same request can go well later, or on another server.
func passing(err error) bool {
	return errors.Is(err, shard.ErrTransient) || errors.Is(err, errStandby)
}
