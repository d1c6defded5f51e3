package normal

// A Normalizer rewrites texts.
type Normalizer interface {
	// Append appends the normal form of text to dst, which does not overlap it. If changed is
	// false, text is its own normal form, and out has nothing of use beyond dst.
	Append(dst, text []byte) (out []byte, changed bool)
	// Needs returns the bytes that Append appends at most, and the bytes of its buffers. Up to
	// Loose bytes, both may be more than needed.
	Needs(text []byte) (size, beside int)
}

// Loose is the number of bytes that a text may take without being looked at.
const Loose = 64 << 10
