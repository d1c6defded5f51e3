package fakecuda

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

//go:embed driver
var source embed.FS

// flags are what the library is compiled with; its C is held to no warning.
var flags = []string{"-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fPIC", "-fvisibility=hidden", "-shared", "-pthread"}

// Build compiles the library and returns its path; without the functions that are named, as in an old driver. It is kept in the user's cache
// for as long as the source is the same. Without a C compiler the test is skipped, or fails with CI=true.
func Build(t testing.TB, without ...string) string {
	t.Helper()
	args := slices.Clone(flags)
	for _, name := range without {
		args = append(args, fmt.Sprintf("-D%s=without_%s", name, name))
	}
	dir, err := cacheDir(args)
	if err != nil {
		t.Fatal("fakecuda:", err)
	}
	library := filepath.Join(dir, "libcuda.so.1")
	if _, err := os.Stat(library); err == nil {
		return library
	}
	if err := compile(t, args, library); err != nil {
		t.Fatal("fakecuda:", err)
	}
	return library
}

// cacheDir is where the library of this source and these arguments is kept.
func cacheDir(args []string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, args)
	files, err := source.ReadDir("driver")
	if err != nil {
		return "", err
	}
	for _, f := range files {
		text, err := source.ReadFile("driver/" + f.Name())
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, f.Name(), len(text))
		h.Write(text)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		base = filepath.Join(os.TempDir(), fmt.Sprintf("shardfeed-%d", os.Getuid()))
	}
	return filepath.Join(base, "shardfeed", "fakecuda", fmt.Sprintf("%x", h.Sum(nil)[:8])), nil
}

// compile writes the library beside its place and moves it there whole, so that tests of other packages may do the same at the same time.
func compile(t testing.TB, args []string, library string) error {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI=true and there is no C compiler for the fake CUDA driver:", err)
		}
		t.Skip("SKIPPED: no C compiler for the fake CUDA driver:", err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, source); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "driver", "*.c"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(library), 0o700); err != nil {
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
	if out, err := exec.Command(cc, slices.Concat(args, []string{"-o", part.Name()}, files)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cc, err, out)
	}
	return os.Rename(part.Name(), library)
}
