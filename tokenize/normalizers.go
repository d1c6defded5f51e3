package tokenize

import "encoding/json"

// newNormalizers reads the normalizer of a file, with the members of a Sequence in their order.
func newNormalizers(raw json.RawMessage) ([]rewriter, error) {
	p, ok, err := newPart("normalizer", raw)
	if err != nil || !ok {
		return nil, err
	}
	parts, err := p.flatten("normalizers")
	if err != nil {
		return nil, err
	}
	var all []rewriter
	for _, p := range parts {
		r, err := newNormalizer(p)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func newNormalizer(p part) (rewriter, error) {
	switch p.kind {
	default:
		return nil, p.unsupported()
	}
}
