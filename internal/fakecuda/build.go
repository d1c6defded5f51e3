package fakecuda

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

//go:embed driver
var source embed.FS

// flags are the compiler's; the C code must compile without warnings.
var flags = []string{"-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fPIC", "-fvisibility=hidden", "-shared", "-pthread"}

// Build compiles the library, without the named functions, like an old driver, and returns its
// path. It caches the library in the user's cache, if there is one, while the source is the same.
// Without a C compiler the test is skipped, or fails with CI=true; it is also skipped if package
// cuda is not built.
func Build(t testing.TB, without ...string) string {
	t.Helper()
	if !supported {
		t.Skip("SKIPPED: the fake CUDA driver is for builds for Linux on amd64 and arm64, without the tag nocuda")
	}
	args := slices.Clone(flags)
	for _, name := range without {
		args = append(args, fmt.Sprintf("-D%s=without_%s", name, name))
	}
	library := filepath.Join(cacheDir(t, args), "libcuda.so.1")
	if _, err := os.Stat(library); err == nil {
		return library
	}
	cc, err := exec.LookPath("cc")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal("CI=true and there is no C compiler for the fake CUDA driver:", err)
	}
	if err != nil {
		t.Skip("SKIPPED: no C compiler for the fake CUDA driver:", err)
	}
	if err := compile(t, cc, args, library); err != nil {
		t.Fatal("fakecuda:", err)
	}
	return library
}

// cacheDir returns the directory for the library of this source and these arguments: the test's own
// if the user has no writable cache.
func cacheDir(t testing.TB, args []string) string {
	t.Helper()
	h := sha256.New()
	fmt.Fprintln(h, args)
	for _, f := range files(t) {
		text, err := source.ReadFile(f)
		if err != nil {
			t.Fatal("fakecuda:", err)
		}
		fmt.Fprintln(h, f, len(text))
		h.Write(text)
	}
	if base, err := os.UserCacheDir(); err == nil {
		dir := filepath.Join(base, "shardfeed", "fakecuda", fmt.Sprintf("%x", h.Sum(nil)[:8]))
		if os.MkdirAll(dir, 0o700) == nil {
			return dir
		}
	}
	return t.TempDir()
}

// files are the source's, headers too.
func files(t testing.TB) []string {
	t.Helper()
	found, err := fs.Glob(source, "driver/*")
	if err != nil {
		t.Fatal("fakecuda:", err)
	}
	return found
}

// compile writes the library beside its place and moves it there whole, so that tests of other
// packages may do the same at the same time.
func compile(t testing.TB, cc string, args []string, library string) error {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, source); err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(library), "part-")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	if err := part.Close(); err != nil {
		return err
	}
	args = append(slices.Clone(args), "-o", part.Name())
	for _, f := range files(t) {
		if filepath.Ext(f) == ".c" {
			args = append(args, filepath.Join(dir, f))
		}
	}
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cc, err, out)
	}
	return os.Rename(part.Name(), library)
}
