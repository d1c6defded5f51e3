package webhdfs

import (
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// errForeign is an answer that is not the cluster's: a proxy, a login page or a broken network made
// it. The next one may be right.
var errForeign = fmt.Errorf("%w: the answer is not from WebHDFS", shard.ErrTransient)

// checkBytes refuses an answer that cannot hold n bytes of a file from off on. Servers send files
// as application/octet-stream, or without a type.
func checkBytes(answer *http.Response, off, n int64) error {
	head := answer.Header
	if encoding := head.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return fmt.Errorf("%w: Content-Encoding %s", errForeign, encoding)
	}
	kind, _, _ := mime.ParseMediaType(head.Get("Content-Type"))
	_, format, _ := strings.Cut(kind, "/")
	if kind == "text/html" || format == "json" || format == "xml" || strings.HasSuffix(format, "+xml") {
		return fmt.Errorf("%w: Content-Type %s", errForeign, kind)
	}
	if text := head.Get("Content-Range"); text != "" && !strings.HasPrefix(text, "bytes "+strconv.FormatInt(off, 10)+"-") {
		return fmt.Errorf("%w: it has Content-Range %.100q for byte %d", errForeign, text, off)
	}
	if answer.ContentLength > n {
		return fmt.Errorf("%w: %s sends %d bytes where %d were asked for", errForeign, answer.Request.URL.Host, answer.ContentLength, n)
	}
	if answer.ContentLength >= 0 && answer.ContentLength < n {
		return fmt.Errorf("%w: %d bytes were asked for, %d are there", errRange, n, answer.ContentLength)
	}
	return nil
}
