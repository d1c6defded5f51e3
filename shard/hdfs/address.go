package hdfs

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/hdfs/conf"
)

// A location is where an address leads: a path of a cluster.
type location struct {
	cluster *cluster
	path    string // clean, absolute
}

// split cuts an address into the part before its path, which messages keep, and the path, which
// starts with a slash. Nothing in a path is decoded, as in Hadoop's own tools.
func split(uri string) (prefix, path string, err error) {
	scheme, rest := shard.SplitScheme(uri)
	if scheme != "hdfs" && scheme != "viewfs" {
		return "", "", fmt.Errorf("%w: it is neither hdfs:// nor viewfs://", shard.ErrBadURI)
	}
	prefix = uri[:len(uri)-len(rest)]
	authority, _, slash := strings.Cut(rest, "/")
	if !slash {
		return uri, "/", nil
	}
	return prefix + authority, rest[len(authority):], nil
}

func (s *Store) locate(uri string) (location, error) {
	setup, err := s.setup()
	if err == nil {
		err = setup.native()
	}
	if err != nil {
		return location{}, err
	}
	prefix, p, err := split(uri)
	if err != nil {
		return location{}, err
	}
	resolved, err := setup.conf.Resolve(prefix + path.Clean(p))
	if err != nil {
		return location{}, badAddress(err)
	}
	prefix, p, err = split(resolved)
	if err != nil {
		return location{}, fmt.Errorf("%w: it leads to %s", shard.ErrBadURI, shard.Redact(resolved))
	}
	_, authority := shard.SplitScheme(prefix)
	ns, err := setup.conf.Nameservice(authority)
	if err != nil {
		return location{}, badAddress(err)
	}
	if !slices.Contains(setup.conf.Nameservices(), ns.Name) {
		ns.Name = ns.RPC[0] // with its port
	}
	c, err := s.cluster(ns)
	return location{c, path.Clean(p)}, err
}

// badAddress keeps the kind of errors that have one.
func badAddress(err error) error {
	if errors.Is(err, conf.ErrMounts) || errors.Is(err, shard.ErrBadURI) || errors.Is(err, shard.ErrNotExist) {
		return err
	}
	if errors.Is(err, conf.ErrNoLink) {
		return fmt.Errorf("%w: %w", shard.ErrNotExist, err)
	}
	return fmt.Errorf("%w: %w", shard.ErrBadURI, err)
}

// Identity returns the address by which the namenodes know a file: with the name of its
// nameservice, and behind the links of a mount table.
func (s *Store) Identity(uri string) string {
	p, err := s.locate(uri)
	if err != nil {
		return uri
	}
	return "hdfs://" + p.cluster.ns.Name + p.path
}
