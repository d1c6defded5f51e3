package s3

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/shardfeed/shardfeed/shard"
)

// Explain says how an address is reached: by which endpoint, region and credentials, and whether
// the bucket answers. What is wrong is a fact too; only an address that is none is an error. No
// fact holds a secret.
func (s *Store) Explain(ctx context.Context, uri string) ([]shard.Fact, error) {
	at, err := parse(uri)
	if err != nil {
		return nil, &shard.Error{Op: "explain", URI: uri, Err: err}
	}
	facts := []shard.Fact{{Name: "bucket", Value: at.bucket}}
	ses, err := s.currentSession(ctx)
	if err != nil {
		return append(facts, s.trouble(ctx, uri, nil, err)...), nil
	}
	facts = append(facts, shard.Fact{Name: "endpoint", Value: describeEndpoint(ses)})
	facts = append(facts, shard.Fact{Name: "credentials", Value: ses.source(ctx)})
	c, err := s.call(ctx, at.bucket, func(ctx context.Context, c *client) error {
		s.counts.lists.Add(1)
		one := int32(1)
		_, err := c.api.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &at.bucket, Prefix: &at.key, MaxKeys: &one, RequestPayer: s.payer()})
		return err
	})
	if r, ok := s.clients.region(at.bucket); ok {
		facts = append(facts, shard.Fact{Name: "region", Value: r.name + ", " + r.from})
	}
	facts = append(facts, s.settings(ses)...)
	if err != nil {
		return append(facts, s.trouble(ctx, uri, c, err)...), nil
	}
	return append(facts, shard.Fact{Name: "access", Value: "the bucket lists its keys"}), nil
}

// settings are the facts that need no server.
func (s *Store) settings(ses *session) []shard.Fact {
	style := "in the host name"
	if ses.pathStyle {
		style = "in the path"
	}
	facts := []shard.Fact{{Name: "bucket goes", Value: style}}
	if s.o.RequesterPays {
		facts = append(facts, shard.Fact{Name: "requester pays", Value: "yes"})
	}
	if s.o.CABundle != "" {
		facts = append(facts, shard.Fact{Name: "CA bundle", Value: s.o.CABundle})
	}
	if s.o.Proxy != "" {
		facts = append(facts, shard.Fact{Name: "proxy", Value: redactURL(s.o.Proxy)})
	}
	return append(facts, shard.Fact{
		Name:  "requests in flight",
		Value: fmt.Sprintf("%d now, at most %d", max(s.clients.widest(), leastRequests), s.o.MaxRequests),
	})
}

// trouble is an error as a fact, and what to try as another.
func (s *Store) trouble(ctx context.Context, uri string, c *client, err error) []shard.Fact {
	text := err.Error()
	hint := s.hint(listing, err)
	if e, ok := s.wrap(ctx, listing, uri, c, err).(*shard.Error); ok { //nolint:errorlint // wrap returns it bare
		text, hint = e.Err.Error(), e.Hint
	}
	facts := []shard.Fact{{Name: "problem", Value: text}}
	if hint != "" {
		facts = append(facts, shard.Fact{Name: "try", Value: hint})
	}
	return facts
}

func describeEndpoint(ses *session) string {
	if ses.endpoint == "" {
		return "AWS"
	}
	return redactURL(ses.endpoint)
}
