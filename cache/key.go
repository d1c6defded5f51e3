package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"

	"github.com/shardfeed/shardfeed/shard"
)

// maxName is the longest address and the longest version that a header takes.
const maxName = 64 << 10 // bytes

// A key is one shard version, however its address is spelled.
type key struct {
	uri     string // identity of the address, without secrets
	version string
	size    int64
	name    string // of the file, below the directory: "a/ab…-…"
}

// keyOf is the key of a shard of a store. ok is false for shards that cannot be cached: nothing
// tells their content from another, or their names are too long, or they are empty.
func keyOf(store shard.Store, s shard.Shard) (k key, ok bool) {
	k = key{uri: shard.Redact(shard.Identity(store, s.URI)), version: s.Version, size: s.Size}
	if k.version == "" || k.size <= 0 || k.size > maxSize || len(k.uri) > maxName || len(k.version) > maxName {
		return k, false
	}
	k.name = nameOf(k)
	return k, true
}

func nameOf(k key) string {
	family := hash96(k.uri)
	return family[:1] + "/" + family + "-" + hash96(strconv.FormatInt(k.size, 10)+"\x00"+k.version)
}

// hash96 is the first 96 bits of SHA-256 in hexadecimal.
func hash96(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:12])
}

const hashDigits = 24

// shardName tells files of shards from leftovers, by the last part of their path.
var shardName = regexp.MustCompile(`^[0-9a-f]{24}-[0-9a-f]{24}$`)

// familyOf is the part of a shard file's name that all versions of one shard share.
func familyOf(base string) string { return base[:hashDigits] }
