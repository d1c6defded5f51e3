package paint

import (
	"math"
	"slices"

	"github.com/shardfeed/shardfeed/images/augment"
	"github.com/shardfeed/shardfeed/internal/image/resize"
)

// A matrix maps a pixel of the result to the place in the picture that it shows: x is m[0]*x +
// m[1]*y + m[2], y is m[3]*x + m[4]*y + m[5], both from the middle of the picture.
type matrix [6]float64

// inverse returns the matrix of an operation, as torchvision's _get_inverse_affine_matrix.
func inverse(op *augment.Op, width, height int) matrix {
	switch v := op.Value; op.Kind {
	case augment.ShearX:
		return matrix{1, v, v * float64(height) / 2, 0, 1, 0}
	case augment.ShearY:
		return matrix{1, 0, 0, v, 1, v * float64(width) / 2}
	case augment.TranslateX:
		return matrix{1, 0, -v, 0, 1, 0}
	case augment.TranslateY:
		return matrix{1, 0, 0, 0, 1, -v}
	}
	sin, cos := math.Sincos(op.Value * math.Pi / 180)
	return matrix{cos, -sin, 0, sin, cos, 0}
}

// sample makes the picture of the places that a matrix maps its pixels to. The places are computed
// in float32 in the order of torchvision's _affine_grid and torch's grid_sample, so that places
// halfway between two pixels fall to the same one.
func (c *Canvas) sample(op *augment.Op) {
	w, h := c.Width, c.Rows()
	m := inverse(op, w, h)
	across, down := gridOf(m[:3], w), gridOf(m[3:], h)
	c.places = slices.Grow(c.places[:0], 2*w)[:2*w]
	xs, ys := c.places[:w], c.places[w:]
	for x := range xs {
		from := float32(x) - float32(w-1)/2
		xs[x], ys[x] = from*across.x, from*down.x
	}
	o := c.other()
	fill := colorOf(op.Fill)
	for y := range h {
		from := float32(y) - float32(h-1)/2
		across.row, down.row = from*across.y, from*down.y
		row := o[y*w:][:w]
		if op.Bilinear {
			c.bilinear(row, xs, ys, &across, &down, op.Fill)
		} else {
			c.nearest(row, xs, ys, &across, &down, fill)
		}
	}
	c.swap()
}

// A grid computes one coordinate of places, from a row of a matrix over half the picture's side.
type grid struct {
	x, y, plus float32 // weights, and what is added
	half       float32 // of the side
	row        float32 // what the row adds
}

func gridOf(m []float64, side int) grid {
	half := float32(side) / 2
	return grid{x: float32(m[0]) / half, y: float32(m[1]) / half, plus: float32(m[2]) / half, half: half}
}

// at returns the place of a column that adds x.
func (g *grid) at(x float32) float32 {
	return float32((x+g.row+g.plus+1)*g.half) - 0.5
}

// nearest fills a row with the pixels nearest to the places.
func (c *Canvas) nearest(row resize.Row, xs, ys []float32, across, down *grid, fill uint64) {
	w, h := c.Width, c.Rows()
	xs, ys = xs[:len(row)], ys[:len(row)]
	for i := range row {
		x, y := int(math.RoundToEven(float64(across.at(xs[i])))), int(math.RoundToEven(float64(down.at(ys[i]))))
		if uint(x) < uint(w) && uint(y) < uint(h) {
			row[i] = c.Pixels[y*w+x]
		} else {
			row[i] = fill
		}
	}
}

// bilinear fills a row with the means of the four pixels around each place. Outside of the picture
// there are black pixels, and with a fill of another color the means of fill and picture.
func (c *Canvas) bilinear(row resize.Row, xs, ys []float32, across, down *grid, fill [3]int) {
	w, h := c.Width, c.Rows()
	for i := range row {
		left, top := float64(across.at(xs[i])), float64(down.at(ys[i]))
		x, y := int(math.Floor(left)), int(math.Floor(top))
		fx, fy := left-float64(x), top-float64(y)
		switch {
		case uint(x) < uint(w-1) && uint(y) < uint(h-1):
			row[i] = inner(c.Pixels[y*w+x:], w, fx, fy)
		case x < -1 || x >= w || y < -1 || y >= h:
			row[i] = colorOf(fill)
		default:
			row[i] = c.edge(x, y, fx, fy, fill)
		}
	}
}

// inner returns the mean of the first pixel, its right one, and the two below, for rows of a width.
func inner(pixels resize.Row, width int, fx, fy float64) uint64 {
	const one = 1 << weightBits
	right, below := uint64(int64(fx*one+0.5)), uint64(int64(fy*one+0.5))
	both := right * below >> weightBits
	return (pixels[0]*(one-right-below+both) + pixels[1]*(right-both) + pixels[width]*(below-both) + pixels[width+1]*both + half) >> weightBits & low8
}

// edge is the mean where some of the four pixels are outside.
func (c *Canvas) edge(x, y int, fx, fy float64, fill [3]int) uint64 {
	w, h := c.Width, c.Rows()
	var sum [3]float64
	inside := 0.0
	for k, weight := range [...]float64{(1 - fx) * (1 - fy), fx * (1 - fy), (1 - fx) * fy, fx * fy} {
		x, y := x+k&1, y+k>>1
		if uint(x) >= uint(w) || uint(y) >= uint(h) {
			continue
		}
		r, g, b := resize.Unpack(c.Pixels[y*w+x])
		sum[0] += weight * float64(r)
		sum[1] += weight * float64(g)
		sum[2] += weight * float64(b)
		inside += weight
	}
	var v [3]byte
	for i, s := range sum {
		if fill != [3]int{} {
			s = (s-float64(fill[i]))*inside + float64(fill[i])
		}
		v[i] = byte(math.RoundToEven(max(0, min(s, 255))))
	}
	return resize.Pack(v[0], v[1], v[2])
}
