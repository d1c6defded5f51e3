package shard

// A Discarder is an Object that keeps copies of a shard's bytes.
type Discarder interface {
	// Discard drops the copies of these bytes: the next read fetches them from their source.
	Discard(spans []Span)
}

// Discard makes o drop its copies of bytes that turned out to be damaged, if it keeps any.
func Discard(o Object, spans []Span) {
	if d, ok := o.(Discarder); ok {
		d.Discard(spans)
	}
}
