package cloud

import (
	"net/http"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/driver/bucket"
	"github.com/shardfeed/shardfeed/shard/web"
)

// A Service is a cloud's interface of objects, by the settings as they are at its first use. Its
// methods are safe for concurrent use.
type Service interface {
	web.Protocol

	// Object returns the URL of an object at a version, or at any if that is "".
	Object(at bucket.Location, version string) (string, error)
	// List returns the URL of a page of names.
	List(q bucket.Query) (string, error)
	// ReadPage returns the page that an answer to List has. Keys without the prefix may be in it.
	ReadPage(body []byte) (*bucket.Page, error)
	// Kind returns the kind of entry that an answer for an object describes.
	Kind(head http.Header) driver.EntryKind
	// Hint returns a remedy for an error, or "".
	Hint(err error) string
	// Facts describe the settings: never a secret.
	Facts() []shard.Fact
}
