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

// maxName is the longest address and the longest version that a header takes.
const maxName = 64 << 10 // bytes

// A key is what a file holds bytes of: one shard version, however its address is spelled, or what
// was decoded of it.
type key struct {
	uri       string // identity of the address, without secrets
	version   string
	size      int64  // of the shard, or of the space of its decoded bytes
	shardSize int64  // of the shard whose decoded bytes they are; 0 for a shard's own
	form      string // of decoded bytes: what they are of the shard, a name of at most maxForm letters, digits and dashes
	name      string // of the file, below the directory: "a/ab…-…", or "da-form/…-…" for decoded bytes
}

func (k key) decoded() bool { return k.shardSize != 0 }

// keyOf is the key of a shard of a store. ok is false for shards that cannot be cached: nothing
// tells their content from another, or their names are too long, or they are empty.
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

// decodedKeyOf is the key of size bytes that are decoded of a shard in a form.
func decodedKeyOf(store shard.Store, s shard.Shard, form string, size int64) (k key, ok bool) {
	k, ok = keyOf(store, s)
	if !ok || size <= 0 || size > maxSize || len(form) > maxForm || !formName.MatchString(form) {
		return k, false
	}
	k.shardSize, k.size, k.form = k.size, size, form
	k.name = nameOf(k)
	return k, len(k.headerVersion()) <= maxName
}

// versionText tells the versions of a shard apart. Its hash is in the names of their files.
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

// decodedMark begins the names of the directories of decoded files.
const decodedMark = "d"

// isDecoded tells the files of decoded bytes from shard files, by their names.
func isDecoded(name string) bool {
	dir := path.Dir(name)
	return len(dir) > 3 && strings.HasPrefix(dir, decodedMark) && dir[2] == '-'
}

// reversed is the family in the name of a decoded file. Releases that do not know these files take
// them for shard files: they count and evict them as such. In the family of the shard itself they
// would stand for a newer version of it.
func reversed(family string) string {
	b := []byte(family)
	slices.Reverse(b)
	return string(b)
}

// hash96 is the first 96 bits of SHA-256 in hexadecimal.
func hash96(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:12])
}

const hashDigits = 24

// shardName tells files of shards from leftovers, by the last part of their path.
var shardName = regexp.MustCompile(`^[0-9a-f]{24}-[0-9a-f]{24}$`)

// familyOf is the part of a shard file's name that the files of all versions of one shard share,
// and versionOf the part that only those of one version do.
func familyOf(name string) string {
	family := path.Base(name)[:hashDigits]
	if isDecoded(name) {
		return reversed(family)
	}
	return family
}

func versionOf(name string) string { return path.Base(name)[hashDigits+1:] }
