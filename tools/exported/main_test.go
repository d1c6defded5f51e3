package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The names that only tests use are found, except methods that an interface wants and fields with
// tags.
func TestUnused(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"a/a.go": `package a

import "fmt"

type Used struct {
	Set, Literal, Never int
	Tagged int ` + "`json:\"tagged\"`" + `
	Mutex Lock
}

type Lock struct{}

func (l *Lock) Lock() {}

func (u Used) String() string { return fmt.Sprint(u.Never) }
func (u Used) Called() {}
func (u Used) Forgotten() {}
func (u *Used) Read(b []byte) (int, error) { return 0, nil }

type Generic[T any] struct{ Field T }

func (g Generic[T]) Method() {}
func (g Generic[T]) Idle() {}

type Unused struct{ A int }

func Function() {}
func OnlyTests() {}

const Constant, Other = 1, 2
`,
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestA(*testing.T) { OnlyTests(); _ = Used{Never: 1} }\n",
		"main.go": `package main

import (
	"io"

	"example.com/m/a"
)

func main() {
	u := a.Used{Literal: a.Constant}
	u.Set++
	u.Called()
	u.Mutex.Lock()
	a.Function()
	a.Generic[int]{Field: 1}.Method()
	var _ io.Reader = &u
}
`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pkgs, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a.Generic.Idle", "a.OnlyTests", "a.Other", "a.Unused", "a.Used.Forgotten", "a.Used.Never"}
	if got := unused(pkgs); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReport(t *testing.T) {
	names := []string{"a/b.F", "a/b.T.M", "c.G"}
	for _, c := range []struct{ allow, want string }{
		{"a/b.*\nc.G # for users\n", ""},
		{"a/b.T\na/b.F\nc.*", ""},
		{"a/b.*", "c.G"},
		{"a/b.*\nc.*\nd.X", "d.X"},
	} {
		t.Run(c.allow, func(t *testing.T) {
			err := report(names, parseAllowed([]byte(c.allow)), "f")
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), "\t"+c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
