package driver

import (
	"strings"
	"testing"
)

func TestParsePartitions(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"", ""},
		{"a", ""},
		{"k=1", ""},
		{"k=1/a", "k=1"},
		{"/k=1/x/l=2/a", "k=1 l=2"},
		{"=1/a", ""},
		{"k=/a", "k="},
		{"k=a=b/a", "k=a=b"},
		{"k%3D=1%202/a", "k==1 2"},
		{"k=%zz%4/a", "k=%zz%4"},
		{"k=%25%2f/a", "k=%/"},
		{"k=__HIVE_DEFAULT_PARTITION__/a", "k:null"},
		{"k=__HIVE_DEFAULT_PARTITION__x/a", "k=__HIVE_DEFAULT_PARTITION__x"},
		{"k=%5F_HIVE_DEFAULT_PARTITION__/a", "k=__HIVE_DEFAULT_PARTITION__"},
		{"한=글/a", "한=글"},
	} {
		t.Run(c.path, func(t *testing.T) {
			var got []string
			for _, p := range parsePartitions(c.path) {
				if p.Null {
					got = append(got, p.Key+":null"+p.Value)
				} else {
					got = append(got, p.Key+"="+p.Value)
				}
			}
			if g := strings.Join(got, " "); g != c.want {
				t.Errorf("%q, want %q", g, c.want)
			}
		})
	}
}

func FuzzParsePartitions(f *testing.F) {
	f.Add("k=1/l=%20/a")
	f.Fuzz(func(t *testing.T, path string) {
		for _, p := range parsePartitions(path) {
			if p.Key == "" && !strings.Contains(path, "%") || p.Null && p.Value != "" {
				t.Fatalf("%+v", p)
			}
		}
		if !strings.Contains(path, "%") && percentDecode(path) != path {
			t.Fatal("decoded what was not encoded")
		}
	})
}
