// Decoded JPEGs of many sizes to a batch of tensors: turned, cropped, resized, flipped, jittered and
// normalised as package images does it on a CPU.
//
//   place   copies the rows that came as finished pixels, and clears lost rows
//   crop    resizes the box of each JPEG, with antialiasing
//   gray    sums the gray values, for the mean that the contrast needs
//   jitter  changes the colors
//
// The text is C that a C compiler takes too: the tests run it on a CPU. A block's first index is the
// row of the batch. Products and sums are fused only where fmaf says so.
#ifndef KERNEL
#define KERNEL extern "C" __global__ void
#endif

// A row of 24 whole numbers, as the engine sends it; its place, of 64 bits, is the trainer's.
enum { KIND, WIDTH, HEIGHT, TURN, X0, Y0, X1, Y1, SIZE_X, SIZE_Y, AT_X, AT_Y, FLIP, ORDER, FACTOR = ORDER + 4, PLACE = 22, ROW = 24 };

enum { FINISHED, ENCODED, LOST };                // KIND
enum { BRIGHTNESS, CONTRAST, SATURATION, HUE };  // of ORDER
enum { PITCH = 32 };                             // a decoded line's bytes are a multiple of it

// What is the same for all rows.
typedef struct {
  int height, width;
  int bytes;        // of an element: 1, 2 or 4
  int channels_last;
  int cubic;        // the filter
  unsigned fill;    // the color around a picture: red | green << 8 | blue << 16
} Format;

typedef struct {
  int from, to;     // samples
  float center;     // in samples
  float wide;       // samples that the filter's unit covers
} Taps;

// located returns the bytes of a row: its decoded planes, or its finished pixels.
__device__ static const unsigned char *located(const unsigned char *bytes, const int *row) {
  return bytes + ((long long)row[PLACE + 1] << 32 | (unsigned)row[PLACE]);
}

__device__ static float weight(float x, int cubic) {
  x = fabsf(x);
  if (!cubic) return x < 1.f ? 1.f - x : 0.f;
  if (x < 1.f) return fmaf(fmaf(1.5f, x, -2.5f) * x, x, 1.f);
  if (x < 2.f) return fmaf(fmaf(fmaf(-0.5f, x, 2.5f), x, -4.f), x, 2.f);
  return 0.f;
}

// taps finds the samples of output i, of n that are made of all samples.
__device__ static Taps taps(int i, int n, int samples, int cubic) {
  float scale = (float)samples / (float)n;
  Taps t;
  t.wide = scale > 1.f ? scale : 1.f;
  t.center = ((float)i + 0.5f) * scale;
  float support = cubic ? 2.f * t.wide : t.wide;
  t.from = (int)floorf(t.center - support + 0.5f);
  t.to = (int)floorf(t.center + support + 0.5f);
  if (t.from < 0) t.from = 0;
  if (t.to > samples) t.to = samples;
  if (t.from > samples - 1) t.from = samples - 1;
  if (t.to <= t.from) t.to = t.from + 1;
  return t;
}

__device__ static float total(Taps t, int cubic) {
  float sum = 0.f;
  for (int j = t.from; j < t.to; j++) sum += weight(((float)j - t.center + 0.5f) / t.wide, cubic);
  return sum;
}

__device__ static float whole(float v) {
  v = floorf(v + 0.5f);
  return v < 0.f ? 0.f : v > 255.f ? 255.f : v;
}

__device__ static unsigned pack(float r, float g, float b) { return (unsigned)r | (unsigned)g << 8 | (unsigned)b << 16; }

// sample scales the box at an output of the scaled picture: across first, each direction rounded.
__device__ static unsigned sample(const int *row, const unsigned char *pixels, int x, int y, int cubic) {
  long long pitch = (row[WIDTH] + PITCH - 1) / PITCH * PITCH, plane = pitch * row[HEIGHT];
  int turn = row[TURN];
  // The stored picture, as steps to the right and down in the upright one.
  int across = turn >= 5 ? row[HEIGHT] : row[WIDTH], down = turn >= 5 ? row[WIDTH] : row[HEIGHT];
  long long right = turn >= 5 ? pitch : 1, below = turn >= 5 ? 1 : pitch;
  if (turn == 2 || turn == 3 || turn == 6 || turn == 7) {
    pixels += right * (across - 1);
    right = -right;
  }
  if (turn == 3 || turn == 4 || turn == 7 || turn == 8) {
    pixels += below * (down - 1);
    below = -below;
  }
  Taps h = taps(x, row[SIZE_X], row[X1] - row[X0], cubic), v = taps(y, row[SIZE_Y], row[Y1] - row[Y0], cubic);
  float th = total(h, cubic), tv = total(v, cubic);
  pixels += below * (row[Y0] + v.from) + right * (row[X0] + h.from);
  float r = 0.f, g = 0.f, b = 0.f;
  for (int j = v.from; j < v.to; j++, pixels += below) {
    float lr = 0.f, lg = 0.f, lb = 0.f;
    const unsigned char *p = pixels;
    for (int i = h.from; i < h.to; i++, p += right) {
      float w = weight(((float)i - h.center + 0.5f) / h.wide, cubic) / th;
      lr = fmaf(w, (float)p[0], lr);
      lg = fmaf(w, (float)p[plane], lg);
      lb = fmaf(w, (float)p[2 * plane], lb);
    }
    float w = weight(((float)j - v.center + 0.5f) / v.wide, cubic) / tv;
    r = fmaf(w, whole(lr), r);
    g = fmaf(w, whole(lg), g);
    b = fmaf(w, whole(lb), b);
  }
  return pack(whole(r), whole(g), whole(b));
}

// put writes a pixel. The table has the elements of all values, channel after channel.
__device__ static void put(unsigned char *out, Format f, int n, int x, int y, unsigned pixel, const unsigned *table) {
  long long area = (long long)f.height * f.width, at = (long long)y * f.width + x, image = 3 * area * n;
  for (int c = 0; c < 3; c++) {
    unsigned element = table[256 * c + (pixel >> (8 * c) & 255)];
    long long to = image + (f.channels_last ? 3 * at + c : area * c + at);
    if (f.bytes == 4) ((unsigned *)out)[to] = element;
    else if (f.bytes == 2) ((unsigned short *)out)[to] = (unsigned short)element;
    else out[to] = (unsigned char)element;
  }
}

// inside reports whether the scaled picture covers a place of the result, before the flip.
__device__ static int inside(const int *row, int x, int y) {
  return x >= row[AT_X] && x < row[AT_X] + row[SIZE_X] && y >= row[AT_Y] && y < row[AT_Y] + row[SIZE_Y];
}

// crop makes the result, or with scratch its pixels before the jitter, not flipped. It sets sums to 0.
KERNEL crop(const int *rows, const unsigned char *decoded, unsigned char *out, unsigned *scratch, unsigned long long *sums,
                                const unsigned *table, Format f) {
  int n = blockIdx.x, x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.z * blockDim.y + threadIdx.y;
  const int *row = rows + (long long)ROW * n;
  if (x >= f.width || y >= f.height || row[KIND] != ENCODED) return;
  if (scratch && x == 0 && y == 0) sums[n] = 0;
  unsigned pixel = inside(row, x, y) ? sample(row, located(decoded, row), x - row[AT_X], y - row[AT_Y], f.cubic) : f.fill;
  if (scratch) scratch[((long long)n * f.height + y) * f.width + x] = pixel;
  else put(out, f, n, row[FLIP] ? f.width - 1 - x : x, y, pixel, table);
}

__device__ static float channel(unsigned pixel, int c) { return (float)(pixel >> (8 * c) & 255); }

__device__ static float cut(float v) {
  v = truncf(v);
  return v < 0.f ? 0.f : v > 255.f ? 255.f : v;
}

__device__ static float grayness(unsigned p) {
  return truncf(fmaf(channel(p, 2), 0.114f, fmaf(channel(p, 1), 0.587f, channel(p, 0) * 0.2989f)));
}

// blend is v*f + to*(1-f) of each channel.
__device__ static unsigned blend(unsigned p, float f, float to) {
  float rest = 1.f - f;
  return pack(cut(fmaf(to, rest, channel(p, 0) * f)), cut(fmaf(to, rest, channel(p, 1) * f)), cut(fmaf(to, rest, channel(p, 2) * f)));
}

__device__ static float scaled(float v) { return truncf(v * (256.f - 1e-3f)); }

// hue turns the hue by f of a circle.
__device__ static unsigned hue(unsigned p, float f) {
  float r = channel(p, 0) / 255.f, g = channel(p, 1) / 255.f, b = channel(p, 2) / 255.f;
  float most = fmaxf(r, fmaxf(g, b)), span = most - fminf(r, fminf(g, b));
  if (span == 0.f) return pack(scaled(most), scaled(most), scaled(most));
  float h;
  if (most == r) h = (most - b) / span - (most - g) / span;
  else if (most == g) h = 2.f + (most - r) / span - (most - b) / span;
  else h = 4.f + (most - g) / span - (most - r) / span;
  h = h / 6.f + 1.f;
  if (h >= 1.f) h -= 1.f;
  h += f;
  if (h < 0.f) h += 1.f;
  else if (h >= 1.f) h -= 1.f;
  h *= 6.f;
  int sector = (int)h;
  float s = span / most, part = h - (float)sector;
  float low = scaled(most * (1.f - s)), falling = scaled(most * (1.f - s * part)), rising = scaled(most * (1.f - s * (1.f - part)));
  most = scaled(most);
  switch (sector) {
  case 1: return pack(falling, most, low);
  case 2: return pack(low, most, rising);
  case 3: return pack(low, falling, most);
  case 4: return pack(rising, low, most);
  case 5: return pack(most, low, falling);
  }
  return pack(most, rising, low);
}

__device__ static float factor(const int *row, int step) {
  union { int whole; float real; } bits;
  bits.whole = row[FACTOR + step];
  return bits.real;
}

// stepped takes the steps of the jitter from first on, before last.
__device__ static unsigned stepped(const int *row, unsigned p, int first, int last, float mean) {
  for (int k = first; k < last; k++) {
    int step = row[ORDER + k];
    float f = factor(row, step);
    if (step == HUE && f != 0.f) p = hue(p, f);
    else if (step == BRIGHTNESS && f != 1.f) p = blend(p, f, 0.f);
    else if (step == CONTRAST && f != 1.f) p = blend(p, f, mean);
    else if (step == SATURATION && f != 1.f) p = blend(p, f, grayness(p));
  }
  return p;
}

__device__ static int place_of_contrast(const int *row) {
  int k = 0;
  while (k < 3 && row[ORDER + k] != CONTRAST) k++;
  return k;
}

// gray sums the gray values of each picture as they are before the contrast.
KERNEL gray(const int *rows, const unsigned *scratch, unsigned long long *sums, Format f) {
  int n = blockIdx.x, last;
  const int *row = rows + (long long)ROW * n;
  if (row[KIND] != ENCODED || factor(row, CONTRAST) == 1.f) return;
  last = place_of_contrast(row);
  unsigned long long sum = 0;
  for (int at = blockIdx.y * blockDim.x + threadIdx.x; at < f.width * f.height; at += gridDim.y * blockDim.x) {
    if (!inside(row, at % f.width, at / f.width)) continue;
    sum += (unsigned long long)grayness(stepped(row, scratch[(long long)n * f.width * f.height + at], 0, last, 0.f));
  }
  if (sum) atomicAdd(sums + n, sum);
}

__device__ static int overlap(int from, int size, int most) {
  int to = from + size < most ? from + size : most;
  return to - (from > 0 ? from : 0);
}

// jitter makes the result of the pixels of crop.
KERNEL jitter(const int *rows, const unsigned *scratch, const unsigned long long *sums, unsigned char *out, const unsigned *table,
                                  Format f) {
  int n = blockIdx.x, x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.z * blockDim.y + threadIdx.y;
  const int *row = rows + (long long)ROW * n;
  if (x >= f.width || y >= f.height || row[KIND] != ENCODED) return;
  unsigned pixel = scratch[((long long)n * f.height + y) * f.width + x];
  if (inside(row, x, y)) {
    double covered = (double)overlap(row[AT_X], row[SIZE_X], f.width) * overlap(row[AT_Y], row[SIZE_Y], f.height);
    pixel = stepped(row, pixel, 0, 4, (float)((double)sums[n] / covered));
  }
  put(out, f, n, row[FLIP] ? f.width - 1 - x : x, y, pixel, table);
}

// place copies finished rows, of size bytes each, and clears lost ones.
KERNEL place(const int *rows, const unsigned char *finished, unsigned char *out, long long size) {
  int n = blockIdx.x;
  const int *row = rows + (long long)ROW * n;
  if (row[KIND] == ENCODED) return;
  const unsigned char *from = located(finished, row);
  unsigned char *to = out + size * n;
  long long first = (long long)blockIdx.y * blockDim.x + threadIdx.x, step = (long long)gridDim.y * blockDim.x;
  for (long long at = first; at < size; at += step) to[at] = row[KIND] == LOST ? 0 : from[at];
}
