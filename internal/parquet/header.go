package parquet

import (
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/format"
)

// ErrHeader is in errors about page headers.
var ErrHeader = errors.New("corrupt page header")

// PlainDictionary is what old writers call a dictionary's pages, and the pages of codes too.
const PlainDictionary format.Encoding = 2

// A PageHeader is what decoding needs of a PageHeader message.
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

// ParsePageHeader reads the header at the beginning of b. The body that it announces may reach
// beyond b.
func ParsePageHeader(b []byte, h *PageHeader) error {
	*h = PageHeader{Kind: -1, Stored: -1, Size: -1}
	r := thriftReader{b: b}
	r.enter()
	for id := int16(0); ; {
		typ, ok := r.field(&id)
		if !ok {
			break
		}
		h.readField(&r, id, typ)
	}
	if r.err != nil {
		return fmt.Errorf("%w: %w", ErrHeader, r.err)
	}
	h.Bytes = r.pos
	return h.check()
}

func (h *PageHeader) readField(r *thriftReader, id int16, typ byte) {
	switch {
	case id == 1 && typ == thriftI32:
		h.Kind = format.PageType(r.int32())
	case id == 2 && typ == thriftI32:
		h.Size = int(r.int32())
	case id == 3 && typ == thriftI32:
		h.Stored = int(r.int32())
	case id == 4 && typ == thriftI32:
		h.CRC, h.HasCRC = uint32(r.int32()), true
	case (id == 5 || id == 7 || id == 8) && typ == thriftStruct:
		h.readKind(r, id)
	default:
		r.skip(typ)
	}
}

// readKind reads the part of the header that differs by kind of page: DataPageHeader (5),
// DictionaryPageHeader (7), DataPageHeaderV2 (8).
func (h *PageHeader) readKind(r *thriftReader, kind int16) {
	r.enter()
	defer r.leave()
	for id := int16(0); ; {
		typ, ok := r.field(&id)
		switch {
		case !ok:
			return
		case kind == 8 && id == 7 && (typ == thriftTrue || typ == thriftFalse):
			h.PlainBody = typ == thriftFalse
		case typ != thriftI32:
			r.skip(typ)
		case kind == 8:
			h.readV2(r, id)
		case id == 1:
			h.Values = int(r.int32())
		case id == 2:
			h.Encoding = format.Encoding(r.int32())
		case id == 3:
			h.DefEncoding = format.Encoding(r.int32())
		case id == 4:
			h.RepEncoding = format.Encoding(r.int32())
		default:
			r.skip(typ)
		}
	}
}

func (h *PageHeader) readV2(r *thriftReader, id int16) {
	v := int(r.int32())
	switch id {
	case 1:
		h.Values = v
	case 3:
		h.Rows = v
	case 4:
		h.Encoding = format.Encoding(v)
	case 5:
		h.DefBytes = v
	case 6:
		h.RepBytes = v
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

// IsDictionary says whether the page's values are positions in the dictionary.
func (h *PageHeader) IsDictionary() bool {
	return h.Encoding == PlainDictionary || h.Encoding == format.RLEDictionary
}
