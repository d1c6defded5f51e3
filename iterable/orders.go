package iterable

// keptOrders is how many orders are kept for reuse.
const keptOrders = 16

// takeOrder returns memory for the order of so many rows; giveOrder takes it back.
func (r *readahead) takeOrder(rows int) []uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.orders) - 1; i >= 0; i-- {
		if o := r.orders[i]; cap(o) >= rows {
			r.orders = append(r.orders[:i], r.orders[i+1:]...)
			return o[:0]
		}
	}
	if len(r.orders) > 0 { // all are too small: one that will not be asked for again
		r.orders = r.orders[1:]
	}
	return make([]uint32, 0, rows)
}

func (r *readahead) giveOrder(o []uint32) {
	if o == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.orders) < keptOrders {
		r.orders = append(r.orders, o)
	}
}
