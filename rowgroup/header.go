package rowgroup

import (
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/format"
)

var errHeader = errors.New("corrupt page header")

// A pageHeader is what decoding needs of a PageHeader message.
type pageHeader struct {
	kind     format.PageType
	bytes    int // of the header itself
	stored   int // bytes of the body in the shard
	size     int // bytes of the body when decompressed
	values   int // entries, nulls and empty lists included; of a dictionary page its values
	rows     int // v2 only
	encoding format.Encoding

	defEncoding, repEncoding format.Encoding // v1 only
	defBytes, repBytes       int             // v2 only
	plainBody                bool            // v2 only: the values are not compressed

	crc    uint32
	hasCRC bool
}

// parsePageHeader reads the header at the beginning of b. The body that it announces may reach
// beyond b.
func parsePageHeader(b []byte, h *pageHeader) error {
	*h = pageHeader{kind: -1, stored: -1, size: -1}
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
		return fmt.Errorf("%w: %w", errHeader, r.err)
	}
	h.bytes = r.pos
	return h.check()
}

func (h *pageHeader) readField(r *thriftReader, id int16, typ byte) {
	switch {
	case id == 1 && typ == thriftI32:
		h.kind = format.PageType(r.int32())
	case id == 2 && typ == thriftI32:
		h.size = int(r.int32())
	case id == 3 && typ == thriftI32:
		h.stored = int(r.int32())
	case id == 4 && typ == thriftI32:
		h.crc, h.hasCRC = uint32(r.int32()), true
	case (id == 5 || id == 7 || id == 8) && typ == thriftStruct:
		h.readKind(r, id)
	default:
		r.skip(typ)
	}
}

// readKind reads the part of the header that differs by kind of page: DataPageHeader (5),
// DictionaryPageHeader (7), DataPageHeaderV2 (8).
func (h *pageHeader) readKind(r *thriftReader, kind int16) {
	r.enter()
	defer r.leave()
	for id := int16(0); ; {
		typ, ok := r.field(&id)
		switch {
		case !ok:
			return
		case kind == 8 && id == 7 && (typ == thriftTrue || typ == thriftFalse):
			h.plainBody = typ == thriftFalse
		case typ != thriftI32:
			r.skip(typ)
		case kind == 8:
			h.readV2(r, id)
		case id == 1:
			h.values = int(r.int32())
		case id == 2:
			h.encoding = format.Encoding(r.int32())
		case id == 3:
			h.defEncoding = format.Encoding(r.int32())
		case id == 4:
			h.repEncoding = format.Encoding(r.int32())
		default:
			r.skip(typ)
		}
	}
}

func (h *pageHeader) readV2(r *thriftReader, id int16) {
	v := int(r.int32())
	switch id {
	case 1:
		h.values = v
	case 3:
		h.rows = v
	case 4:
		h.encoding = format.Encoding(v)
	case 5:
		h.defBytes = v
	case 6:
		h.repBytes = v
	}
}

func (h *pageHeader) check() error {
	switch {
	case h.kind < format.DataPage || h.kind > format.DataPageV2:
		return fmt.Errorf("%w: page type %d", errHeader, h.kind)
	case h.stored < 0 || h.size < 0 || h.values < 0 || h.rows < 0 || h.defBytes < 0 || h.repBytes < 0:
		return fmt.Errorf("%w: negative size", errHeader)
	case h.size > math.MaxInt32-64:
		return fmt.Errorf("%w: a page of %d bytes", errHeader, h.size)
	case h.rows > h.values:
		return fmt.Errorf("%w: %d rows in %d values", errHeader, h.rows, h.values)
	case h.kind != format.DataPageV2:
		return nil
	case h.defBytes > h.size || h.repBytes > h.size-h.defBytes || h.defBytes > h.stored || h.repBytes > h.stored-h.defBytes:
		return fmt.Errorf("%w: levels of %d + %d bytes in a page of %d", errHeader, h.repBytes, h.defBytes, h.size)
	}
	return nil
}

// isDictionary says whether the page's values are positions in the dictionary.
func (h *pageHeader) isDictionary() bool {
	return h.encoding == plainDictionary || h.encoding == format.RLEDictionary
}
