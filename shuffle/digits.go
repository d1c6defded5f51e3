package shuffle

// radices of n: its odd prime factors ascending, then its twos. The rule makes L the odd part of
// the world size times a power of two, so that a world size of that form is the product of the
// first radices of L.
func radices(n int) []int {
	var f []int
	twos := 0
	for n%2 == 0 && n > 0 {
		n /= 2
		twos++
	}
	for p := 3; n > 1; p += 2 {
		for n%p == 0 {
			f = append(f, p)
			n /= p
		}
	}
	for range twos {
		f = append(f, 2)
	}
	return f
}

// reverseDigits maps i in [0, n) to the number whose mixed-radix digits are i's in reverse order.
// For a divisor w of n that is the product of the first radices, the i of one residue modulo w map
// to one run of n/w consecutive numbers.
func reverseDigits(n int) []int {
	f := radices(n)
	out := make([]int, n)
	for i := range out {
		place, rest := n, i
		for _, r := range f {
			place /= r
			out[i] += rest % r * place
			rest /= r
		}
	}
	return out
}

func invert(perm []int) []int {
	out := make([]int, len(perm))
	for i, v := range perm {
		out[v] = i
	}
	return out
}
