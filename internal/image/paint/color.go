package paint

import "github.com/shardfeed/shardfeed/internal/image/resize"

// fused is a*b + c, rounded once, as torch computes add_ with alpha. The product is exact.
func fused(a, b, c float32) float32 { return float32(float64(a)*float64(b) + float64(c)) }

// blend is v*f + to*(1-f) for each value.
func blend(pixels resize.Row, f float64, to float32) {
	var table [256]uint64
	for v := range table {
		table[v] = uint64(cut(fused(to, float32(1-f), float32(v)*float32(f))))
	}

	for i, p := range pixels {
		pixels[i] = table[p&255] | table[p>>lane&255]<<lane | table[p>>(2*lane)&255]<<(2*lane)
	}
}

// saturate blends each pixel with its gray value.
func saturate(pixels resize.Row, f float64) {
	var own, rest [256]float64 // as fused adds them
	for v := range own {
		own[v] = float64(float32(v) * float32(f))
		rest[v] = float64(float32(v)) * float64(float32(1-f))
	}
	for i, p := range pixels {
		r, g, b := resize.Unpack(p)
		k := rest[gray(r, g, b)]
		pixels[i] = resize.Pack(cut(float32(k+own[r])), cut(float32(k+own[g])), cut(float32(k+own[b])))
	}
}

// meanGray is the mean of the gray values.
func meanGray(pixels resize.Row) float32 {
	sum := 0
	for _, p := range pixels {
		sum += int(gray(resize.Unpack(p)))
	}
	return float32(float64(sum) / float64(max(1, len(pixels))))
}

// gray is 0.2989 r + 0.587 g + 0.114 b, cut off.
func gray(r, g, b byte) byte {
	return byte(fused(float32(b), 0.114, fused(float32(g), 0.587, float32(r)*0.2989)))
}

// cut is v as a byte: cut off to a whole number between 0 and 255.
func cut(v float32) byte { return byte(max(0, min(int32(v), 255))) }

// hue turns the hue of each pixel by f of a circle: torchvision's _rgb_to_hsv and _hsv_to_rgb,
// whose roundings it keeps. The conversions of products keep them from being fused with sums.
func hue(pixels resize.Row, f float32) {
	var unit [256]float32
	var grays [256]byte
	for v := range unit {
		unit[v] = float32(v) / 255
		grays[v] = whole(unit[v])
	}
	for i, p := range pixels {
		r, g, b := resize.Unpack(p)
		v := max(r, g, b)
		if v == min(r, g, b) {
			pixels[i] = resize.Pack(grays[v], grays[v], grays[v])
			continue
		}
		h, s := hueOf(unit[r], unit[g], unit[b])
		switch h += f; {
		case h < 0:
			h++
		case h >= 1:
			h--
		}
		x, y, z := rgb(h, s, unit[v])
		pixels[i] = resize.Pack(whole(x), whole(y), whole(z))
	}
}

// whole is torchvision's to_dtype from 0..1 to uint8.
func whole(v float32) byte { return byte(int32(v * (256 - 1e-3))) }

// hueOf is the hue and the saturation of a color that is not gray, from 0 to 1.
func hueOf(r, g, b float32) (h, s float32) {
	v := max(r, g, b)
	span := v - min(r, g, b)
	switch v {
	case r:
		h = (v-b)/span - (v-g)/span
	case g:
		h = 2 + (v-r)/span - (v-b)/span
	default:
		h = 4 + (v-g)/span - (v-r)/span
	}
	h = h/6 + 1
	if h >= 1 {
		h--
	}
	return h, span / v
}

func rgb(h, s, v float32) (r, g, b float32) {
	h = float32(h * 6)
	i := int32(h)
	f := h - float32(i)
	p, q, t := v*(1-s), v*(1-float32(s*f)), v*(1-float32(s*(1-f)))
	switch i {
	case 0, 6:
		return v, t, p
	case 1:
		return q, v, p
	case 2:
		return p, v, t
	case 3:
		return p, q, v
	case 4:
		return t, p, v
	}
	return v, p, q
}

// grayscale removes the colors.
func grayscale(pixels resize.Row) {
	for i, p := range pixels {
		pixels[i] = uint64(gray(resize.Unpack(p))) * ones
	}
}
