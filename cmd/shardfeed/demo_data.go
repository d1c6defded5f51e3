package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/testdata"
)

const (
	shopGroupBytes = 4 << 20 // of a generated row group, about
	groupsPerShard = 8
	leastGroups    = 16
	imageSide      = 112 // pixels
	imageKinds     = 64  // images that are drawn; each row's has its number in a comment, so no two are alike
)

// embeddedShop puts the shop that lies in the program into memory.
func embeddedShop() (shard.Stores, []string, error) {
	store := &mem.Store{}
	names, err := fs.Glob(testdata.Shop, "shop/*.parquet")
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		content, err := testdata.Shop.ReadFile(name)
		if err != nil {
			return nil, nil, err
		}
		store.Put(name, content)
	}
	return shard.Stores{"mem": store}, []string{"mem://shop"}, nil
}

// A product is a row of the generated shop, with the columns of the embedded one.
type product struct {
	UniqueID string   `parquet:"unique_id"`
	Image    []byte   `parquet:"img_jpg"`
	Title    string   `parquet:"title"`
	TokenIDs []int32  `parquet:"token_ids,list"`
	Label    string   `parquet:"label,dict"`
	Price    *float64 `parquet:"price,optional"`
}

// generateShop writes about size bytes of shards into dir. added is called with the rows of each
// row group.
func generateShop(ctx context.Context, dir string, size int64, added func(bytes int64)) error {
	images, err := drawImages()
	if err != nil {
		return err
	}
	rowBytes := 200
	for _, img := range images {
		rowBytes += len(img) / len(images)
	}
	groups := max(leastGroups, size/shopGroupBytes)
	perGroup := max(1, size/int64(rowBytes)/groups)
	g := &shopGenerator{images: images, rng: rand.New(rand.NewPCG(1, 2)), perGroup: int(perGroup)}
	for first := int64(0); first < groups; first += groupsPerShard {
		name := filepath.Join(dir, fmt.Sprintf("part-%05d.parquet", first/groupsPerShard))
		n := int(min(groupsPerShard, groups-first))
		if err := g.writeShard(ctx, name, n, func() { added(perGroup * int64(rowBytes)) }); err != nil {
			return err
		}
	}
	return nil
}

// A shopGenerator makes the same products on every machine.
type shopGenerator struct {
	images   [][]byte
	rng      *rand.Rand
	perGroup int
	next     int // number of the next product
}

func (g *shopGenerator) writeShard(ctx context.Context, name string, groups int, wrote func()) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := parquet.NewGenericWriter[product](file, parquet.Compression(&parquet.Snappy))
	batch := make([]product, g.perGroup)
	for range groups {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for i := range batch {
			batch[i] = g.product()
		}
		if _, err := w.Write(batch); err != nil {
			return err
		}
		if err := w.Flush(); err != nil { // ends the row group
			return err
		}
		wrote()
	}
	return w.Close()
}

var (
	shopColours = [...][2]string{{"파랑", "blue"}, {"빨강", "red"}, {"검정", "black"}, {"하양", "white"}, {"초록", "green"}}
	shopGoods   = [...][3]string{
		{"티셔츠", "tee", "의류>티셔츠"},
		{"바지", "trousers", "의류>바지"},
		{"운동화", "sneakers", "신발>운동화"},
		{"가방", "bag", "잡화>가방"},
		{"모자", "cap", "잡화>모자"},
		{"컵", "mug", "주방>컵"},
		{"의자", "chair", "가구>의자"},
		{"책상", "desk", "가구>책상"},
	}
)

func (g *shopGenerator) product() product {
	n := g.next
	g.next++
	colour, good := shopColours[g.rng.IntN(len(shopColours))], shopGoods[g.rng.IntN(len(shopGoods))]
	p := product{
		UniqueID: fmt.Sprintf("N%011d", n),
		Image:    numbered(g.images[g.rng.IntN(len(g.images))], n),
		Title:    fmt.Sprintf("%s %s %d / %s %s", colour[0], good[0], n%100, colour[1], good[1]),
		TokenIDs: make([]int32, 4+g.rng.IntN(36)),
		Label:    good[2],
	}
	for i := range p.TokenIDs {
		p.TokenIDs[i] = int32(32000 * g.rng.Float64() * g.rng.Float64())
	}
	if g.rng.IntN(10) > 0 {
		price := float64(1000+100*g.rng.IntN(990)) / 100
		p.Price = &price
	}
	return p
}

// numbered is the image with a comment segment behind its start marker.
func numbered(img []byte, n int) []byte {
	comment := fmt.Sprintf("%011d", n)
	out := append([]byte{}, img[:2]...)
	out = append(out, 0xff, 0xfe, 0, byte(2+len(comment)))
	out = append(out, comment...)
	return append(out, img[2:]...)
}

// drawImages makes JPEGs of noise around a colour, about 6 KB each.
func drawImages() ([][]byte, error) {
	rng := rand.New(rand.NewPCG(3, 4))
	images := make([][]byte, imageKinds)
	for k := range images {
		img := image.NewRGBA(image.Rect(0, 0, imageSide, imageSide))
		base := [3]int{rng.IntN(200), rng.IntN(200), rng.IntN(200)}
		for y := range imageSide {
			for x := range imageSide {
				noise := rng.IntN(56)
				img.SetRGBA(x, y, color.RGBA{uint8(base[0] + noise), uint8(base[1] + noise), uint8(base[2] + noise), 255})
			}
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, img, nil); err != nil {
			return nil, err
		}
		images[k] = b.Bytes()
	}
	return images, nil
}
