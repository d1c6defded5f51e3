package parquet

// snappyTables has the lookup tables of snappyElements.
type snappyTables struct {
	// elements describes a tag: the lowest 8 bits are the number of bits of the following bytes in
	// a distance, the next 8 are a length, and the others are the distance's upper part. A literal
	// gets a distance that is never too short, an element for the caller one that always is.
	elements [256]uint32
	seconds  [256]uint32 // the second of a pair: any that is not a copy is too long

	patterns [16][16]byte // patterns[n] repeats n bytes
	steps    [16]byte     // how many bytes of them are whole repetitions
}

var theSnappyTables = newSnappyTables()

func newSnappyTables() *snappyTables {
	t := new(snappyTables)
	for tag := range uint32(256) {
		e := &t.elements[tag]
		switch tag & 3 {
		case 0:
			if *e = (tag>>2 + 1) << 8; tag>>2 < 60 {
				*e |= 256 << 8
			}
		case 1:
			*e = 8 | (tag>>2&7+4)<<8 | tag>>5<<16
		case 2:
			*e = 16 | (tag>>2+1)<<8
		case 3:
			*e = 1 << 8
		}
		if t.seconds[tag] = *e; tag&3 == 0 || tag&3 == 3 {
			t.seconds[tag] = 64 << 8
		}
	}
	for n := 1; n < 16; n++ {
		for i := range t.patterns[n] {
			t.patterns[n][i] = byte(i % n)
		}
		t.steps[n] = byte(16 / n * n)
	}
	return t
}
