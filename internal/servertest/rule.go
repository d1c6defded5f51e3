package servertest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A Rule is one fault of an [HTTPProxy], for the requests that it matches. Its counts start when it
// is given to Use.
type Rule struct {
	Match  func(*http.Request) bool // nil: every GET of something below a bucket, or of a file: no listing
	Times  int                      // the number of first matches to affect; 0: all
	Chance float64                  // of each of those; 0: it is certain

	Request func(*http.Request)     // changes the request; the proxy of an S3 server signs it again
	Delay   time.Duration           // before the answer's first byte
	Answer  *Answer                 // instead of the server's
	Header  func(*http.Response)    // changes the head of the answer, whose body goes on as it is
	Body    func(b []byte) []byte   // changes the body, read whole; the announced length stays the old one
	Cut     func(length int64) bool // nil: no; whether an answer of this length is cut
	After   int64                   // bytes of the body after which it is cut or falls silent
	Reset   bool                    // the cut is a reset; else it is the end of the stream
	Stall   time.Duration           // how long the body falls silent; the client's going away ends it

	seen, struck atomic.Int64
}

// An Answer is a rule's response instead of the server's.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Struck is how many requests the rule has hurt.
func (r *Rule) Struck() int { return int(r.struck.Load()) }

// strikes reports whether the rule hurts this request; chance draws from [0, 1).
func (r *Rule) strikes(req *http.Request, chance func() float64) bool {
	match := r.Match
	if match == nil {
		match = isRead
	}
	if !match(req) {
		return false
	}
	n := r.seen.Add(1) - 1
	if r.Times > 0 && n >= int64(r.Times) || r.Chance > 0 && chance() >= r.Chance {
		return false
	}
	r.struck.Add(1)
	return true
}

// isRead matches the reading of objects: /bucket/key, or a file by WebHDFS.
func isRead(r *http.Request) bool {
	if strings.HasPrefix(r.URL.Path, "/webhdfs/") {
		return strings.EqualFold(r.URL.Query().Get("op"), "OPEN")
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return r.Method == http.MethodGet && bucket != "" && key != ""
}

// Listing matches the requests for a page of a listing.
func Listing(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Query().Has("list-type")
}

// Any matches every request.
func Any(*http.Request) bool { return true }

// Refusal is an S3 server's answer with an error, such as 503 and SlowDown.
func Refusal(status int, code, message string) *Answer {
	return &Answer{
		Status: status,
		Header: http.Header{"Content-Type": {"application/xml"}, "X-Amz-Request-Id": {"SERVERTEST0001"}},
		Body: `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + fmt.Sprintf(
			"<Error><Code>%s</Code><Message>%s</Message><RequestId>SERVERTEST0001</RequestId></Error>", code, message),
	}
}

// SlowDown refuses that share of the reads, as S3 does with whom it finds too quick.
func SlowDown(chance float64) *Rule {
	return &Rule{Chance: chance, Answer: Refusal(http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.")}
}

// ExpiredToken refuses every request from now on, as S3 does when a session has ended.
func ExpiredToken() *Rule {
	return &Rule{Match: Any, Answer: Refusal(http.StatusBadRequest, "ExpiredToken", "The provided token has expired.")}
}

// AccessDenied refuses the reads.
func AccessDenied() *Rule {
	return &Rule{Answer: Refusal(http.StatusForbidden, "AccessDenied", "Access Denied")}
}

// OtherRegion answers requests that are not signed for a region like S3 does for a bucket there,
// and signs the others for the server.
func OtherRegion(region string) []*Rule {
	answer := Refusal(http.StatusMovedPermanently, "PermanentRedirect", "The bucket you are attempting to access must be addressed using the specified endpoint.")
	answer.Header.Set("X-Amz-Bucket-Region", region)
	lies := func(r *http.Request) bool { return strings.Contains(r.Header.Get("Authorization"), "/"+region+"/s3/") }
	return []*Rule{
		{Match: func(r *http.Request) bool { return !lies(r) }, Answer: answer},
		{Match: lies, Request: func(*http.Request) {}},
	}
}

// CutBody ends the answers' bodies after some bytes.
func CutBody(after int64, byReset bool) *Rule {
	return &Rule{Cut: func(length int64) bool { return length > after }, After: after, Reset: byReset}
}

// StallBody lets the answers' bodies fall silent after some bytes.
func StallBody(after int64, silence time.Duration) *Rule { return &Rule{After: after, Stall: silence} }

// SlowFirstByte holds the answers back.
func SlowFirstByte(d time.Duration) *Rule { return &Rule{Delay: d} }

// WrongETag answers with the tag of another version, as a server does that ignores If-Match.
func WrongETag() *Rule {
	return &Rule{Header: func(r *http.Response) {
		r.Header.Set("ETag", `"00000000000000000000000000000000"`)
	}}
}

// WrongTotal answers with another size of the whole object.
func WrongTotal(by int64) *Rule {
	return &Rule{Header: func(r *http.Response) {
		span, total, ok := strings.Cut(r.Header.Get("Content-Range"), "/")
		if n, err := strconv.ParseInt(total, 10, 64); ok && err == nil {
			r.Header.Set("Content-Range", span+"/"+strconv.FormatInt(n+by, 10))
		}
	}}
}

// NoRange answers ranges with the whole object, as a server does that does not know them.
func NoRange() *Rule {
	return &Rule{Request: func(r *http.Request) { r.Header.Del("Range") }}
}

// NoIfMatch serves whatever version there is, as a server does that does not know If-Match.
func NoIfMatch() *Rule {
	return &Rule{Request: func(r *http.Request) { r.Header.Del("If-Match") }}
}
