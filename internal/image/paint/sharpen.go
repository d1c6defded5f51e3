package paint

// sharpen blends each pixel with the weighted mean of its 3 x 3 neighbors, of which the middle
// counts 5 of 13. Pixels at the border do not change.
func (c *Canvas) sharpen(f float64) {
	w, h := c.Width, c.Rows()
	if w <= 2 || h <= 2 {
		return
	}
	var part [511]float64 // of the difference, as fused adds it
	for d := range part {
		part[d] = float64(float32(d-255)) * float64(float32(1-f))
	}
	mix := func(v, sum uint64) uint64 {
		mean := (2*int(sum) + 13) / 26 // rounded: sum/13 is never halfway
		return uint64(cut(float32(float64(v) + part[mean-int(v)+255])))
	}
	o := c.other()
	copy(o, c.Pixels)
	for y := 1; y < h-1; y++ {
		above, row, below := c.Row(y-1), c.Row(y), c.Row(y+1)
		to := o[y*w:][:w]
		for x := 1; x < w-1; x++ {
			v := row[x]
			s := above[x-1] + above[x] + above[x+1] + row[x-1] + 5*v + row[x+1] + below[x-1] + below[x] + below[x+1]
			const mask = 1<<lane - 1
			to[x] = mix(v&mask, s&mask) | mix(v>>lane&mask, s>>lane&mask)<<lane | mix(v>>(2*lane), s>>(2*lane))<<(2*lane)
		}
	}
	c.swap()
}
