package krb

import (
	"errors"

	"github.com/jcmturner/gokrb5/v8/credentials"
)

// errDamaged is all that is said about a file that cannot be parsed: gokrb5's own errors can hold
// the file's bytes, keys included.
var errDamaged = errors.New("it is damaged or not yet complete")

// parseCCache reads a ticket cache after a check of its lengths, which gokrb5 trusts.
func parseCCache(b []byte, into *credentials.CCache) error {
	if len(b) < 2 || b[0] != 5 || b[1] != 3 && b[1] != 4 {
		return errors.New("it is not a ticket cache of format 3 or 4")
	}
	c := cursor{rest: b[2:], version: b[1]}
	if c.version == 4 {
		c.skip(int64(c.number(2)))
	}
	c.principal()
	for len(c.rest) > 0 && !c.bad {
		c.credential()
	}
	if c.bad || into.Unmarshal(b) != nil {
		return errDamaged
	}
	return nil
}

// A cursor walks over a ticket cache; see "Credential cache file format" of MIT Kerberos.
type cursor struct {
	rest    []byte
	version byte
	bad     bool // the end came too early
}

func (c *cursor) number(size int64) (n uint32) {
	for _, b := range c.skip(size) {
		n = n<<8 | uint32(b)
	}
	return n
}

func (c *cursor) skip(n int64) []byte {
	if c.bad || n > int64(len(c.rest)) {
		c.bad = true
		return nil
	}
	b := c.rest[:n]
	c.rest = c.rest[n:]
	return b
}

// data is bytes with their length before them.
func (c *cursor) data() { c.skip(int64(c.number(4))) }

// each walks over as many things as a number says.
func (c *cursor) each(thing func()) {
	for n := c.number(4); n > 0 && !c.bad; n-- {
		thing()
	}
}

func (c *cursor) principal() {
	c.number(4) // kind of name
	n := c.number(4)
	c.data() // realm
	for ; n > 0 && !c.bad; n-- {
		c.data()
	}
}

func (c *cursor) credential() {
	c.principal() // client
	c.principal() // server
	c.number(2)   // kind of key
	if c.version == 3 {
		c.number(2) // once more
	}
	c.data()      // key
	c.skip(4 * 4) // times
	c.skip(1 + 4) // whether it is a session's key, flags
	typed := func() {
		c.number(2)
		c.data()
	}
	c.each(typed) // addresses
	c.each(typed) // authorization
	c.data()      // ticket
	c.data()      // second ticket
}
