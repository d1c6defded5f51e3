package krb

import (
	"encoding/binary"
	"errors"

	"github.com/jcmturner/gokrb5/v8/credentials"
)

// errDamaged is all that is said about a file that cannot be parsed: gokrb5's own errors can hold
// the file's bytes, keys included.
var errDamaged = errors.New("it is damaged or not yet complete")

// parseCCache reads a ticket cache. Its layout is checked first, since gokrb5 allocates what the
// file's numbers say.
func parseCCache(b []byte, into *credentials.CCache) error {
	if len(b) < 2 || b[0] != 5 || b[1] != 3 && b[1] != 4 {
		return errors.New("it is not a ticket cache of format 3 or 4")
	}
	l := layout{rest: b[2:], version: b[1]}
	if l.version == 4 {
		l.skip(int64(l.number(2)))
	}
	l.principal()
	for len(l.rest) > 0 && !l.bad {
		l.credential()
	}
	if l.bad || into.Unmarshal(b) != nil {
		return errDamaged
	}
	return nil
}

// A layout walks over a ticket cache, as MIT Kerberos documents it under "Credential cache file
// format".
type layout struct {
	rest    []byte
	version byte
	bad     bool // the end came too early
}

// number reads a number of 2 or 4 bytes.
func (l *layout) number(size int) uint32 {
	b := l.skip(int64(size))
	switch {
	case b == nil:
		return 0
	case size == 2:
		return uint32(binary.BigEndian.Uint16(b))
	}
	return binary.BigEndian.Uint32(b)
}

func (l *layout) skip(n int64) []byte {
	if l.bad || n > int64(len(l.rest)) {
		l.bad = true
		return nil
	}
	b := l.rest[:n]
	l.rest = l.rest[n:]
	return b
}

// data is bytes with their length before them.
func (l *layout) data() { l.skip(int64(l.number(4))) }

// each walks over as many things as a number says.
func (l *layout) each(thing func()) {
	for n := l.number(4); n > 0 && !l.bad; n-- {
		thing()
	}
}

func (l *layout) principal() {
	l.number(4) // kind of name
	n := l.number(4)
	l.data() // realm
	for ; n > 0 && !l.bad; n-- {
		l.data()
	}
}

func (l *layout) credential() {
	l.principal() // client
	l.principal() // server
	l.number(2)   // kind of key
	if l.version == 3 {
		l.number(2) // once more
	}
	l.data()      // key
	l.skip(4 * 4) // times
	l.skip(1 + 4) // whether it is a session's key, flags
	typed := func() {
		l.number(2)
		l.data()
	}
	l.each(typed) // addresses
	l.each(typed) // authorization
	l.data()      // ticket
	l.data()      // second ticket
}
