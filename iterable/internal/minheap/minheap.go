// Package minheap is container/heap for values of one type.
package minheap

import "container/heap"

// A Heap hands out values from the least on.
type Heap[T any] struct{ values values[T] }

// New returns an empty heap, ordered by less.
func New[T any](less func(a, b T) bool) *Heap[T] { return &Heap[T]{values[T]{less: less}} }

// Len is the number of values.
func (h *Heap[T]) Len() int { return len(h.values.items) }

// All returns the values in no order, until the next call of another method.
func (h *Heap[T]) All() []T { return h.values.items }

// First returns the least value of a heap that has one.
func (h *Heap[T]) First() T { return h.values.items[0] }

// Fix restores the order after the least value changed.
func (h *Heap[T]) Fix() { heap.Fix(&h.values, 0) }

// Push adds a value.
func (h *Heap[T]) Push(x T) { heap.Push(&h.values, x) }

// Pop removes the least value and returns it.
func (h *Heap[T]) Pop() T { return heap.Pop(&h.values).(T) }

// values implements heap.Interface.
type values[T any] struct {
	items []T
	less  func(a, b T) bool
}

func (v *values[T]) Len() int           { return len(v.items) }
func (v *values[T]) Less(i, j int) bool { return v.less(v.items[i], v.items[j]) }
func (v *values[T]) Swap(i, j int)      { v.items[i], v.items[j] = v.items[j], v.items[i] }
func (v *values[T]) Push(x any)         { v.items = append(v.items, x.(T)) }
func (v *values[T]) Pop() any {
	last := len(v.items) - 1
	x := v.items[last]
	clear(v.items[last:])
	v.items = v.items[:last]
	return x
}
