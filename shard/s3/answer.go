package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// A request is one GET under way. What it holds is given back by end.
type request struct {
	object *object
	client *client
	ctx    context.Context
	watch  *driver.Watch // ends it when it brings no byte
	token  bool          // it holds one
	out    *s3.GetObjectOutput
	err    error

	measured driver.Request
}

// send makes the request and waits for the head of its answer.
func (r *request) send(span shard.Span) {
	if !r.token {
		if r.err = r.client.window.Acquire(r.ctx); r.err != nil {
			return
		}
		r.token = true
	}
	store := r.object.store
	r.watch.Begin(store.o.ReadTimeout)
	r.measured = r.client.meter.Start(r.ctx, driver.ReadRequest)
	start := time.Now()
	if r.out, r.err = r.client.api.GetObject(r.ctx, r.object.input(span)); r.err == nil {
		r.client.latency.add(time.Since(start))
		r.measured.Answered()
	}
	r.err = r.cause(r.err)
	if r.err == nil || isAnswer(r.err) {
		r.client.answered.Store(true)
	}
}

// read takes bytes of the body as they come.
func (r *request) read(p []byte) (int, error) {
	n, err := r.out.Body.Read(p)
	if n > 0 {
		r.watch.Progress()
	}
	return n, r.cause(err)
}

// cause replaces the error of a request that its own timer ended.
func (r *request) cause(err error) error {
	if err != nil && !errors.Is(err, io.EOF) && driver.Stalled(r.ctx) {
		return fmt.Errorf("%w (%v)", driver.ErrStalled, r.object.store.o.ReadTimeout)
	}
	return err
}

// end releases the resources of the request. A body that was read to its end leaves its connection
// for the next request.
func (r *request) end() {
	if r.err == nil && r.out != nil {
		_ = r.out.Body.Close() // an error about unwanted bytes means nothing
	}
	r.measured.End(nil)
	r.watch.End(nil)
	r.giveWay()
}

// giveWay gives the token back: at the end, or as soon as there will be no body, which may be long
// before the race is over.
func (r *request) giveWay() {
	r.measured.End(r.err)
	if r.token {
		r.token = false
		r.client.window.Release()
	}
}

func (o *object) input(span shard.Span) *s3.GetObjectInput {
	in := &s3.GetObjectInput{
		Bucket: &o.at.bucket, Key: &o.at.key, Range: aws.String(fmt.Sprintf("bytes=%d-%d", span.Off, span.End()-1)),
		RequestPayer: o.store.payer(),
	}
	if tag := entityTag(o.shard.Version); tag != "" {
		in.IfMatch = &tag
	}
	if o.at.versionID != "" {
		in.VersionId = &o.at.versionID
	}
	return in
}

// A race is one or two requests for the same bytes. The first good answer wins; only its body is
// ever read, so that the caller's memory has one writer.
type race struct {
	object   *object
	client   *client
	span     shard.Span
	requests []*request
	came     chan *request // has room for both, so that a loser never waits
	running  int
}

// ask sends a request, and a second one when the first has no answer for long. The race of the
// request that won is closed by the caller.
func (o *object) ask(ctx context.Context, c *client, span shard.Span) (*request, *race, error) {
	if err := c.window.Acquire(ctx); err != nil {
		return nil, nil, err
	}
	race := &race{object: o, client: c, span: span, came: make(chan *request, 2)}
	race.start(ctx, true)
	hedge := time.After(c.latency.hedgeAfter(o.store.o.HedgeAfter))
	for {
		select {
		case r := <-race.came:
			race.running--
			if r.err == nil {
				race.end(r)
				return r, race, nil
			}
			if race.running == 0 || !isPassing(r.err) {
				race.close()
				return nil, nil, r.err
			}
		case <-hedge:
			c.meter.Hedges.Add(1)
			race.start(ctx, false)
		}
	}
}

// start sends one more request, with the token that the caller took, or else with one of its own.
func (r *race) start(ctx context.Context, token bool) {
	ctx, watch := driver.NewWatch(ctx)
	one := &request{object: r.object, client: r.client, ctx: ctx, watch: watch, token: token}
	r.requests = append(r.requests, one)
	r.running++
	go func() {
		one.send(r.span)
		if one.err != nil {
			one.giveWay()
		}
		r.came <- one
	}()
}

func (r *race) end(winner *request) {
	for _, one := range r.requests {
		if one != winner {
			one.watch.End(errLost)
		}
	}
}

// close ends all requests, and has waited for them when it returns.
func (r *race) close() {
	r.end(nil)
	for ; r.running > 0; r.running-- {
		<-r.came
	}
	for _, one := range r.requests {
		one.end()
	}
}

// errLost is why a request was given up whose twin was answered first.
var errLost = errors.New("another request was answered first")
