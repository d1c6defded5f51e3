package tokenize

const (
	needsFrom   = 16 << 10 // bytes of a text that needs more than Memory counts
	needsOfText = 12       // bytes a byte: rewritten text, and tokens
	needsOfRun  = 36       // bytes a byte of a long word or of marks on a character: symbols and a heap
)

// Needs returns the bytes that an encoder may take for a text beside Memory, its tokens among them.
// It looks for the longest run without a space, or of spaces, which may be one word. Normalizers are
// taken to lengthen text at most three times, as NFC does: NFKC makes eleven times as many bytes of
// U+FDFA, and up to five times as many of others.
func Needs(text []byte) int64 {
	if len(text) < needsFrom {
		return 0
	}
	return needsOfText*int64(len(text)) + needsOfRun*int64(longestRun(text))
}

// longestRun returns the length of the longest run of spaces, or of other bytes, and at least
// runStep.
func longestRun(text []byte) int {
	const runStep = 4 << 10
	most := runStep
	for start := 0; start < len(text); {
		end := min(start+runStep, len(text))
		i := end - 1
		for i > start && isSpace(text[i]) == isSpace(text[i-1]) {
			i--
		}
		if i > start {
			start = i
			continue
		}
		for end < len(text) && isSpace(text[end]) == isSpace(text[start]) {
			end++
		}
		most, start = max(most, end-start), end
	}
	return most
}

func isSpace(c byte) bool { return c <= ' ' }
