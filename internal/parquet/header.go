package parquet

import (
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/format"
)

// ErrHeader is in errors about page headers.
var ErrHeader = errors.New("corrupt page header")

// PlainDictionary is old writers' encoding of a dictionary's pages, and of pages of codes.
const PlainDictionary format.Encoding = 2

// A PageHeader has the parts of a PageHeader message that decoding needs.
type PageHeader struct {
	Kind     format.PageType
	Bytes    int // of the header itself
	Stored   int // bytes of the body in the file
	Size     int // bytes of the body when decompressed
	Values   int // entries, nulls and empty lists included; of a dictionary page its values
	Rows     int // v2 only
	Encoding format.Encoding

	DefEncoding, RepEncoding format.Encoding // v1 only
	DefBytes, RepBytes       int             // v2 only
	PlainBody                bool            // v2 only: the values are not compressed

	CRC    uint32
	HasCRC bool
}

// ParsePageHeader reads the header at the start of b. The announced body may reach beyond b.
func ParsePageHeader(b []byte, h *PageHeader) error {
	*h = PageHeader{Kind: -1, Stored: -1, Size: -1}
	r := thriftReader{b: b}
	r.fields(func(id int16, typ byte) { h.read(&r, id, typ) })
	if r.err != nil {
		return fmt.Errorf("%w: %w", ErrHeader, r.err)
	}
	h.Bytes = r.pos
	return h.check()
}

func (h *PageHeader) read(r *thriftReader, id int16, typ byte) {
	switch {
	case (id == 5 || id == 7) && typ == thriftStruct: // DataPageHeader, DictionaryPageHeader
		r.fields(func(id int16, typ byte) { h.readV1(r, id, typ) })
	case id == 8 && typ == thriftStruct:
		r.fields(func(id int16, typ byte) { h.readV2(r, id, typ) })
	case typ != thriftI32:
	case id == 1:
		h.Kind = format.PageType(r.int32())
	case id == 2:
		h.Size = int(r.int32())
	case id == 3:
		h.Stored = int(r.int32())
	case id == 4:
		h.CRC, h.HasCRC = uint32(r.int32()), true
	}
}

func (h *PageHeader) readV1(r *thriftReader, id int16, typ byte) {
	switch {
	case typ != thriftI32:
	case id == 1:
		h.Values = int(r.int32())
	case id == 2:
		h.Encoding = format.Encoding(r.int32())
	case id == 3:
		h.DefEncoding = format.Encoding(r.int32())
	case id == 4:
		h.RepEncoding = format.Encoding(r.int32())
	}
}

func (h *PageHeader) readV2(r *thriftReader, id int16, typ byte) {
	switch {
	case id == 7:
		h.PlainBody = typ == thriftFalse
	case typ != thriftI32:
	case id == 1:
		h.Values = int(r.int32())
	case id == 3:
		h.Rows = int(r.int32())
	case id == 4:
		h.Encoding = format.Encoding(r.int32())
	case id == 5:
		h.DefBytes = int(r.int32())
	case id == 6:
		h.RepBytes = int(r.int32())
	}
}

func (h *PageHeader) check() error {
	switch {
	case h.Kind < format.DataPage || h.Kind > format.DataPageV2:
		return fmt.Errorf("%w: page type %d", ErrHeader, h.Kind)
	case h.Stored < 0 || h.Size < 0 || h.Values < 0 || h.Rows < 0 || h.DefBytes < 0 || h.RepBytes < 0:
		return fmt.Errorf("%w: negative size", ErrHeader)
	case h.Size > math.MaxInt32-64:
		return fmt.Errorf("%w: a page of %d bytes", ErrHeader, h.Size)
	case h.Rows > h.Values:
		return fmt.Errorf("%w: %d rows in %d values", ErrHeader, h.Rows, h.Values)
	case h.Kind != format.DataPageV2:
		return nil
	case h.DefBytes > h.Size || h.RepBytes > h.Size-h.DefBytes || h.DefBytes > h.Stored || h.RepBytes > h.Stored-h.DefBytes:
		return fmt.Errorf("%w: levels of %d + %d bytes in a page of %d", ErrHeader, h.RepBytes, h.DefBytes, h.Size)
	}
	return nil
}

// IsDictionary reports whether the page's values are positions in the dictionary.
func (h *PageHeader) IsDictionary() bool {
	return h.Encoding == PlainDictionary || h.Encoding == format.RLEDictionary
}
