package normal

// A Normalizer rewrites texts.
type Normalizer interface {
	// Append appends the normal form of text to dst, which does not overlap it. If changed is
	// false, text is its own normal form, and out has nothing of use beyond dst.
	Append(dst, text []byte) (out []byte, changed bool)
}
