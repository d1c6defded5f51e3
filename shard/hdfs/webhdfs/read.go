package webhdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

// read fills one part. Where a body ends too early or stalls, it goes on from the byte reached,
// with another datanode. When all have failed it pauses and asks all of them again.
func (c *cluster) read(ctx context.Context, path string, p driver.Part) error {
	f := driver.NewFill(p)
	defer f.Close()
	backoff := c.newBackoff()
	var (
		bad  []string // datanodes that failed in this round
		last error    // of the last of them
	)
	for {
		at := c.active.Load()
		from := f.Off()
		node, err := c.store.body(ctx, c.bases[at], path, f, bad)
		if f.Off() > from {
			backoff.Progress()
			bad = nil
		}
		if err == nil {
			c.window.Done()
			return nil
		}
		if errors.Is(err, errRange) && c.reaches(ctx, path, p.End()) {
			err = fmt.Errorf("%w: %w", errForeign, err)
		}
		if ctx.Err() != nil {
			return cause.Of(ctx)
		}
		next := false // datanode, at once
		switch {
		case node != "" && (passing(err) || vague(err) && len(bad) < 3):
			name := c.nodeName(ctx, path, f.Off(), node)
			next, last = !slices.Contains(bad, name), err // else the namenode does not know it by this name
			bad = append(bad, name)
			c.meter.Failovers.Add(1)
		case len(bad) > 0 && passing(err): // no datanode remains
			err = last
		case !c.elsewhere(at, err):
			return err
		}
		if !next {
			bad = nil
			c.store.outage.Waiting(c.bases[at].url.Host, backoff, err)
			if !backoff.Wait(ctx, 0) {
				return stuck(ctx, err, f.Off())
			}
		}
		c.meter.Retries.Add(1)
	}
}

// reaches reports whether a file has the bytes before end, whatever an answer said.
func (c *cluster) reaches(ctx context.Context, path string, end int64) bool {
	now, err := c.stat(ctx, path)
	return err == nil && now.Length >= end
}

// nodeName returns the namenode's name for the datanode whose web server has an address: the
// address of its transfer port, if the datanode reports it, else the host's address.
func (c *cluster) nodeName(ctx context.Context, path string, off int64, address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	for _, n := range c.holders(ctx, path, off) {
		if (n.Host == host || n.IP == host) && (port == strconv.Itoa(n.HTTPPort) || port == strconv.Itoa(n.SecurePort)) {
			return net.JoinHostPort(n.IP, strconv.Itoa(n.Port))
		}
	}
	if all, err := net.DefaultResolver.LookupHost(ctx, host); err == nil {
		return all[0]
	}
	return host
}

// holders are the datanodes that hold a byte, nil if unknown. It asks once, and without a token of
// the window, since the caller has one.
func (c *cluster) holders(ctx context.Context, path string, off int64) []datanode {
	if c.noLocated.Load() {
		return nil
	}
	body, err := c.store.document(ctx, c.bases[c.active.Load()], locate(path, off, 1))
	if err != nil {
		return nil
	}
	found, err := parseLocations(body)
	if err != nil {
		return nil
	}
	return found.Nodes
}

func locate(path string, off, n int64) query {
	return query{op: "GET_BLOCK_LOCATIONS", path: path, args: url.Values{
		"offset": {strconv.FormatInt(off, 10)}, "length": {strconv.FormatInt(n, 10)},
	}}
}

// vague reports whether a datanode's answer gives no reason for its failure: another may do better.
func vague(err error) bool {
	e, ok := errors.AsType[*remoteError](err)
	return ok && e.Unwrap() == nil
}

// stuck is the error when the time for tries is over.
func stuck(ctx context.Context, err error, off int64) error {
	if ctx.Err() != nil {
		return cause.Of(ctx)
	}
	err = fmt.Errorf("%w; byte %d did not come, however often it was asked for", err, off)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &hinted{error: err, hint: "if its datanodes are up, all replicas of the block may be damaged: see hdfs fsck PATH -files -blocks"}
	}
	return err
}

// body makes one request for what a part lacks. Node is the datanode asked, "" without a redirect.
func (s *Store) body(ctx context.Context, b *base, path string, f *driver.Fill, bad []string) (node string, err error) {
	ctx, w := driver.NewWatch(ctx)
	defer w.End(nil)
	measured := b.meter.Start(ctx, driver.ReadRequest)
	defer func() { measured.End(err) }()
	w.Begin(s.options.ReadTimeout)
	want := f.Left()
	args := url.Values{"offset": {strconv.FormatInt(f.Off(), 10)}, "length": {strconv.FormatInt(want, 10)}}
	if len(bad) > 0 {
		args.Set("excludedatanodes", strings.Join(bad, ","))
	}
	answer, err := s.send(ctx, b, query{op: "OPEN", path: path, args: args})
	if err != nil {
		return "", err
	}
	if answer.StatusCode >= 300 {
		w.Progress()
		if answer, node, err = s.follow(ctx, b, answer); err != nil {
			return node, err
		}
	}
	defer answer.Body.Close()
	if err := checkBytes(answer, f.Off(), want); err != nil {
		return node, err
	}
	measured.Answered()
	return node, s.fill(ctx, w, answer, f, &measured)
}

// fill reads a body to its end, which comes when the part is full.
func (s *Store) fill(ctx context.Context, w *driver.Watch, answer *http.Response, f *driver.Fill, measured *driver.Request) error {
	host := answer.Request.URL.Host
	for p := f.Next(); p != nil; p = f.Next() {
		n, err := answer.Body.Read(p)
		if n > 0 {
			f.Took(n)
			measured.Took(n)
			w.Progress()
		}
		if err == nil {
			continue
		}
		if f.Next() == nil {
			break
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return connect.Lost(ctx, host, err)
	}
	if answer.ContentLength >= 0 {
		return nil
	}
	switch n, err := io.CopyN(io.Discard, answer.Body, 1); { // a body without a length: its end is looked for
	case n > 0:
		return fmt.Errorf("%w: %s sends more bytes than were asked for", errForeign, host)
	case !errors.Is(err, io.EOF):
		return connect.Lost(ctx, host, err)
	}
	return nil
}

func (c *cluster) located(ctx context.Context, path string, off, n int64) (locations, error) {
	if c.noLocated.Load() {
		return locations{}, errUnsupported
	}
	found, err := ask(ctx, c, locate(path, off, n), parseLocations)
	if errors.Is(err, errUnsupported) || errors.Is(err, errNoAPI) { // gateways let only known operations pass
		c.noLocated.Store(true)
		return locations{}, errUnsupported
	}
	return found, err
}

// inSnapshot reports whether a path leads into a snapshot: its files are not read by inode.
func inSnapshot(path string) bool { return strings.Contains(path+"/", "/.snapshot/") }

// hosts returns the locations of all blocks of a file, by the method that the server supports.
func (c *cluster) hosts(ctx context.Context, path string, size int64) ([]shard.Block, error) {
	found, err := c.located(ctx, path, 0, size)
	if errors.Is(err, errUnsupported) {
		found, err = ask(ctx, c, query{op: "GETFILEBLOCKLOCATIONS", path: path}, parseLocations)
	}
	return found.Blocks, err
}
