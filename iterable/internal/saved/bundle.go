package saved

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

// A plan file is the plan and the footers of its shards, so that a start reads only this file. All
// integers are little-endian.
//
//	head, 64 bytes
//	 0   8  "sfplan2\n"
//	 8   8  length of the file
//	16   8  P: bytes of the plan
//	24   8  bytes of the plan when it is decompressed
//	32   4  B: blocks of footers
//	36   4  crc32c of the plan and of the table, as in the file
//	40  20  zero
//	60   4  crc32c of bytes 0-59
//
//	from 64 on
//	P       the plan: a frame of zstd; see planFile for what is in it
//	16 * B  the table: of each block 4 bytes each for its shards, its bytes in the file, those when it
//	        is decompressed, and the crc32c of those in the file
//	        the blocks: consecutive frames of zstd; see rowgroup.Manifest.Known
//
// The shards of the blocks are the plan's, in order; in a mixture, the shards of the first
// source, then of the next. A plan of an earlier version is only its JSON, and has no footers.
const (
	bundleMagic = "sfplan2\n"
	bundleHead  = 64
	bundleEntry = 16

	maxPlanBytes  = 2 << 30 // of the plan
	maxBlockBytes = 1 << 30 // of a block; one holds a footer at least
)

var (
	planCRC    = crc32.MakeTable(crc32.Castagnoli)
	errDamaged = errors.New("it is damaged: a checksum does not fit; copy it again, or save it again")
	errCut     = errors.New("it was cut short, or more was written behind it; copy it again")
)

// errLarge reports that a file would be larger than allowed.
var errLarge = errors.New("it would be too large")

// bundle returns the bytes of a plan file, or of another that starts with magic, with the footers
// of manifests. It fails with errLarge if they are more than most.
func bundle(magic string, f any, manifests []*rowgroup.Reader, most int64) ([]byte, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	plan := z.EncodeAll(text, nil)
	var table, blocks []byte
	for _, m := range manifests {
		for shards, block := range m.Known() {
			stored := z.EncodeAll(block, nil)
			if len(block) > maxBlockBytes {
				return nil, fmt.Errorf("a footer has %d bytes, and a plan holds at most %d", len(block), maxBlockBytes)
			}
			for _, n := range []uint32{uint32(shards), uint32(len(stored)), uint32(len(block)), crc32.Checksum(stored, planCRC)} {
				table = binary.LittleEndian.AppendUint32(table, n)
			}
			blocks = append(blocks, stored...)
			if int64(bundleHead+len(plan)+len(table)+len(blocks)) > most {
				return nil, errLarge
			}
		}
	}
	b := make([]byte, bundleHead, bundleHead+len(plan)+len(table)+len(blocks))
	b = append(append(append(b, plan...), table...), blocks...)
	copy(b, magic)
	for off, n := range map[int]int{8: len(b), 16: len(plan), 24: len(text)} {
		binary.LittleEndian.PutUint64(b[off:], uint64(n))
	}
	binary.LittleEndian.PutUint32(b[32:], uint32(len(table)/bundleEntry))
	binary.LittleEndian.PutUint32(b[36:], crc32.Checksum(b[bundleHead:len(b)-len(blocks)], planCRC))
	binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], planCRC))
	return b, nil
}

// A object is a plan file that is open: of a store, of this machine, or in memory.
type object interface {
	ReadAt(ctx context.Context, p []byte, off int64) error
}

// A bundleReader reads a plan file with footers.
type bundleReader struct {
	object object
	size   int64
	front  []byte // the first bytes of the file, which are read
	parse  func(text []byte) (*Plan, error)
	z      *zstd.Decoder

	table  []byte
	blocks int64 // their offset
}

// readBundle reads the plan, by parse, and then the footers, several blocks at a time.
func readBundle(ctx context.Context, o object, size int64, front []byte, parse func([]byte) (*Plan, error)) (*Plan, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPlanBytes))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	r := &bundleReader{object: o, size: size, front: front, parse: parse, z: z}
	p, err := r.plan(ctx)
	if err != nil {
		return nil, err
	}
	footers, err := r.footers(ctx)
	if err != nil {
		return nil, err
	}
	return p, p.give(footers)
}

// plan checks the head, and reads the plan and the table.
func (r *bundleReader) plan(ctx context.Context) (*Plan, error) {
	head, err := r.read(ctx, 0, bundleHead)
	if err != nil {
		return nil, err
	}
	length, plan := binary.LittleEndian.Uint64(head[8:]), binary.LittleEndian.Uint64(head[16:])
	raw, table := binary.LittleEndian.Uint64(head[24:]), uint64(binary.LittleEndian.Uint32(head[32:]))*bundleEntry
	sum := binary.LittleEndian.Uint32(head[36:])
	switch {
	case crc32.Checksum(head[:60], planCRC) != binary.LittleEndian.Uint32(head[60:]):
		return nil, errDamaged
	case length != uint64(r.size):
		return nil, errCut
	case plan > length || bundleHead+plan+table > length || raw > maxPlanBytes:
		return nil, errDamaged
	}
	both, err := r.read(ctx, bundleHead, int64(plan+table))
	if err != nil {
		return nil, err
	}
	if crc32.Checksum(both, planCRC) != sum {
		return nil, errDamaged
	}
	r.table, r.blocks = both[plan:], int64(bundleHead+plan+table)
	text, err := r.decompress(both[:plan], raw)
	if err != nil {
		return nil, err
	}
	return r.parse(text)
}

// read returns bytes of the file, from its front if that has them all.
func (r *bundleReader) read(ctx context.Context, off, n int64) ([]byte, error) {
	if off+n <= int64(len(r.front)) {
		return r.front[off : off+n : off+n], nil
	}
	if n > r.size-off {
		return nil, errCut
	}
	b := make([]byte, n)
	have := 0
	if off < int64(len(r.front)) {
		have = copy(b, r.front[off:])
	}
	return b, r.object.ReadAt(ctx, b[have:], off+int64(have))
}

func (r *bundleReader) decompress(stored []byte, raw uint64) ([]byte, error) {
	b, err := r.z.DecodeAll(stored, nil)
	if err != nil || uint64(len(b)) != raw {
		return nil, errDamaged
	}
	return b[:len(b):len(b)], nil
}

// A bundleBlock is an entry of the table.
type bundleBlock struct {
	shards, stored, raw, sum uint32
}

// footers reads all blocks.
func (r *bundleReader) footers(ctx context.Context) (all []rowgroup.Known, err error) {
	var blocks []bundleBlock
	end := r.blocks
	for t := r.table; len(t) > 0; t = t[bundleEntry:] {
		at := func(i int) uint32 { return binary.LittleEndian.Uint32(t[4*i:]) }
		b := bundleBlock{at(0), at(1), at(2), at(3)}
		if end += int64(b.stored); b.raw > maxBlockBytes || b.shards > b.raw || b.shards > math.MaxInt32 {
			return nil, errDamaged
		}
		blocks = append(blocks, b)
	}
	if end != r.size {
		return nil, errDamaged
	}
	for off := r.blocks; len(blocks) > 0; {
		n, size := 0, int64(0)
		for ; n < len(blocks) && (n == 0 || size+int64(blocks[n].stored) <= planPiece); n++ {
			size += int64(blocks[n].stored)
		}
		piece, err := r.read(ctx, off, size)
		if err != nil {
			return nil, err
		}
		for _, b := range blocks[:n] {
			if all, err = r.block(all, b, piece[:b.stored]); err != nil {
				return nil, err
			}
			piece = piece[b.stored:]
		}
		blocks, off = blocks[n:], off+size
	}
	return all, nil
}

// block adds the footers of a block.
func (r *bundleReader) block(all []rowgroup.Known, b bundleBlock, stored []byte) ([]rowgroup.Known, error) {
	if crc32.Checksum(stored, planCRC) != b.sum {
		return nil, errDamaged
	}
	raw, err := r.decompress(stored, uint64(b.raw))
	if err != nil {
		return nil, err
	}
	some, err := rowgroup.ParseKnown(raw, int(b.shards))
	if err != nil {
		return nil, errDamaged
	}
	return append(all, some...), nil
}

// give gives each source its footers.
func (p *Plan) give(footers []rowgroup.Known) error {
	plans := []*Plan{p}
	if p.Sources != nil {
		plans = nil
		for i := range p.Sources {
			plans = append(plans, &p.Sources[i].Plan)
		}
	}
	for _, of := range plans {
		n := len(of.Manifest.Shards)
		if n > len(footers) {
			return errDamaged
		}
		of.Footers, footers = footers[:n:n], footers[n:]
	}
	if len(footers) > 0 {
		return errDamaged
	}
	return nil
}

// bytesObject is a plan file in memory.
type bytesObject []byte

func (b bytesObject) ReadAt(_ context.Context, p []byte, off int64) error {
	if _, err := bytes.NewReader(b).ReadAt(p, off); err != nil {
		return errCut
	}
	return nil
}

var _ object = shard.Object(nil)
