package regular

import "testing"

func TestHome(t *testing.T) {
	for _, c := range []struct{ path, home, want string }{
		{"~", "/home/a", "/home/a"},
		{"~/c", "/home/a", "/home/a/c"},
		{"~b/c", "/home/a", "~b/c"},
		{"/c/~", "/home/a", "/c/~"},
		{"~/c", "", "~/c"},
		{"", "/home/a", ""},
	} {
		if got := Home(c.path, c.home); got != c.want {
			t.Errorf("%q with the home %q: got %q, want %q", c.path, c.home, got, c.want)
		}
	}
}
