package paint

import "github.com/shardfeed/shardfeed/internal/image/resize"

// A table has the result for each value of each channel.
type table [3][256]uint8

// same is a table of one function for all channels.
func same(of func(v int) uint8) *table {
	var t table
	for v := range t[0] {
		t[0][v] = of(v)
	}
	t[1], t[2] = t[0], t[0]
	return &t
}

func (t *table) apply(pixels resize.Row) {
	for i, p := range pixels {
		r, g, b := resize.Unpack(p)
		pixels[i] = resize.Pack(t[0][r], t[1][g], t[2][b])
	}
}

// posterize keeps the upper bits of each value.
func posterize(pixels resize.Row, bits int) {
	if bits >= 8 {
		return
	}
	mask := uint64(uint8(0xff << (8 - bits)))
	for i := range pixels {
		pixels[i] &= mask * ones
	}
}

// solarize inverts values from a threshold on.
func solarize(pixels resize.Row, threshold float32) {
	same(func(v int) uint8 {
		if float32(v) >= threshold {
			return uint8(255 - v)
		}
		return uint8(v)
	}).apply(pixels)
}

// counts are the histograms of the channels.
func counts(pixels resize.Row) (n [3][256]int) {
	for _, p := range pixels {
		r, g, b := resize.Unpack(p)
		n[0][r]++
		n[1][g]++
		n[2][b]++
	}
	return n
}

// autoContrast spreads the values of each channel over 0 to 255, in the float32 of torchvision.
func autoContrast(pixels resize.Row) {
	n := counts(pixels)
	var t table
	for c := range t {
		least, most := 0, 255
		for least < 255 && n[c][least] == 0 {
			least++
		}
		for most > 0 && n[c][most] == 0 {
			most--
		}
		scale := float32(1)
		if least >= most {
			least = 0
		} else {
			scale = float32(most-least) * float32(1./255)
		}
		for v := range t[c] {
			t[c][v] = cut(float32(v-least) / scale)
		}
	}
	t.apply(pixels)
}

// equalize evens out the histogram of each channel, as Pillow does.
func equalize(pixels resize.Row) {
	n := counts(pixels)
	var t table
	for c := range t {
		last := 255
		for last > 0 && n[c][last] == 0 {
			last--
		}
		step := (len(pixels) - n[c][last]) / 255
		sum := 0
		for v := range t[c] {
			if t[c][v] = uint8(v); step > 0 {
				t[c][v] = uint8(min((sum+step/2)/step, 255))
			}
			sum += n[c][v]
		}
	}
	t.apply(pixels)
}
