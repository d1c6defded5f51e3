package web

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"strings"
)

// maxReason bounds the text of a failure that is read.
const maxReason = 64 << 10

// maxText bounds a reason in plain text.
const maxText = 300

// reason returns the code and the message of a failure: of headers, as the hub and Azure have them,
// else of a document of XML, as buckets send them, or of JSON or plain text, as Google does.
func reason(answer *http.Response) (code, text string) {
	head := answer.Header
	if code = head.Get("X-Error-Code"); code != "" || head.Get("X-Error-Message") != "" {
		return code, head.Get("X-Error-Message")
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxReason))
	if err != nil {
		body = nil
	}
	switch kind := head.Get("Content-Type"); {
	case strings.Contains(kind, "xml"):
		code, text = reasonOfXML(body)
	case strings.Contains(kind, "json"):
		code, text = reasonOfJSON(body)
	case strings.HasPrefix(kind, "text/plain"):
		text = string(body[:min(len(body), maxText)])
	}
	if own := head.Get("X-Ms-Error-Code"); own != "" {
		code = own
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n") // Azure adds the request and the time
	return code, strings.TrimSpace(text)
}

func reasonOfXML(body []byte) (code, text string) {
	var e struct {
		XMLName       xml.Name `xml:"Error"`
		Code, Message string
	}
	if xml.Unmarshal(body, &e) != nil {
		return "", ""
	}
	return e.Code, e.Message
}

func reasonOfJSON(body []byte) (code, text string) {
	var e struct {
		Error struct {
			Message string
			Errors  []struct{ Reason string }
		}
	}
	if json.Unmarshal(body, &e) != nil {
		return "", ""
	}
	for _, one := range e.Error.Errors {
		code = one.Reason
	}
	return code, e.Error.Message
}
