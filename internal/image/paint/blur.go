package paint

import (
	"math"

	"github.com/shardfeed/shardfeed/internal/image/resize"
)

const (
	weightBits = 13 // 255 x 8192 and the rounding fit into a lane
	half       = ones << (weightBits - 1)
	low8       = 0xff * ones
)

// blur convolves with a Gaussian, rows first, each direction rounded to 8 bits. Outside of
// the picture it is mirrored.
func (c *Canvas) blur(kernel [2]int, sigma float64) {
	o := c.other()
	c.gaussian(kernel[0], sigma)
	w, h := c.Width, c.Rows()
	for y := range h {
		c.across(o[y*w:][:w], c.Row(y))
	}
	c.gaussian(kernel[1], sigma)
	c.line = grow(c.line, w)
	for y := range h {
		c.down(o, y, h)
	}
}

// gaussian sets the weights of one side of a kernel, the middle first, as torchvision computes
// them: exp(-x^2/(2 sigma^2)) over the sum of all. It leaves out weights that are 0.
func (c *Canvas) gaussian(kernel int, sigma float64) {
	r := kernel / 2
	c.weights = grow(c.weights, r+1)
	sum := 0.0
	at := func(k int) float64 { return math.Exp(-float64(k*k) / (2 * sigma * sigma)) }
	for k := -r; k <= r; k++ {
		sum += at(k)
	}
	rest, last := uint64(1<<weightBits), 0
	for k := r; k > 0; k-- {
		c.weights[k] = uint64(at(k)/sum*(1<<weightBits) + 0.5)
		if rest -= 2 * c.weights[k]; c.weights[k] > 0 && last == 0 {
			last = k
		}
	}
	c.weights[0] = rest
	c.weights = c.weights[:last+1]
}

// across blurs a row.
func (c *Canvas) across(o, row resize.Row) {
	r, w := len(c.weights)-1, len(row)
	c.line = grow(c.line, w+2*r)
	for x := range r {
		c.line[x], c.line[r+w+x] = row[r-x], row[w-2-x]
	}
	copy(c.line[r:], row)
	middle := c.line[r:][:w]
	for x := range o {
		o[x] = half + middle[x]*c.weights[0]
	}
	for k := 1; k <= r; k++ {
		add(o, c.line[r-k:][:w], c.line[r+k:][:w], c.weights[k])
	}
	for x := range o {
		o[x] = o[x] >> weightBits & low8
	}
}

// down blurs the columns of the rows in rows, and writes row y of the result.
func (c *Canvas) down(rows resize.Row, y, h int) {
	w := c.Width
	row := func(y int) resize.Row {
		if y < 0 {
			y = -y
		}
		if y >= h {
			y = 2*h - 2 - y
		}
		return rows[y*w:][:w]
	}
	o, middle := c.Row(y), row(y)
	for x := range o {
		o[x] = half + middle[x]*c.weights[0]
	}
	for k := 1; k < len(c.weights); k++ {
		add(o, row(y-k), row(y+k), c.weights[k])
	}
	for x := range o {
		o[x] = o[x] >> weightBits & low8
	}
}

// add adds (a + b) x weight.
func add(o, a, b resize.Row, weight uint64) {
	a, b = a[:len(o)], b[:len(o)]
	for i := range o {
		o[i] += (a[i] + b[i]) * weight
	}
}
