package bpe

const (
	pageSize   = 128 // code points
	codePoints = 0x110000
)

// characters has the numbers of characters, in pages of code points. The first page is empty.
type characters struct {
	pageOf [codePoints / pageSize]uint16
	pages  [][pageSize]uint32
}

func newCharacters() *characters {
	c := &characters{pages: make([][pageSize]uint32, 1)}
	for i := range c.pages[0] {
		c.pages[0][i] = noSymbol
	}
	return c
}

// set sets the number of r.
func (c *characters) set(r rune, n uint32) {
	page := &c.pageOf[r/pageSize]
	if *page == 0 {
		*page = uint16(len(c.pages))
		c.pages = append(c.pages, c.pages[0])
	}
	c.pages[*page][r%pageSize] = n
}

// of returns the number of r, or noSymbol.
func (c *characters) of(r rune) uint32 {
	return c.pages[c.pageOf[uint32(r)/pageSize]][uint32(r)%pageSize]
}

// memory returns the bytes of the table, which may be nil.
func (c *characters) memory() int64 {
	if c == nil {
		return 0
	}
	return int64(2*len(c.pageOf)) + int64(len(c.pages))*4*pageSize
}
