package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/iceberg"
)

const (
	maxAnswer = 1 << 30 // bytes
	tries     = 5
	pause     = 500 * time.Millisecond // before the second try; doubled before each other one
	patience  = time.Minute            // for an answer
)

// A catalog is a server and what it says of itself.
type catalog struct {
	name       string
	properties map[string]string
	client     *http.Client
	sign       func(r *http.Request, body string) error
}

// Open opens a snapshot of a table of a catalog, by its address.
func Open(ctx context.Context, text string, catalogs Options, o table.Options) (*table.Snapshot, error) {
	a, t, err := load(ctx, text, catalogs)
	if err != nil {
		return nil, err
	}
	if err := catalogs.lend(a, t, o.Store); err != nil {
		return nil, err
	}
	return iceberg.OpenMetadata(ctx, text, t.Location, t.Metadata, o)
}

// History lists the snapshots of a table of a catalog, the oldest first.
func History(ctx context.Context, text string, catalogs Options) ([]table.Version, error) {
	_, t, err := load(ctx, text, catalogs)
	if err != nil {
		return nil, err
	}
	return iceberg.HistoryOf(text, t.Metadata)
}

// loaded is a catalog's answer about a table.
type loaded struct {
	Location string          `json:"metadata-location"`
	Metadata json.RawMessage `json:"metadata"`

	Config      map[string]string `json:"config"`
	Credentials []grant           `json:"storage-credentials"`
}

func load(ctx context.Context, text string, o Options) (address, *loaded, error) {
	a, err := parseAddress(text)
	if err != nil {
		return a, nil, &shard.Error{Op: "table", URI: text, Err: err}
	}
	t, err := o.load(ctx, a)
	if err != nil {
		return a, nil, &shard.Error{Op: "table", URI: text, Err: err}
	}
	return a, t, nil
}

func (o Options) load(ctx context.Context, a address) (*loaded, error) {
	c, err := o.connect(ctx, a.catalog)
	if err != nil {
		return nil, err
	}
	defer c.client.CloseIdleConnections()
	t := &loaded{}
	if err := c.get(ctx, c.prefix()+a.path(), t); err != nil {
		return nil, err
	}
	if len(t.Metadata) == 0 || t.Location == "" {
		return nil, fmt.Errorf("%w: the catalog's answer has no metadata", shard.ErrCorrupt)
	}
	return t, nil
}

// connect finds the properties of a catalog, its own included.
func (o Options) connect(ctx context.Context, name string) (*catalog, error) {
	properties, err := o.properties(name)
	if err != nil {
		return nil, err
	}
	transport, err := connect.Options{CABundle: o.CABundle}.Transport()
	if err != nil {
		return nil, err
	}
	c := &catalog{name: name, properties: properties, client: &http.Client{Transport: transport, Timeout: patience}}
	if c.sign, err = c.signer(ctx, o); err != nil {
		return nil, err
	}
	var config struct {
		Defaults  map[string]string `json:"defaults"`
		Overrides map[string]string `json:"overrides"`
	}
	path := "v1/config"
	if w := properties["warehouse"]; w != "" {
		path += "?warehouse=" + url.QueryEscape(w)
	}
	if err := c.get(ctx, path, &config); err != nil {
		return nil, err
	}
	merged := config.Defaults
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, properties)
	maps.Copy(merged, config.Overrides)
	c.properties = merged
	return c, nil
}

// prefix is the path of the catalog's tables.
func (c *catalog) prefix() string {
	if p := c.properties["prefix"]; p != "" {
		return "v1/" + strings.Trim(p, "/") + "/"
	}
	return "v1/"
}

// get asks the catalog, again if it is busy.
func (c *catalog) get(ctx context.Context, path string, into any) error {
	for try, wait := 1, pause; ; try, wait = try+1, 2*wait {
		again, err := c.once(ctx, path, into)
		if err == nil || !again || try == tries {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

func (c *catalog) once(ctx context.Context, path string, into any) (again bool, err error) {
	address := strings.TrimRight(c.properties["uri"], "/") + "/" + path
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, fmt.Errorf("%w: the uri of the catalog: %w", shard.ErrBadURI, err)
	}
	for name, value := range c.properties {
		if header, ok := strings.CutPrefix(name, headerPrefix); ok {
			r.Header.Set(header, value)
		}
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set(delegation, vended)
	if err := c.sign(r, ""); err != nil {
		return false, err
	}
	return c.answer(r, into)
}

// answer sends a request and reads its answer.
func (c *catalog) answer(r *http.Request, into any) (again bool, err error) {
	answer, err := c.client.Do(r)
	if err != nil {
		if e := (*url.Error)(nil); errors.As(err, &e) {
			err = e.Err // whose address may hold secrets
		}
		return r.Context().Err() == nil, connect.Lost(r.Context(), r.URL.Host, err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return true, connect.Lost(r.Context(), r.URL.Host, err)
	}
	if answer.StatusCode != http.StatusOK {
		busy := answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= 500
		return busy, c.refusal(answer.StatusCode, content)
	}
	if err := json.Unmarshal(content, into); err != nil {
		return false, fmt.Errorf("%w: the answer of catalog %s: %w", shard.ErrCorrupt, c.name, err)
	}
	return false, nil
}

// refusal is the error of an answer.
func (c *catalog) refusal(status int, content []byte) error {
	var body struct {
		Error struct {
			Message string `json:"message"`
			Type    string `json:"type"`
		} `json:"error"`
		Code string `json:"error_description"` // of OAuth2
	}
	_ = json.Unmarshal(content, &body) // an answer of another form has no message
	kind := shard.ErrTransient
	switch {
	case status == http.StatusNotFound:
		kind = shard.ErrNotExist
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		kind = shard.ErrDenied
	case status < 500 && status != http.StatusTooManyRequests:
		kind = shard.ErrBadURI
	}
	said := strings.TrimSpace(body.Error.Type + " " + body.Error.Message + body.Code)
	if said == "" {
		said = http.StatusText(status)
	}
	return fmt.Errorf("%w: catalog %s answered %d: %s", kind, c.name, status, said)
}
