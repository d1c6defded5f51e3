package shuffle

// RuleOrder fills dst, grown as needed, with a permutation of n for the rule that makes samples of
// the unit of span j: the same for all spans of the unit, another in each epoch. It is safe for
// concurrent use.
func (l *Lane) RuleOrder(j, n int, dst []uint32) []uint32 {
	p := l.epoch.plan
	u := p.units.At(int(l.spans[j].unit))
	r := newRNG(domPack, p.seed, l.epoch.number, p.groupID(u.Group), uint64(u.Lo))
	return permutation(&r, dst, n)
}
