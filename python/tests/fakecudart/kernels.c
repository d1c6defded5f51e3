// The kernels of shardfeed.torch on a CPU: the text that a GPU would run (KERNEL_TEXT), thread after thread.
//
// With MAIN it is a program that makes batches of decoded images. Standard input has for each batch the number of rows, whether there is
// jitter, the Format, the rows, the table, and the bytes of the decoded images; standard output has the results.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  unsigned x, y, z;
} Index;

static __thread Index blockIdx, threadIdx, blockDim, gridDim;

static void atomicAdd(unsigned long long *sum, unsigned long long more) { __atomic_fetch_add(sum, more, __ATOMIC_RELAXED); }

#define __device__
#define KERNEL static void
#include KERNEL_TEXT

#define POINTER(type, i) (*(type *const *)a[i])

static void one_place(void **a) { place(POINTER(const int, 0), POINTER(const unsigned char, 1), POINTER(unsigned char, 2), *(long long *)a[3]); }

static void one_crop(void **a) {
  crop(POINTER(const int, 0), POINTER(const unsigned char, 1), POINTER(unsigned char, 2), POINTER(unsigned, 3), POINTER(unsigned long long, 4),
       POINTER(const unsigned, 5), *(Format *)a[6]);
}

static void one_gray(void **a) { gray(POINTER(const int, 0), POINTER(const unsigned, 1), POINTER(unsigned long long, 2), *(Format *)a[3]); }

static void one_jitter(void **a) {
  jitter(POINTER(const int, 0), POINTER(const unsigned, 1), POINTER(const unsigned long long, 2), POINTER(unsigned char, 3),
         POINTER(const unsigned, 4), *(Format *)a[5]);
}

static const struct {
  const char *name;
  int arguments;
  size_t last; // bytes of the last argument; the others are addresses
  void (*one)(void **);
} kernels[] = {
    {"place", 4, sizeof(long long), one_place},
    {"crop", 7, sizeof(Format), one_crop},
    {"gray", 4, sizeof(Format), one_gray},
    {"jitter", 6, sizeof(Format), one_jitter},
};

// The number of a kernel, or -1.
int kernel_number(const char *name) {
  for (int k = 0; k < (int)(sizeof kernels / sizeof *kernels); k++) {
    if (strcmp(kernels[k].name, name) == 0) return k;
  }
  return -1;
}

int kernel_arguments(int k) { return kernels[k].arguments; }

size_t kernel_argument_bytes(int k, int i) { return i == kernels[k].arguments - 1 ? kernels[k].last : sizeof(void *); }

// Runs all threads of a kernel.
void kernel_run(int k, const unsigned grid[3], const unsigned block[3], void **arguments) {
  gridDim = (Index){grid[0], grid[1], grid[2]};
  blockDim = (Index){block[0], block[1], block[2]};
  for (unsigned n = 0; n < grid[0] * grid[1] * grid[2]; n++) {
    blockIdx = (Index){n % grid[0], n / grid[0] % grid[1], n / grid[0] / grid[1]};
    for (unsigned i = 0; i < block[0] * block[1] * block[2]; i++) {
      threadIdx = (Index){i % block[0], i / block[0] % block[1], i / block[0] / block[1]};
      kernels[k].one(arguments);
    }
  }
}

#ifdef MAIN
static void *take(size_t bytes) {
  void *memory = malloc(bytes + 1);
  if (memory == NULL || fread(memory, 1, bytes, stdin) != bytes) exit(1);
  return memory;
}

static void start(const char *name, const unsigned grid[3], const unsigned block[3], void **arguments) {
  kernel_run(kernel_number(name), grid, block, arguments);
}

int main(void) {
  int count;
  while (fread(&count, sizeof count, 1, stdin) == 1) {
    int *jittered = take(sizeof *jittered);
    Format *f = take(sizeof *f);
    int *rows = take(count * ROW * sizeof *rows);
    unsigned *table = take(768 * sizeof *table);
    long long *bytes = take(sizeof *bytes);
    unsigned char *decoded = take(*bytes);
    size_t area = (size_t)f->height * f->width, size = 3 * area * f->bytes * count;
    unsigned char *out = calloc(size, 1);
    unsigned *scratch = *jittered ? calloc(count * area, sizeof *scratch) : NULL;
    unsigned long long *sums = calloc(count, sizeof *sums);
    unsigned grid[3] = {count, (f->width + 31) / 32, (f->height + 7) / 8}, block[3] = {32, 8, 1};
    unsigned lines[3] = {count, 8, 1}, line[3] = {256, 1, 1};
    start("crop", grid, block, (void *[]){&rows, &decoded, &out, &scratch, &sums, &table, f});
    if (*jittered) {
      start("gray", lines, line, (void *[]){&rows, &scratch, &sums, f});
      start("jitter", grid, block, (void *[]){&rows, &scratch, &sums, &out, &table, f});
    }
    if (fwrite(out, 1, size, stdout) != size || fflush(stdout) != 0) return 1;
    free(jittered), free(f), free(rows), free(table), free(bytes), free(decoded), free(out), free(scratch), free(sums);
  }
  return 0;
}
#endif
