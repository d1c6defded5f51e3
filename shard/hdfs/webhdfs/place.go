package webhdfs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// Place returns the placement of a shard's blocks on the datanodes.
func (s *Store) Place(ctx context.Context, sh shard.Shard) (shard.Placement, error) {
	a, c, err := s.cluster(sh.URI)
	if err != nil {
		return shard.Placement{}, wrap("place", sh.URI, err)
	}
	found, err := c.stat(ctx, clean(a.path))
	if err != nil {
		return shard.Placement{}, wrap("place", sh.URI, err)
	}
	p := shard.Placement{BlockSize: found.BlockSize, Replication: found.Replication, Policy: found.Policy, Encrypted: found.Encrypted}
	if found.ErasureBit {
		p.Replication = 0
	}
	p.Blocks, err = c.hosts(ctx, clean(a.path), found.Length)
	if err != nil && !errors.Is(err, errUnsupported) {
		return shard.Placement{}, wrap("place", sh.URI, err)
	}
	return p, nil
}

// Explain describes the servers of an address, the user, and the source of the configuration. It
// sends no request.
func (s *Store) Explain(_ context.Context, uri string) ([]shard.Fact, error) {
	a, err := parse(uri, s.options.Gateway)
	if err != nil {
		return nil, wrap("explain", uri, err)
	}
	var facts []shard.Fact
	add := func(name, format string, args ...any) {
		facts = append(facts, shard.Fact{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	configuration, source, err := s.options.Setup()
	if err != nil {
		add("problem", "%v", err)
	}
	if configuration != nil && configuration.Dir() != "" {
		add("configuration", "%s", configuration.Dir())
	}
	bases, err := a.bases(configuration)
	if err != nil {
		add("problem", "%v", err)
	} else {
		add("servers", "%s", strings.Join(bases, ", "))
	}
	switch {
	case s.options.Delegation != "":
		add("credentials", "delegation token, given as an option")
	case s.options.TokenFile != "":
		add("credentials", "delegation tokens of %s", s.options.TokenFile)
	case source != nil:
		add("credentials", "Kerberos, %s", source.Describe())
	case s.options.Password != "":
		add("credentials", "user %s with a password", s.options.User)
	default:
		add("credentials", "user name %s, which the server believes", s.options.User)
	}
	if s.options.CABundle != "" {
		add("certificates", "%s", s.options.CABundle)
	}
	return facts, nil
}
