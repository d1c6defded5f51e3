package azure

import (
	"encoding/xml"
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
	"github.com/shardfeed/shardfeed/shard/driver/connect"
	"github.com/shardfeed/shardfeed/shard/web"
)

// apiVersion is the version of the REST interface.
const apiVersion = "2023-11-03"

// A service is Azure Blob Storage, or an emulator of it.
type service struct {
	web.Plain // versions are ETags
	settings
	pageKeys int // keys per page of a list; 0 for the server's default
}

// Sign shows who asks.
func (s *service) Sign(r *http.Request) error {
	r.Header.Set("X-Ms-Version", apiVersion)
	return s.by.Sign(r)
}

// container returns the URL of a container.
func (s *service) container(spelled string) (string, error) {
	p, err := parsePlace(spelled)
	if err != nil {
		return "", err
	}
	base, err := s.base(p)
	return base + "/" + url.PathEscape(p.container), err
}

// Object returns a blob's URL. Requests demand its version by If-Match.
func (s *service) Object(at bucket.Location, _ string) (string, error) {
	container, err := s.container(at.Bucket)
	return container + "/" + connect.EscapePath(at.Key), err
}

// List returns the URL of a page of a list.
func (s *service) List(q bucket.Query) (string, error) {
	container, err := s.container(q.Bucket)
	query := url.Values{"restype": {"container"}, "comp": {"list"}, "include": {"metadata"}}
	setNonEmpty(query, "prefix", q.Prefix)
	setNonEmpty(query, "marker", q.Token)
	if q.Level {
		query.Set("delimiter", "/")
	}
	if s.pageKeys > 0 {
		query.Set("maxresults", strconv.Itoa(s.pageKeys))
	}
	return container + "?" + strings.ReplaceAll(query.Encode(), "+", "%20"), err
}

// Kind returns a directory for the blob that marks one.
func (s *service) Kind(head http.Header) driver.EntryKind {
	return kindOf(head.Get("X-Ms-Resource-Type"), head.Get("X-Ms-Meta-Hdi_isfolder"))
}

// kindOf returns the kind of a blob of a resource type, whose metadata hdi_isfolder has a value.
func kindOf(resource, isFolder string) driver.EntryKind {
	if resource == "directory" || strings.EqualFold(isFolder, "true") {
		return driver.KindDir
	}
	return driver.KindFile
}

// A name is of a blob, or the start of some. What XML cannot carry is percent-encoded.
type name struct {
	Text    string `xml:",chardata"`
	Encoded bool   `xml:"Encoded,attr"`
}

func (n name) decode() (string, error) {
	if !n.Encoded {
		return n.Text, nil
	}
	text, err := url.PathUnescape(n.Text)
	if err != nil {
		return "", fmt.Errorf("%w: it has a name that cannot be read: %.200q", errForeign, n.Text)
	}
	return text, nil
}

// Metadata of a blob. Names have no case.
type metadata struct {
	All []struct {
		XMLName xml.Name
		Value   string `xml:",chardata"`
	} `xml:",any"`
}

func (m metadata) isFolder() string {
	for _, one := range m.All {
		if strings.EqualFold(one.XMLName.Local, "hdi_isfolder") {
			return one.Value
		}
	}
	return ""
}

// A list is a page of names.
type list struct {
	XMLName xml.Name `xml:"EnumerationResults"`
	Blobs   []struct {
		Name       name
		Properties struct {
			Length       int64  `xml:"Content-Length"`
			Etag         string `xml:"Etag"`
			ResourceType string
		}
		Metadata metadata
	} `xml:"Blobs>Blob"`
	Prefixes []struct{ Name name } `xml:"Blobs>BlobPrefix"`
	Next     string                `xml:"NextMarker"`
}

// errForeign is an answer that is not the service's.
var errForeign = errors.New("the answer is not Azure's")

// ReadPage reads a list.
func (s *service) ReadPage(body []byte) (*bucket.Page, error) {
	var l list
	if err := xml.Unmarshal(body, &l); err != nil {
		return nil, fmt.Errorf("%w: it is not a list of blobs: it starts with %.60q", errForeign, body)
	}
	p := &bucket.Page{Files: make([]driver.Entry, 0, len(l.Blobs)), Next: l.Next}
	for _, b := range l.Blobs {
		key, err := b.Name.decode()
		if err != nil {
			return nil, err
		}
		p.Files = append(p.Files, driver.Entry{
			Name: key, Size: b.Properties.Length, Version: `"` + strings.Trim(b.Properties.Etag, `"`) + `"`,
			Kind: kindOf(b.Properties.ResourceType, b.Metadata.isFolder()),
		})
	}
	for _, prefix := range l.Prefixes {
		dir, err := prefix.Name.decode()
		if err != nil {
			return nil, err
		}
		p.Dirs = append(p.Dirs, dir)
	}
	return p, nil
}

// Facts describe the settings.
func (s *service) Facts() []shard.Fact {
	facts := []shard.Fact{{Name: "credentials", Value: s.source}}
	if s.account != "" {
		facts = append([]shard.Fact{{Name: "account", Value: s.account}}, facts...)
	}
	if s.endpoint != "" {
		facts = append(facts, shard.Fact{Name: "endpoint", Value: s.endpoint})
	}
	return facts
}

// Hint returns a remedy.
func (s *service) Hint(err error) string {
	code := web.CodeOf(err)
	switch {
	case errors.Is(err, cloud.ErrNoCredentials):
		return "give az.account_key, az.sas_token or az.connection_string (AZURE_STORAGE_*), a client (AZURE_CLIENT_ID, AZURE_TENANT_ID and " +
			"AZURE_CLIENT_SECRET), or az.anonymous for public data"
	case errors.Is(err, cloud.ErrNoToken):
		return "see whether the credentials are valid: " + s.source
	case code == "BlobArchived":
		return "set the blob's tier to hot or cool, and wait until that is done"
	case code == "ContainerNotFound":
		return "see the names of the container and of the account"
	case code == "AuthenticationFailed" || code == "InvalidAuthenticationInfo":
		return "the key or the signature is wrong, has expired, or this machine's clock is: " + s.source
	case code == "AuthorizationPermissionMismatch":
		return "the identity needs the role Storage Blob Data Reader, or the signature the permissions r and l: " + s.source
	case code == "PublicAccessNotPermitted" || errors.Is(err, shard.ErrDenied) && s.by == cloud.Unsigned{}:
		return "anonymous requests may not do this: give credentials, such as az.account_key or AZURE_STORAGE_CONNECTION_STRING"
	case errors.Is(err, shard.ErrDenied):
		return "see what the credentials may do, and the account's firewall: " + s.source
	case errors.Is(err, errForeign):
		return "a proxy or a login page may answer in its place: see az.endpoint and https_proxy"
	}
	return ""
}
