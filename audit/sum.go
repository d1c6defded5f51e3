package audit

// A Sum counts the rows of batches and adds up their hashes.
type Sum struct {
	Rows   int64 // delivered, in the unit of the order: rows, packed blocks or buckets
	Lost   int64 // that the order has and whose data is lost
	Padded int64 // that were repeated to fill batches
	Hash   uint64
}

// Add adds other batches.
func (s *Sum) Add(o Sum) {
	s.Rows, s.Lost, s.Padded, s.Hash = s.Rows+o.Rows, s.Lost+o.Lost, s.Padded+o.Padded, s.Hash+o.Hash
}
