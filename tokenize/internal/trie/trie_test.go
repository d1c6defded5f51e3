package trie

import (
	"math/rand/v2"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// find returns the value of a key.
func find(t *Trie, key string) int32 {
	n, value, ok := t.Root(), int32(None), true
	for i := 0; i < len(key); i++ {
		if n, value, ok = t.Step(n, key[i]); !ok {
			return None
		}
	}
	return value
}

// TestRandom compares tries with maps.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, letters := range []int{1, 2, 5, 256} {
		want := map[string]int32{}
		var keys []string
		var values []int32
		word := func() string {
			b := make([]byte, r.IntN(8))
			for i := range b {
				b[i] = byte(r.IntN(letters))
			}
			return string(b)
		}
		for i := range 4000 {
			key := word()
			keys, values = append(keys, key), append(values, int32(i))
			if key != "" {
				want[key] = int32(i)
			}
		}
		trie, err := New(keys, values)
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range want {
			if got := find(trie, key); got != value {
				t.Fatalf("%d letters: %q has %d, want %d", letters, key, got, value)
			}
		}
		for range 10000 {
			key := word() + word()
			value, ok := want[key]
			if !ok {
				value = None
			}
			if got := find(trie, key); got != value {
				t.Fatalf("%d letters: %q has %d, want %d", letters, key, got, value)
			}
		}
	}
}

// TestFill: at most a quarter of the units of a large trie is free.
func TestFill(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	keys, values := make([]string, 40000), make([]int32, 40000)
	nodes := map[string]bool{}
	for i := range keys {
		key := ""
		for range 1 + r.IntN(10) {
			key += string(rune('a' + int(r.ExpFloat64()*4)%26))
		}
		keys[i], values[i] = key, int32(i)
		for n := range key {
			nodes[key[:n+1]] = true
		}
	}
	trie, err := New(keys, values)
	if err != nil {
		t.Fatal(err)
	}
	if units := len(trie.units); 3*units > 4*len(nodes) {
		t.Errorf("%d nodes take %d units", len(nodes), units)
	}
}

func TestEmpty(t *testing.T) {
	trie, err := New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for b := range 256 {
		if _, _, ok := trie.Step(trie.Root(), byte(b)); ok {
			t.Errorf("byte %d is a key", b)
		}
	}
}

func TestWalk(t *testing.T) {
	trie, err := New([]string{"##ab", "a"}, []int32{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	n, ok := trie.Walk("##a")
	if _, value, found := trie.Step(n, 'b'); !ok || !found || value != 1 {
		t.Errorf("##ab has %d", value)
	}
	if _, ok := trie.Walk("#b"); ok {
		t.Error("#b is there")
	}
}
