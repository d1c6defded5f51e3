package wire

import "testing"

func TestRedactText(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "no address: a/b?token=1", "no address: a/b?token=1"},
		{"password", "open s3://AKIA:hush@b/k: denied", "open s3://AKIA:***@b/k: denied"},
		{"signature", `Get "https://h/k?X-Amz-Signature=hush": EOF`, `Get "https://h/k?X-Amz-Signature=***": EOF`},
		{"two", "webhdfs://n/a?delegation=hush, https://h/b?x=1&token=hush", "webhdfs://n/a?delegation=*** https://h/b?x=1&token=***"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Redact(c.text); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
