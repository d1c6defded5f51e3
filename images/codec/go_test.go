package codec_test

import (
	"testing"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/imagetest"
	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// PNG and WebP are those of libpng and libwebp. image/jpeg's inverse DCT differs from
// libjpeg-turbo's by 1 in about a twentieth of the samples, which colors make up to 3. Flat
// blocks are equal: the upsampling and the colors are libjpeg-turbo's. It cannot decode one kind
// of progressive file. Of YCCK, image/jpeg makes CMYK itself: it repeats the samples of colors at
// 4:2:0, and refuses 4:2:2.
func TestGoPixels(t *testing.T) {
	imagetest.CheckDecoder(t, new(codec.Go), []imagetest.Bound{
		{Name: "cv2-restart.jpg", Most: -1},
		{Name: "turbo-ycck-422.jpg", Most: -1},
		{Name: "turbo-ycck-420.jpg", Most: 51},
		{Name: "ycck-flat.jpg", Most: 1},
		{Name: ".png"},
		{Name: ".webp"},
		{Name: "flat"},
		{Name: "gray", Most: 1},
		{Most: 3},
	})
}

// What image/jpeg does not know is not called damaged.
func TestGoUnsupported(t *testing.T) {
	data := imagetest.Corpus(t)["turbo-ycck-422.jpg"]
	h, err := codec.ReadHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	_, err = new(codec.Go).Decode(data, h, h.Bounds(), 1)
	const want = "JPEG: image/jpeg does not support its luma/chroma subsampling ratio; libjpeg-turbo may"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
