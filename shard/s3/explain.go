package s3

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/shardfeed/shardfeed/shard"
)

// Explain describes the connection to an address: its endpoint, region and credentials, and whether
// the bucket answers. Failures are facts too; only an invalid address is an error. No fact holds a
// secret.
func (s *Store) Explain(ctx context.Context, uri string) ([]shard.Fact, error) {
	at, err := parse(uri)
	if err != nil {
		return nil, &shard.Error{Op: "explain", URI: uri, Err: err}
	}
	var facts []shard.Fact
	say := func(name, format string, args ...any) {
		facts = append(facts, shard.Fact{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	say("bucket", "%s", at.bucket)
	ses, err := s.currentSession(ctx)
	if err != nil {
		s.sayTrouble(ctx, say, uri, nil, err)
		return facts, nil
	}
	say("endpoint", "%s", describeEndpoint(ses))
	say("credentials", "%s", ses.source(ctx))
	c, err := s.call(ctx, at.bucket, func(ctx context.Context, c *client) error {
		one := int32(1)
		_, err := c.list(ctx, &s3.ListObjectsV2Input{Bucket: &at.bucket, Prefix: &at.key, MaxKeys: &one, RequestPayer: s.payer()})
		return err
	})
	if r, ok := s.clients.region(at.bucket); ok {
		say("region", "%s, %s", r.name, r.from)
	}
	s.saySettings(say, ses)
	if err != nil {
		s.sayTrouble(ctx, say, uri, c, err)
	} else {
		say("access", "the bucket lists its keys")
	}
	return facts, nil
}

// saySettings lists the facts that need no server.
func (s *Store) saySettings(say func(name, format string, args ...any), ses *session) {
	style := "in the host name"
	if ses.pathStyle {
		style = "in the path"
	}
	say("bucket goes", "%s", style)
	if s.o.RequesterPays {
		say("requester pays", "yes")
	}
	if s.o.CABundle != "" {
		say("CA bundle", "%s", s.o.CABundle)
	}
	if s.o.Proxy != "" {
		say("proxy", "%s", redactURL(s.o.Proxy))
	}
	say("requests in flight", "%d now, at most %d", max(s.Traffic().Window, leastRequests), s.o.MaxRequests)
}

// sayTrouble says an error, and what to try.
func (s *Store) sayTrouble(ctx context.Context, say func(name, format string, args ...any), uri string, c *client, err error) {
	e := (*shard.Error)(nil)
	errors.As(s.wrap(ctx, listing, uri, c, err), &e)
	say("problem", "%v", e.Err)
	if e.Hint != "" {
		say("try", "%s", e.Hint)
	}
}

func describeEndpoint(ses *session) string {
	if ses.endpoint == "" {
		return "AWS"
	}
	return redactURL(ses.endpoint)
}
