package rowgroup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/rowgroup/internal/image"
)

// openMapped opens a file of several row groups that are all kept decoded.
func openMapped(t *testing.T, mapped *image.Mapped) (*memTier, *Reader, *Decoder) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	file := writeRows(t, [][]everyRow{randomRows(1, 200), randomRows(2, 150), randomRows(3, 120+rng.IntN(50))}, parquet.Compression(&parquet.Snappy))
	tier := &memTier{}
	m, d := openDecoder(t, file, Options{Tier: tier.open, Mapped: mapped})
	keepAll(t, m)
	return tier, m, d
}

// used, room and known return the bytes that images take, their limit, and the number of images.
func used(m *MappedImages) int64 { return reflect.ValueOf(m).Elem().FieldByName("used").Int() }
func room(m *MappedImages) int64 { return reflect.ValueOf(m).Elem().FieldByName("room").Int() }
func known(m *MappedImages) int  { return reflect.ValueOf(m).Elem().FieldByName("all").Len() }

// inImage makes a block that lies in the image of row group g.
func inImage(m *Reader, d *Decoder, g int) (*Block, error) {
	raw, err := m.Fetch(context.Background(), Rows{RowGroup: g, Hi: m.Groups()[g].Rows})
	if err != nil {
		return nil, err
	}
	defer raw.Release()
	if raw.tier == nil {
		return nil, fmt.Errorf("row group %d is not in the tier", g)
	}
	return d.whole(raw, Layout{InImage: true})
}

func mustInImage(t *testing.T, m *Reader, d *Decoder, g int) *Block {
	t.Helper()
	b, err := inImage(m, d, g)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Images stay lent where there is room, from their verification on, and go when the room is taken
// back.
func TestImagesStayMapped(t *testing.T) {
	mapped := &image.Mapped{}
	tier, m, d := openMapped(t, mapped)
	epoch := func() (lent int) {
		before := tier.reads
		for g := range m.Groups() {
			mustInImage(t, m, d, g).Release()
		}
		return tier.reads - before
	}
	epoch() // also lends the headers
	if n := epoch(); n != 3 || tier.lent != 0 {
		t.Fatalf("without room %d images of 3 are lent, and %d leases stay", n, tier.lent)
	}
	mapped.Allow(1 << 30)
	epoch()
	if n := epoch(); n != 0 || tier.lent != 3 {
		t.Fatalf("with room %d images are lent again, and %d leases of 3 stay", n, tier.lent)
	}
	mapped.Allow(-1<<30 + 1)
	if tier.lent != 0 {
		t.Fatalf("%d leases stay without room", tier.lent)
	}
	i, _ := m.Kept(1)
	mapped.Allow(i.Bytes)
	epoch()
	if tier.lent != 1 || used(mapped) > room(mapped) {
		t.Errorf("%d leases stay with room for one of the second row group, %d bytes of %d", tier.lent, used(mapped), room(mapped))
	}
	mapped.Allow(-room(mapped))
	if tier.lent != 0 || used(mapped) != 0 || known(mapped) != 0 {
		t.Errorf("%d leases, %d bytes, %d images are known", tier.lent, used(mapped), known(mapped))
	}
}

// An image takes no room while a block lies in it, whose owner counts its bytes.
func TestMappedImageInUse(t *testing.T) {
	mapped := &image.Mapped{}
	tier, m, d := openMapped(t, mapped)
	mapped.Allow(1 << 30)
	mustInImage(t, m, d, 0).Release()
	i, _ := m.Kept(0)
	raw, err := m.Fetch(context.Background(), Rows{Hi: m.Groups()[0].Rows})
	if err != nil || used(mapped) != i.Bytes {
		t.Fatalf("%v, %d bytes are counted, the image has %d", err, used(mapped), i.Bytes)
	}
	mapped.Allow(-1 << 30)
	if tier.lent != 1 {
		t.Fatal("the lease of a unit has ended")
	}
	raw.Release()
	if tier.lent != 0 || used(mapped) != 0 {
		t.Fatalf("%d leases stay without room, %d bytes", tier.lent, used(mapped))
	}
	mapped.Allow(1 << 30)
	mustInImage(t, m, d, 0).Release()
	first := mustInImage(t, m, d, 0)
	second := mustInImage(t, m, d, 0)
	if used(mapped) != 0 || tier.lent != 1 {
		t.Errorf("%d bytes are counted twice, %d leases of one image", used(mapped), tier.lent)
	}
	first.Release()
	if used(mapped) != 0 {
		t.Errorf("%d bytes are counted twice", used(mapped))
	}
	mapped.Allow(-1 << 30)
	if tier.lent != 1 {
		t.Fatal("the lease of a block has ended")
	}
	second.Release()
	if tier.lent != 0 || known(mapped) != 0 {
		t.Errorf("%d leases stay without room", tier.lent)
	}
}

// Where leases must be short no more images stay mapped, and a block may lie only in an image that
// stays already.
func TestNoMoreImagesStay(t *testing.T) {
	mapped := &image.Mapped{}
	tier, m, d := openMapped(t, mapped)
	mapped.Allow(1 << 30)
	mustInImage(t, m, d, 0).Release()
	tier.busy = true
	for g, stays := range []bool{true, false, false} {
		raw, err := m.Fetch(context.Background(), Rows{RowGroup: g, Hi: m.Groups()[g].Rows})
		if err != nil {
			t.Fatal(err)
		}
		if raw.tier == nil || raw.TierStays() != stays {
			t.Errorf("row group %d: from the tier %t, a block may lie there %t", g, raw.tier != nil, raw.TierStays())
		}
		raw.Release()
	}
	if tier.lent != 1 {
		t.Errorf("%d leases stay", tier.lent)
	}
}

// An image whose bytes are gone is not used again, though it is mapped.
func TestMappedImageGone(t *testing.T) {
	mapped := &image.Mapped{}
	tier, m, d := openMapped(t, mapped)
	mapped.Allow(1 << 30)
	held := mustInImage(t, m, d, 0)
	mustInImage(t, m, d, 1).Release()
	for _, f := range tier.files {
		clear(f.blocks)
	}
	for g := range m.Groups() {
		raw, err := m.Fetch(context.Background(), Rows{RowGroup: g, Hi: m.Groups()[g].Rows})
		if err != nil {
			t.Fatal(err)
		}
		if raw.tier != nil {
			t.Errorf("row group %d comes from the tier", g)
		}
		raw.Release()
	}
	if tier.lent != 1 || used(mapped) != 0 {
		t.Errorf("%d leases, want that of the block; %d bytes", tier.lent, used(mapped))
	}
	held.Release()
	if tier.lent != 0 {
		t.Errorf("%d leases are left", tier.lent)
	}
}

// Goroutines that use the same images while room comes and goes leave no lease behind, and no byte.
func TestMappedImagesConcurrently(t *testing.T) {
	mapped := &image.Mapped{}
	tier, m, _ := openMapped(t, mapped)
	var all sync.WaitGroup
	for k := range 4 {
		all.Go(func() {
			d, rng := m.NewDecoder(), rand.New(rand.NewPCG(uint64(k), 1))
			defer d.Close()
			for range 200 {
				switch rng.IntN(4) {
				case 0:
					n := rng.Int64N(200_000)
					mapped.Allow(n)
					defer mapped.Allow(-n)
				default:
					b, err := inImage(m, d, rng.IntN(3))
					if err != nil {
						t.Error(err)
						return
					}
					b.Release()
				}
			}
		})
	}
	all.Wait()
	if tier.lent != 0 || used(mapped) != 0 || known(mapped) != 0 {
		t.Errorf("%d leases, %d bytes, %d images are known", tier.lent, used(mapped), known(mapped))
	}
}
