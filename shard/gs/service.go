package gs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/cloud"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/driver/bucket"
	"github.com/shardfeed/shardfeed/shard/web"
)

const endpoint = "https://storage.googleapis.com"

// A service is Google Cloud Storage, or an emulator of it.
type service struct {
	cloud.Signer
	endpoint    string // without a slash at the end
	source      string // of the credentials, in words
	userProject string // or ""
	pageKeys    int    // keys per page of a list; 0 for the server's default
}

func (o Options) service() (*service, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", shard.ErrBadURI, err)
	}
	emulator := o.emulator()
	by, source, err := o.credentials(emulator != "")
	if err != nil {
		return nil, err
	}
	return &service{Signer: by, endpoint: strings.TrimRight(cmp.Or(o.Endpoint, emulator, endpoint), "/"), source: source, userProject: o.UserProject}, nil
}

// Sign shows who asks, and names the project to charge.
func (s *service) Sign(r *http.Request) error {
	if s.userProject != "" {
		r.Header.Set("X-Goog-User-Project", s.userProject)
	}
	return s.Signer.Sign(r)
}

// Demand adds nothing: the URL of an object names its generation.
func (s *service) Demand(http.Header, string) {}

// Version is the generation.
func (s *service) Version(head http.Header) string { return head.Get("X-Goog-Generation") }

// Kind is a file: directories have no objects.
func (s *service) Kind(http.Header) driver.EntryKind { return driver.KindFile }

// Object returns the URL of an object's content.
func (s *service) Object(at bucket.Location, version string) (string, error) {
	location := s.endpoint + "/download/storage/v1/b/" + at.Bucket + "/o/" + url.PathEscape(at.Key) + "?alt=media"
	if version != "" {
		location += "&ifGenerationMatch=" + url.QueryEscape(version)
	}
	return location, nil
}

// List returns the URL of a page of a list.
func (s *service) List(q bucket.Query) (string, error) {
	query := url.Values{"fields": {"kind,items(name,size,generation),prefixes,nextPageToken"}}
	for name, value := range map[string]string{"prefix": q.Prefix, "pageToken": q.Token, "startOffset": q.After} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if q.Level {
		query.Set("delimiter", "/")
	}
	if s.pageKeys > 0 {
		query.Set("maxResults", strconv.Itoa(s.pageKeys))
	}
	return s.endpoint + "/storage/v1/b/" + q.Bucket + "/o?" + query.Encode(), nil
}

// errForeign is an answer that is not the service's.
var errForeign = errors.New("the answer is not Google Cloud Storage's")

// ReadPage reads a list.
func (s *service) ReadPage(body []byte) (*bucket.Page, error) {
	var list struct {
		Kind  string
		Items []struct {
			Name, Generation string
			Size             int64 `json:",string"`
		}
		Prefixes      []string
		NextPageToken string
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Kind != "storage#objects" {
		return nil, fmt.Errorf("%w: it is not a list of objects: it starts with %.60q", errForeign, body)
	}
	p := &bucket.Page{Files: make([]driver.Entry, len(list.Items)), Dirs: list.Prefixes, Next: list.NextPageToken}
	for i, o := range list.Items {
		p.Files[i] = driver.Entry{Name: o.Name, Size: o.Size, Version: o.Generation}
	}
	return p, nil
}

// Facts describe the settings.
func (s *service) Facts() []shard.Fact {
	facts := []shard.Fact{{Name: "endpoint", Value: s.endpoint}, {Name: "credentials", Value: s.source}}
	if s.userProject != "" {
		facts = append(facts, shard.Fact{Name: "charged project", Value: s.userProject})
	}
	return facts
}

// Hint returns a remedy.
func (s *service) Hint(err error) string {
	text := err.Error()
	switch {
	case errors.Is(err, cloud.ErrNoCredentials):
		return "name a file of credentials by GOOGLE_APPLICATION_CREDENTIALS or gs.token, log in by gcloud auth application-default login, or give " +
			"gs.anonymous for public data"
	case errors.Is(err, cloud.ErrNoToken):
		return "see whether the credentials are valid: " + s.source
	case errors.Is(err, shard.ErrDenied) && s.Signer == cloud.Unsigned{}:
		return "anonymous requests may not do this: the bucket needs credentials, see GOOGLE_APPLICATION_CREDENTIALS and gs.token"
	case strings.Contains(text, "requester pays"):
		return "name the project to charge by gs.user_project"
	case errors.Is(err, shard.ErrDenied):
		return "the account needs the rights storage.objects.get and storage.objects.list, as the role Storage Object Viewer has; it is " + s.source
	case errors.Is(err, errForeign):
		return "a proxy or a login page may answer in its place: see gs.endpoint and https_proxy"
	case errors.Is(err, shard.ErrNotExist) && web.CodeOf(err) == "notFound":
		return "see the bucket's name"
	}
	return ""
}
