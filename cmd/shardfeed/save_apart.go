package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
)

// apart refuses a file that the next run over the same addresses would take for a shard, and one
// with the name of a shard anywhere.
func (s saveFile) apart(ctx context.Context, shards []shard.Shard, f *flags, addresses []string) error {
	target, err := s.target()
	if err != nil || target.stream {
		return err
	}
	switch taken, err := takenForShard(ctx, shards, f.Strict, f.at(addresses).AllAddresses(), target.path); {
	case err != nil:
		return err
	case taken:
		return usagef("--%s %s: a later run over the same addresses would take it for a shard; name a file elsewhere", s.flag, s.name)
	}
	if ext := strings.ToLower(filepath.Ext(target.path)); ext == ".parquet" || ext == ".parq" || ext == ".pq" {
		return usagef("--%s %s: a %s must not have the name of a shard; name it as in %s.json", s.flag, s.name, s.kind.noun, s.kind.noun)
	}
	return nil
}

// takenForShard lists the addresses on this machine, using only the names of the shards, with one
// more file.
func takenForShard(ctx context.Context, shards []shard.Shard, strict bool, addresses []string, file string) (bool, error) {
	var names mem.Store
	one, err := putName(&names, file)
	if err != nil {
		return false, err
	}
	files := map[string]bool{}
	for _, sh := range shards {
		if !shardfeed.IsRemote(sh.URI) {
			uri, err := putName(&names, sh.URI)
			if err != nil {
				return false, err
			}
			files[uri] = true
		}
	}
	for _, address := range addresses {
		if strings.HasPrefix(address, "@") || shardfeed.IsRemote(address) {
			continue
		}
		if address, err = inMemory(address); err != nil {
			return false, err
		}
		if files[address] { // by a shell that has expanded a pattern: it names nothing else
			continue
		}
		listed, err := shard.Discover(ctx, shard.Stores{"mem": &names}, []string{address}, shard.DiscoverOptions{Strict: strict})
		if errors.Is(err, shard.ErrNotExist) { // a saved list of shards leaves out all that are here
			continue
		}
		if err != nil || slices.ContainsFunc(listed, func(sh shard.Shard) bool { return sh.URI == one }) {
			return true, nil
		}
	}
	return false, nil
}

// putName stores an almost empty file under the name of a file of this machine, and returns its
// address.
func putName(names *mem.Store, path string) (string, error) {
	uri, err := inMemory(path)
	names.Put(strings.TrimPrefix(uri, "mem://"), []byte{0}) // an empty file may be the mark of a directory
	return uri, err
}

// inMemory converts an address of this machine to one in a store in memory.
func inMemory(address string) (string, error) {
	_, path := shard.SplitScheme(address)
	path, err := filepath.Abs(path)
	return "mem:/" + path, err
}
