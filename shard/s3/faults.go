package s3

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/shardfeed/shardfeed/shard/driver"
)

// answerCode is the error code of a server's answer, "" without one. A HEAD's answer has no body,
// so its code is made from its status.
func answerCode(err error) string {
	if e := smithy.APIError(nil); errors.As(err, &e) {
		return e.ErrorCode()
	}
	return ""
}

// answerStatus is the HTTP status of a server's answer, 0 without one.
func answerStatus(err error) int {
	if e := answerOf(err); e != nil {
		return e.HTTPStatusCode()
	}
	return 0
}

// answerOf is the answer of a server that an error is about, or nil.
func answerOf(err error) *awshttp.ResponseError {
	if e, ok := errors.AsType[*awshttp.ResponseError](err); ok && e.Response != nil && e.Response.Response != nil {
		return e
	}
	return nil
}

func isAnswer(err error) bool { return answerStatus(err) != 0 }

func isThrottle(err error) bool {
	if answerStatus(err) == http.StatusTooManyRequests {
		return true
	}
	switch answerCode(err) {
	case "SlowDown", "SlowDownRead", "SlowDownWrite", "RequestLimitExceeded", "TooManyRequests", "TooManyRequestsException",
		"ServiceUnavailable", "BandwidthLimitExceeded", "ReducedRequestRate", "503":
		return true
	}
	return answerStatus(err) == http.StatusServiceUnavailable
}

// isExpired reports whether credentials were good once.
func isExpired(err error) bool {
	switch answerCode(err) {
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired":
		return true
	}
	return false
}

// isPassing reports whether a request that failed so may succeed when it is made again: what the
// SDK's standard retryer retries, without its quota (which ends in failure when a server is down
// for long), and what it never sees: faults within a body.
func isPassing(err error) bool {
	switch {
	case errors.Is(err, driver.ErrStalled), errors.Is(err, io.ErrUnexpectedEOF), isThrottle(err), isForeign(err):
		return true
	case isTrust(err), isUnknownHost(err), isNoIdentity(err), isPlain(err), errors.Is(err, errOptions):
		return false
	}
	if code := answerStatus(err); code >= 300 { // below, the answer was good, and what broke is its body
		return code >= 500 && code != http.StatusNotImplemented || code == http.StatusRequestTimeout || passingCode(answerCode(err))
	}
	if netErr := net.Error(nil); errors.As(err, &netErr) {
		return true
	}
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) {
		return true
	}
	return standard().IsErrorRetryable(err)
}

// errForeign is an answer that is not the store's: a proxy, a captive portal or a broken network
// made it. The next one may be right.
var errForeign = errors.New("the answer is not an S3 server's")

// errNoRanges is an answer with the whole object where a part was asked for.
var errNoRanges = fmt.Errorf("%w: the server does not serve ranges: it answered without Content-Range", errForeign)

// errUnlike is an answer about another version than a look at the object finds.
var errUnlike = fmt.Errorf("%w, or the object changes", errForeign)

// isLasting reports whether a foreign answer is more likely how a server is than a passing fault.
func isLasting(err error) bool { return errors.Is(err, errNoRanges) || errors.Is(err, errUnlike) }

func isForeign(err error) bool {
	var unreadable *smithy.DeserializationError
	return errors.Is(err, errForeign) || errors.As(err, &unreadable) && answerStatus(err) < 300
}

func passingCode(code string) bool {
	return code == "RequestTimeout" || code == "InternalError" || code == "OperationAborted"
}

func standard() *retry.Standard {
	return retry.NewStandard(func(o *retry.StandardOptions) { o.RateLimiter = ratelimit.None })
}

// isUnreachable reports whether the server, or the proxy, did not take the connection.
func isUnreachable(err error) bool {
	if op := (*net.OpError)(nil); errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect") {
		return true
	}
	return isUnknownHost(err)
}

// isUnknownHost reports whether a name has no address, rather than no answer for now.
func isUnknownHost(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return ok && dns.IsNotFound
}

// isTrust reports whether a server's certificate was refused.
func isTrust(err error) bool {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid)
}

// isPlain reports whether https was spoken to a server that speaks http.
func isPlain(err error) bool { return errors.Is(err, http.ErrSchemeMismatch) }

// isNoIdentity reports whether there are no credentials, or they could not be renewed.
func isNoIdentity(err error) bool {
	return errors.Is(err, errNoCredentials) || err != nil && strings.Contains(err.Error(), "get identity: get credentials")
}

// isMute reports whether a HEAD was refused without a reason, as expired credentials are.
func isMute(err error) bool {
	return answerStatus(err) == http.StatusBadRequest && (answerCode(err) == "BadRequest" || answerCode(err) == "")
}

// isArchived reports whether an object's storage class requires restoring it before a read.
func isArchived(err error) bool { return answerCode(err) == "InvalidObjectState" }

func isMissing(err error) bool {
	switch answerCode(err) {
	case "NoSuchKey", "NotFound", "NoSuchBucket", "NoSuchVersion", "NoSuchAccessPoint", "KeyTooLongError", "404":
		return true
	}
	return answerStatus(err) == http.StatusNotFound && !isUnknownKey(err)
}

// isUnknownKey reports whether the server does not know a key id; one server answers 404.
func isUnknownKey(err error) bool {
	return slices.Contains([]string{"InvalidAccessKeyId", "XAdminUserNotFound", "UnrecognizedClientException"}, answerCode(err))
}

// isBadToken reports whether a session token is not one of the key's.
func isBadToken(err error) bool { return answerCode(err) == "InvalidToken" }

func isDenied(err error) bool {
	status := answerStatus(err)
	return status == http.StatusForbidden || status == http.StatusUnauthorized || isUnknownKey(err) || isExpired(err) ||
		isBadToken(err) || answerCode(err) == "AccessDenied"
}

// isChanged reports whether If-Match did not match, or the range is no longer inside the object.
func isChanged(err error) bool {
	status := answerStatus(err)
	return status == http.StatusPreconditionFailed || status == http.StatusRequestedRangeNotSatisfiable
}

func isMoved(err error) bool {
	switch answerCode(err) {
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "MovedPermanently", "301":
		return true
	}
	return answerStatus(err) == http.StatusMovedPermanently
}

// regionText finds a region in an answer such as "the region 'us-east-1' is wrong; expecting
// 'eu-west-1'". Some servers have the other quotes.
var regionText = regexp.MustCompile(`expecting ['"]([a-z0-9-]{1,64})['"]`)

// regionIn is the region that an answer names as the bucket's, or "".
func regionIn(err error) string {
	if answer := answerOf(err); answer != nil && answer.Response.Header.Get("X-Amz-Bucket-Region") != "" {
		return answer.Response.Header.Get("X-Amz-Bucket-Region")
	}
	if e := smithy.APIError(nil); errors.As(err, &e) && isMoved(err) {
		if found := regionText.FindStringSubmatch(e.ErrorMessage()); found != nil {
			return found[1]
		}
	}
	return ""
}

func requestID(err error) string {
	if e := (*awshttp.ResponseError)(nil); errors.As(err, &e) {
		return strings.TrimSpace(e.RequestID)
	}
	return ""
}
