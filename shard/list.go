package shard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
)

// maxList is the size of the longest list file: some ten million addresses.
const maxList = 1 << 30 // bytes

func (f *finder) discoverList(ctx context.Context, list string) error {
	content, err := readAll(ctx, f.store, list)
	if e := (*Error)(nil); errors.As(err, &e) && e.URI == list {
		return &Error{Op: e.Op, URI: "@" + Redact(list), Err: e.Err, Hint: e.Hint} // as it was given
	}
	if err != nil {
		return err
	}
	lines, err := parseList(content)
	if err == nil && len(lines) == 0 {
		err = fmt.Errorf("%w: this list file names no shard", ErrNotExist)
	}
	if err != nil {
		return &Error{Op: "list", URI: "@" + Redact(list), Err: err}
	}
	for _, l := range lines {
		if strings.HasPrefix(l.address, "@") {
			err = &Error{Op: "list", URI: l.address, Err: fmt.Errorf("%w: a list file cannot name another", ErrBadURI)}
		} else {
			err = f.discover(ctx, l.address)
		}
		if e := (*Error)(nil); errors.As(err, &e) {
			where := fmt.Sprintf("line %d of %s", l.number, brief(Redact(list), longestAddress))
			if e.Hint != "" {
				where += "; " + e.Hint
			}
			return &Error{Op: e.Op, URI: e.URI, Err: e.Err, Hint: where}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type line struct {
	number  int // from 1
	address string
}

// parseList returns the addresses of a list file, without white space or a byte order mark.
func parseList(content []byte) ([]line, error) {
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	var all []line
	number := 0
	for text := range bytes.Lines(content) {
		number++
		text = bytes.TrimSpace(text)
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		if len(text) > maxAddress {
			return nil, fmt.Errorf("%w: line %d of this list file has %d bytes, and an address has at most %d", ErrBadURI, number, len(text), maxAddress)
		}
		if bytes.IndexByte(text, 0) >= 0 {
			return nil, fmt.Errorf("%w: line %d of this file is not text: a list file has one address a line", ErrBadURI, number)
		}
		all = append(all, line{number, string(text)})
	}
	return all, nil
}

func readAll(ctx context.Context, store Store, address string) (content []byte, err error) {
	files, err := store.List(ctx, address)
	if err != nil {
		return nil, err
	}
	if len(files) != 1 || files[0].Size > maxList {
		return nil, &Error{Op: "list", URI: address, Err: fmt.Errorf("%w: it is not a list file", ErrBadURI)}
	}
	o, err := store.Open(ctx, files[0])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	content = make([]byte, files[0].Size)
	return content, o.ReadAt(ctx, content, 0)
}
