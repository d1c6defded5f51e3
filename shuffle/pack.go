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

// RuleSeed returns what seeds the random numbers that a rule draws for a sample of the unit of a
// source that starts at row lo of a group: others in each epoch, and the same on every world size.
func RuleSeed(seed, epoch uint64, source int32, group int, lo, sample int64) (hi, low uint64) {
	r := newRNG(domRule, seed, epoch, uint64(source), uint64(group), uint64(lo), uint64(sample))
	return r.hi, r.lo
}
