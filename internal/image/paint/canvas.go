package paint

import (
	"slices"

	"github.com/shardfeed/shardfeed/images/augment"
	"github.com/shardfeed/shardfeed/internal/image/resize"
)

const (
	lane = 21 // bits from a channel to the next in a pixel of a Row
	ones = 1 | 1<<lane | 1<<(2*lane)
)

// A Canvas is the pixels of an image, row by row.
type Canvas struct {
	Pixels resize.Row
	Width  int

	spare   resize.Row // as large as Pixels, for operations that cannot work in place
	line    resize.Row // of blur: a row with its borders, and sums
	weights []uint64
	places  []float32 // of sampling: what each column adds to x and y
}

// Append adds a row. All rows have one width.
func (c *Canvas) Append(row resize.Row) {
	c.Pixels, c.Width = append(c.Pixels, row...), len(row)
}

// FlipLast reverses the last row.
func (c *Canvas) FlipLast() { slices.Reverse(c.Pixels[len(c.Pixels)-c.Width:]) }

// Rows returns the number of rows.
func (c *Canvas) Rows() int { return len(c.Pixels) / max(1, c.Width) }

// Row returns a row.
func (c *Canvas) Row(y int) resize.Row { return c.Pixels[y*c.Width:][:c.Width] }

// Apply changes the pixels by operations, in order.
func (c *Canvas) Apply(ops []augment.Op) {
	for i := range ops {
		c.apply(&ops[i])
	}
}

func (c *Canvas) apply(op *augment.Op) {
	switch op.Kind {
	case augment.ShearX, augment.ShearY, augment.TranslateX, augment.TranslateY, augment.Rotate:
		c.sample(op)
	case augment.Brightness:
		blend(c.Pixels, op.Value, 0)
	case augment.Contrast:
		blend(c.Pixels, op.Value, meanGray(c.Pixels))
	case augment.Color:
		saturate(c.Pixels, op.Value)
	case augment.Hue:
		hue(c.Pixels, float32(op.Value))
	case augment.Sharpness:
		c.sharpen(op.Value)
	case augment.Posterize:
		posterize(c.Pixels, int(op.Value))
	case augment.Solarize:
		solarize(c.Pixels, float32(op.Value))
	case augment.AutoContrast:
		autoContrast(c.Pixels)
	case augment.Equalize:
		equalize(c.Pixels)
	case augment.Invert:
		solarize(c.Pixels, 0)
	case augment.Grayscale:
		grayscale(c.Pixels)
	case augment.Blur:
		c.blur(op.Kernel, op.Value)
	case augment.Erase:
		c.erase(op)
	}
}

// other returns memory for as many pixels, which swap exchanges with Pixels.
func (c *Canvas) other() resize.Row {
	c.spare = grow(c.spare, len(c.Pixels))
	return c.spare
}

func (c *Canvas) swap() { c.Pixels, c.spare = c.spare, c.Pixels }

func grow(r resize.Row, n int) resize.Row { return slices.Grow(r[:0], n)[:n] }

// erase fills a rectangle.
func (c *Canvas) erase(op *augment.Op) {
	color := colorOf(op.Fill)
	for y := op.Rect.Min.Y; y < op.Rect.Max.Y; y++ {
		row := c.Row(y)[op.Rect.Min.X:op.Rect.Max.X]
		for x := range row {
			row[x] = color
		}
	}
}

func colorOf(c [3]int) uint64 { return resize.Pack(byte(c[0]), byte(c[1]), byte(c[2])) }
