package cache

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// maxName is the longest address and the longest version that a header can store.
const maxName = 64 << 10 // bytes

// A key identifies the bytes in a file: one shard version, however its address is spelled, or bytes
// decoded from it.
type key struct {
	uri       string // identity of the address, without secrets
	version   string
	size      int64  // bytes of the shard, or of the space of its decoded bytes
	shardSize int64  // size of the shard that the bytes were decoded from; 0 for a shard's own bytes
	form      string // of decoded bytes: how they were decoded, a name of at most maxForm letters, digits and dashes
	name      string // of the file, below the directory: "a/ab…-…", or "da-form/…-…" for decoded bytes
}

func (k key) decoded() bool { return k.shardSize != 0 }

// keyOf returns the key of a shard of a store. ok is false for shards that cannot be cached: they
// have no version, are empty, or their names are too long.
func keyOf(store shard.Store, s shard.Shard) (k key, ok bool) {
	k = key{uri: shard.Redact(shard.Identity(store, s.URI)), version: s.VersionHere(), size: s.Size}
	if k.version == "" || k.size <= 0 || k.size > maxSize || len(k.uri) > maxName || len(k.version) > maxName {
		return k, false
	}
	k.name = nameOf(k)
	return k, true
}

// maxForm is the longest name of a form.
const maxForm = 32

var formName = regexp.MustCompile(`^[0-9A-Za-z-]+$`)

// decodedKeyOf returns the key of size bytes that are decoded from a shard in a form.
func decodedKeyOf(store shard.Store, s shard.Shard, form string, size int64) (k key, ok bool) {
	k, ok = keyOf(store, s)
	if !ok || size <= 0 || size > maxSize || len(form) > maxForm || !formName.MatchString(form) {
		return k, false
	}
	k.shardSize, k.size, k.form = k.size, size, form
	k.name = nameOf(k)
	return k, len(k.headerVersion()) <= maxName
}

// versionText identifies a version of a shard. Its hash is part of the names of the version's
// files.
func (k key) versionText() string {
	return strconv.FormatInt(cmp.Or(k.shardSize, k.size), 10) + "\x00" + k.version
}

func nameOf(k key) string {
	family := hash96(k.uri)
	dir := family[:1]
	if k.decoded() {
		dir, family = decodedMark+dir+"-"+k.form, reversed(family)
	}
	return dir + "/" + family + "-" + hash96(k.versionText())
}

// decodedMark is the prefix of the directories of decoded files.
const decodedMark = "d"

// isDecoded distinguishes the files of decoded bytes from shard files by their names.
func isDecoded(name string) bool {
	dir := path.Dir(name)
	return len(dir) > 3 && strings.HasPrefix(dir, decodedMark) && dir[2] == '-'
}

// reversed returns the family for the name of a decoded file. Releases that do not know these files
// take them for shard files: they count and evict them as such. In the shard's own family they
// would look like a newer version of it.
func reversed(family string) string {
	b := []byte(family)
	slices.Reverse(b)
	return string(b)
}

// hash96 returns the first 96 bits of SHA-256 in hexadecimal.
func hash96(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:12])
}

const hashDigits = 24

// shardName matches the last part of the path of a shard file, as opposed to leftovers.
var shardName = regexp.MustCompile(`^[0-9a-f]{24}-[0-9a-f]{24}$`)

// familyOf returns the part of a shard file's name that is common to all versions of the shard;
// versionOf returns the part that identifies the version.
func familyOf(name string) string {
	family := path.Base(name)[:hashDigits]
	if isDecoded(name) {
		return reversed(family)
	}
	return family
}

func versionOf(name string) string { return path.Base(name)[hashDigits+1:] }
