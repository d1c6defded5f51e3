package bucket

import (
	"context"
	"slices"

	"github.com/shardfeed/shardfeed/shard/driver"
)

// A Source makes the requests of a tree. Paths are "bucket/key". Its methods are safe for
// concurrent use.
type Source interface {
	// Locate cuts a path into its parts.
	Locate(path string) (Location, error)
	// Look describes the object of a path, or returns shard.ErrNotExist.
	Look(ctx context.Context, path string) (driver.Entry, error)
	// Page returns one page of a bucket's names. Path is the directory, for errors.
	Page(ctx context.Context, path string, q Query) (*Page, error)
	// Refusal classifies an error of Look or Page.
	Refusal(err error) Refusal
}

// A Location is a key in a bucket.
type Location struct {
	Bucket, Key string
	Pinned      bool // to one version of an object: there is no directory of this name
	Unordered   bool // the bucket lists in no order, or only from the start of a directory
}

// A Refusal is how much an error says about why a request may not be made.
type Refusal uint8

// The kinds of refusals.
const (
	NotRefused Refusal = iota
	Silent             // without a reason, maybe for other causes than rights
	Bare               // the right is missing, or the object
	Explained          // says more: the key, the secret, the clock
)

// A Query asks for one page of a bucket's keys.
type Query struct {
	Bucket, Prefix string
	Level          bool   // only up to the next slash: directories are named once
	After          string // only keys behind this one, or ""
	Token          string // continues where a page ended, or ""
}

// A Page is one answer: keys in order.
type Page struct {
	Files  []driver.Entry // named by their whole keys
	Dirs   []string       // whole, with their slash
	Last   string         // the last key, of a file or not; "" in an empty page
	Marked bool           // the mark of a directory was among them
	Next   string         // token of the page that follows, or ""
}

// end is the last key or directory of an ordered page.
func (p *Page) end() string { return slices.Max(append([]string{p.Last}, p.Dirs...)) }
