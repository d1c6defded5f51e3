package cuda

import (
	"errors"
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/gpu"
)

func TestError(t *testing.T) {
	for _, c := range []struct {
		err  *Error
		want string
	}{
		{
			&Error{Op: "cuMemHostAlloc", Code: 2, Name: "CUDA_ERROR_OUT_OF_MEMORY", Text: "out of memory", Hint: "ask for less"},
			"cuda: cuMemHostAlloc: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory; ask for less",
		},
		{
			&Error{Op: "cuMemFree", Code: 1, Name: "CUDA_ERROR_INVALID_VALUE", Text: "invalid argument"},
			"cuda: cuMemFree: CUDA_ERROR_INVALID_VALUE (1): invalid argument",
		},
		{&Error{Op: "load", Text: "no such file", Hint: "looked in /lib"}, "cuda: load: no such file; looked in /lib"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if got := c.err.Error(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	wrapped := fmt.Errorf("the ring: %w", &Error{Op: "cuMemHostAlloc", Code: 2})
	if !errors.Is(wrapped, gpu.ErrOutOfMemory) || errors.Is(wrapped, gpu.ErrNoDriver) || errors.Is(wrapped, errors.ErrUnsupported) {
		t.Error("the class of an error is lost when it is wrapped")
	}
}
