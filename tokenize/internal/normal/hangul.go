package normal

// Hangul is composed by arithmetic (Unicode, section 3.12).
const (
	syllableFirst, syllableLast = 0xac00, 0xd7a3
	leadFirst, leadLast         = 0x1100, 0x1112
	vowelFirst, vowelLast       = 0x1161, 0x1175
	finalBase, finalLast        = 0x11a7, 0x11c2 // final f is finalBase + f; 0 means no final

	vowels  = vowelLast - vowelFirst + 1
	finals  = finalLast - finalBase + 1
	perLead = vowels * finals
)

func splitSyllable(dst []mark, r rune) []mark {
	s := r - syllableFirst
	dst = append(dst, mark(leadFirst+s/perLead), mark(vowelFirst+s%perLead/finals))
	if final := s % finals; final > 0 {
		dst = append(dst, mark(finalBase+final))
	}
	return dst
}

func joinSyllable(a, b rune) (rune, bool) {
	switch {
	case a >= leadFirst && a <= leadLast && b >= vowelFirst && b <= vowelLast:
		return syllableFirst + ((a-leadFirst)*vowels+b-vowelFirst)*finals, true
	case a >= syllableFirst && a <= syllableLast && (a-syllableFirst)%finals == 0 && b > finalBase && b <= finalLast:
		return a + b - finalBase, true
	}
	return 0, false
}
