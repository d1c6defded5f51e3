package codec

import (
	"image"
	"slices"
)

// ycbcr converts planes to RGB with the chroma upsampling and the arithmetic of the libraries
// that everyone trains with: libjpeg-turbo's for JPEG, libwebp's for WebP. The image package
// would repeat chroma samples, and take WebP's limited range for JPEG's full one.
func (d *Go) ycbcr(m *image.YCbCr, f Format, r image.Rectangle) {
	w := m.Rect.Dx()
	for i := range d.chroma {
		d.chroma[i] = slices.Grow(d.chroma[i][:0], w+8)[:w+8]
	}
	d.sums = slices.Grow(d.sums[:0], w+8)[:w+8]
	o := d.rgb
	for y := r.Min.Y; y < r.Max.Y; y++ {
		if f == WebP {
			d.webpRow(m, y)
		} else {
			for i, plane := range [][]byte{m.Cb, m.Cr} {
				jpegRow(d.chroma[i], d.sums, plane, m, y)
			}
		}
		luma := m.Y[y*m.YStride:][r.Min.X:r.Max.X]
		cb, cr := d.chroma[0][r.Min.X:r.Max.X], d.chroma[1][r.Min.X:r.Max.X]
		if f == WebP {
			webpColors(o, luma, cb, cr)
		} else {
			jpegColors(o, luma, cb, cr)
		}
		o = o[3*len(luma):]
	}
}

// jpegColors is jdcolor.c's: 16 bits of fraction.
func jpegColors(o, luma, cb, cr []byte) {
	const half = 1 << 15
	cb, cr = cb[:len(luma)], cr[:len(luma)]
	for i, y := range luma {
		y, b, r := int32(y), int32(cb[i])-128, int32(cr[i])-128
		p := (*[3]byte)(o[3*i:])
		p[0] = clamp(y + (91881*r+half)>>16)
		p[1] = clamp(y + (-22554*b-46802*r+half)>>16)
		p[2] = clamp(y + (116130*b+half)>>16)
	}
}

// webpColors is libwebp's dsp/yuv.h: luma is 16 to 235.
func webpColors(o, luma, u, v []byte) {
	u, v = u[:len(luma)], v[:len(luma)]
	for i, y := range luma {
		y, u, v := int32(y)*19077>>8, int32(u[i]), int32(v[i])
		p := (*[3]byte)(o[3*i:])
		p[0] = clamp((y + v*26149>>8 - 14234) >> 6)
		p[1] = clamp((y - u*6419>>8 - v*13320>>8 + 8708) >> 6)
		p[2] = clamp((y + u*33050>>8 - 17685) >> 6)
	}
}

func clamp(v int32) byte { return byte(max(0, min(v, 255))) }

// factors are how much smaller the chroma planes are.
func factors(r image.YCbCrSubsampleRatio) (across, down int) {
	switch r {
	case image.YCbCrSubsampleRatio422:
		return 2, 1
	case image.YCbCrSubsampleRatio420:
		return 2, 2
	case image.YCbCrSubsampleRatio440:
		return 1, 2
	case image.YCbCrSubsampleRatio411:
		return 4, 1
	case image.YCbCrSubsampleRatio410:
		return 4, 2
	}
	return 1, 1
}

// jpegRow upsamples row y of a chroma plane as jdsample.c does: the nearest sample counts 3/4 and
// the next 1/4, in each direction. Ratios of 4, and planes of two columns, are repeated.
func jpegRow(o []byte, sums []int32, plane []byte, m *image.YCbCr, y int) {
	across, down := factors(m.SubsampleRatio)
	w, h := (m.Rect.Dx()+across-1)/across, (m.Rect.Dy()+down-1)/down
	near := plane[y/down*m.CStride:][:w]
	far := near
	if down == 2 {
		far = plane[max(0, min(h-1, y/2-1+y&1*2))*m.CStride:][:w]
	}
	switch {
	case across == 1 && down == 1:
		copy(o, near)
	case across == 1:
		bias := int32(1 + y&1)
		for i, v := range near {
			o[i] = byte((3*int32(v) + int32(far[i]) + bias) >> 2)
		}
	case across == 2 && w > 2 && down == 1:
		for i, v := range near {
			sums[i] = int32(v)
		}
		widen(o, sums[:w], 1, 2, 2)
	case across == 2 && w > 2:
		for i, v := range near {
			sums[i] = 3*int32(v) + int32(far[i])
		}
		widen(o, sums[:w], 8, 7, 4)
	default:
		for i, v := range near {
			for j := range across {
				o[i*across+j] = v
			}
		}
	}
}

// widen makes two samples of each: with left and right the rounding of the two.
func widen(o []byte, sums []int32, left, right int32, shift uint) {
	last := len(sums) - 1
	for i, v := range sums {
		before, after := sums[max(i-1, 0)], sums[min(i+1, last)]
		o[2*i] = byte((3*v + before + left) >> shift)
		o[2*i+1] = byte((3*v + after + right) >> shift)
	}
}

// webpRow upsamples both planes as libwebp's dsp/upsampling.c does: 9/16, 3/16, 3/16 and 1/16 of
// the four samples around, rounded in two steps.
func (d *Go) webpRow(m *image.YCbCr, y int) {
	w, h := (m.Rect.Dx()+1)/2, (m.Rect.Dy()+1)/2
	for i, plane := range [][]byte{m.Cb, m.Cr} {
		near := plane[y/2*m.CStride:][:w]
		far := plane[max(0, min(h-1, y/2-1+y&1*2))*m.CStride:][:w]
		o := d.chroma[i]
		o[0] = byte((3*int32(near[0]) + int32(far[0]) + 2) >> 2)
		for x := 1; x < w; x++ {
			a, b, c, e := int32(near[x-1]), int32(near[x]), int32(far[x-1]), int32(far[x])
			all := a + b + c + e + 8
			o[2*x-1] = byte(((all+2*(b+c))>>3 + a) >> 1)
			o[2*x] = byte(((all+2*(a+e))>>3 + b) >> 1)
		}
		o[2*w-1] = byte((3*int32(near[w-1]) + int32(far[w-1]) + 2) >> 2)
	}
}
