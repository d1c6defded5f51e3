package boxes

// A View is the part of a picture that an image of Width x Height pixels shows: x0, y0, x1, y1, as
// images.Options.View returns it. A flip exchanges x0 and x1.
type View struct {
	Part          [4]float64
	Width, Height int
}

// at returns the place in the image of a place in the picture.
func (v *View) at(x, y float64) (float64, float64) {
	p := &v.Part
	return (x - p[0]) * float64(v.Width) / (p[2] - p[0]), (y - p[1]) * float64(v.Height) / (p[3] - p[1])
}

// Move moves a box or a point, whose numbers n has in the order of Format, from the picture to the
// image. It reports whether the box or the point stays.
func (o *Options) Move(n []float32, v *View) bool {
	if o.Format.point() {
		return o.point(n, v)
	}
	c := o.Format.corners(n)
	c[0], c[1] = v.at(c[0], c[1])
	c[2], c[3] = v.at(c[2], c[3])
	if c[0] > c[2] {
		c[0], c[2] = c[2], c[0]
	}
	w, h := float64(v.Width), float64(v.Height)
	cut := [4]float64{within(c[0], w), within(c[1], h), within(c[2], w), within(c[3], h)}
	if !o.Unclipped {
		c = cut
	}
	o.Format.put(n, c)
	least := o.MinSize
	if least == 0 {
		least = 1
	}
	return o.KeepAll || cut[2]-cut[0] >= least && cut[3]-cut[1] >= least
}

// point moves a point. A flip takes the first column of pixels to the last, W - 1, as in
// torchvision. A point that leaves the image is not visible any more, and a point that is not
// visible is at 0, 0.
func (o *Options) point(n []float32, v *View) bool {
	x, y := v.at(float64(n[0]), float64(n[1]))
	if v.Part[0] > v.Part[2] {
		x--
	}
	w, h := float64(v.Width), float64(v.Height)
	seen := x >= 0 && x < w && y >= 0 && y < h
	if o.Format == XYV {
		if seen = seen && n[2] != 0; !seen {
			x, y, n[2] = 0, 0, 0
		}
	}
	if !o.Unclipped {
		x, y = within(x, w-1), within(y, h-1)
	}
	n[0], n[1] = float32(x), float32(y)
	return o.KeepAll || seen
}

func within(v, most float64) float64 { return max(0, min(v, most)) }

// corners returns left, top, right and bottom of a box.
func (f Format) corners(n []float32) [4]float64 {
	a, b, c, d := float64(n[0]), float64(n[1]), float64(n[2]), float64(n[3])
	switch f {
	case XYWH:
		return [4]float64{a, b, a + c, b + d}
	case CXCYWH:
		return [4]float64{a - c/2, b - d/2, a + c/2, b + d/2}
	}
	return [4]float64{a, b, c, d}
}

// put stores a box of these corners.
func (f Format) put(n []float32, c [4]float64) {
	switch f {
	case XYWH:
		c[2], c[3] = c[2]-c[0], c[3]-c[1]
	case CXCYWH:
		c = [4]float64{(c[0] + c[2]) / 2, (c[1] + c[3]) / 2, c[2] - c[0], c[3] - c[1]}
	}
	for i, v := range c {
		n[i] = float32(v)
	}
}
