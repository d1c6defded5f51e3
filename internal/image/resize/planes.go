package resize

// packed is how many pixels vector instructions write to planes at once.
const packed = 32

// Planes writes the pixels of a row of 8 bits to three planes, from right to left if flip.
func (r Row) Planes(red, green, blue []byte, flip bool) {
	n := len(r)
	red, green, blue = red[:n], green[:n], blue[:n]
	whole := inVectors(n)
	if whole > 0 {
		at, step := order(n, 0, packed, flip)
		packPlanes(&red[at], &green[at], &blue[at], &r[0], whole, step)
	}
	at, step := order(n, whole, 1, flip)
	for _, p := range r[whole:] {
		red[at], green[at], blue[at] = byte(p), byte(p>>lane), byte(p>>(2*lane))
		at += step
	}
}

// Plane writes the first channel of a row of 8 bits, from right to left if flip.
func (r Row) Plane(o []byte, flip bool) {
	n := len(r)
	o = o[:n]
	whole := inVectors(n)
	if whole > 0 {
		at, step := order(n, 0, packed, flip)
		packPlane(&o[at], &r[0], whole, step)
	}
	at, step := order(n, whole, 1, flip)
	for _, p := range r[whole:] {
		o[at] = byte(p)
		at += step
	}
}

// inVectors returns how many of n pixels vector instructions write: the first ones.
func inVectors(n int) int {
	if canVector() {
		return n - n%packed
	}
	return 0
}

// order returns where pixel x of n goes, together with the pixels behind it that are written at
// once, and how far the next ones are.
func order(n, x, each int, flip bool) (at, step int) {
	if flip {
		return n - x - each, -each
	}
	return x, each
}
