// nvJPEG without a device: its functions for batches. An image "decodes" to the pixels that a file has for its bytes.
//
// Images are decoded on the stream they are given, late, and read then. A use of nvJPEG that its manual forbids is a violation.
//
//   FAKENVJPEG_PICTURES  the file: for each image adler32 and length of its bytes, width, height (uint32 each), and its pixels, RGB
//   FAKENVJPEG_HARDWARE  0: the GPU has no hardware that decodes
//   FAKENVJPEG_REFUSED   images that a backend refuses, as in 3:50,2:60: the hardware refuses those that are 50 wide
#define _GNU_SOURCE
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID_PARAMETER = 2, BAD_JPEG = 3, NOT_SUPPORTED = 4, ALLOCATOR_FAILURE = 5, NO_HARDWARE = 7 };
enum { HARDWARE = 3, RGB = 3, IS_LIBRARY = 0x11b, IS_STATE = 0x57a7, IS_HEADER = 0x4ead };

typedef struct {
  int (*allocate)(void *context, void **memory, size_t bytes, void *stream);
  int (*release)(void *context, void *memory, size_t bytes, void *stream);
  void *context;
} Allocator;

typedef struct {
  int is, backend, device;
  Allocator memory, pinned;
} Library;

typedef struct {
  int is, initialized; // for how many images
  Library *library;
  size_t bytes; // of its memory
  void *memory, *pinned;
  int pending; // images that are not decoded yet; under the lock
} State;

typedef struct {
  int is;
  const unsigned char *data;
  size_t length;
} Header;

typedef struct {
  unsigned char *plane[4];
  size_t pitch[4];
} Planes;

typedef struct {
  uint32_t sum, length, width, height;
  unsigned char pixels[];
} Picture;

static const Picture *pictures;
static size_t pictures_bytes;
static int libraries, states;

// How many libraries and states there are; called by the tests.
int fakenvjpeg_left(void) {
  lock();
  int left = libraries + states;
  unlock();
  return left;
}

static void count(int *what, int change) {
  lock();
  *what += change;
  unlock();
}

static uint32_t adler32(const unsigned char *data, size_t length) {
  uint32_t a = 1, b = 0;
  for (size_t i = 0; i < length; i++) {
    a = (a + data[i]) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

static void load_pictures(void) {
  const char *path = getenv("FAKENVJPEG_PICTURES");
  FILE *file = path == NULL || pictures != NULL ? NULL : fopen(path, "rb");
  if (file == NULL) return;
  fseek(file, 0, SEEK_END);
  pictures_bytes = ftell(file);
  rewind(file);
  Picture *all = malloc(pictures_bytes);
  if (fread(all, 1, pictures_bytes, file) != pictures_bytes) abort();
  fclose(file);
  pictures = all;
}

static const Picture *find(const unsigned char *data, size_t length) {
  uint32_t sum = adler32(data, length);
  const char *at = (const char *)pictures, *end = at + pictures_bytes;
  while (at < end) {
    const Picture *picture = (const Picture *)at;
    if (picture->sum == sum && picture->length == length) return picture;
    at += sizeof *picture + ((size_t)3 * picture->width * picture->height + 3) / 4 * 4;
  }
  return NULL;
}

// What a backend says of an image.
static int status_of(int backend, const unsigned char *data, size_t length) {
  const Picture *picture = find(data, length);
  if (picture == NULL) return BAD_JPEG;
  const char *refused = getenv("FAKENVJPEG_REFUSED");
  while (refused != NULL && *refused != 0) {
    int of, width;
    if (sscanf(refused, "%d:%d", &of, &width) == 2 && of == backend && width == (int)picture->width) return NOT_SUPPORTED;
    refused = strchr(refused, ',');
    if (refused != NULL) refused++;
  }
  return 0;
}

static int check_library(const Library *library, const char *call) {
  if (library != NULL && library->is == IS_LIBRARY && library->device == current_device()) return 1;
  journal("violation %s of a library that is not there, or of another device", call);
  return 0;
}

static int check_state(const State *state, const char *call) {
  if (state != NULL && state->is == IS_STATE) return 1;
  journal("violation %s of a state that is not there", call);
  return 0;
}

int nvjpegCreateExV2(int backend, const Allocator *memory, const Allocator *pinned, unsigned flags, Library **library) {
  int error = enter("nvjpegCreateExV2");
  if (error != 0) return error;
  const char *hardware = getenv("FAKENVJPEG_HARDWARE");
  if (backend == HARDWARE && hardware != NULL && atoi(hardware) == 0) return NO_HARDWARE;
  if (flags & ~63u) return INVALID_PARAMETER;
  load_pictures();
  *library = calloc(1, sizeof **library);
  **library = (Library){.is = IS_LIBRARY, .backend = backend, .device = current_device(), .memory = *memory, .pinned = *pinned};
  count(&libraries, 1);
  journal("nvjpegCreateExV2 %d", backend);
  return 0;
}

// The library's own memory.
static int allocate_own(void *context, void **memory, size_t bytes, void *stream) {
  (void)context, (void)stream;
  return cudaMalloc(memory, bytes);
}

static int pin_own(void *context, void **memory, size_t bytes, void *stream) {
  (void)context, (void)stream;
  return cudaMallocHost(memory, bytes);
}

static int free_own(void *context, void *memory, size_t bytes, void *stream) {
  (void)context, (void)bytes, (void)stream;
  return cudaFree(memory);
}

static int unpin_own(void *context, void *memory, size_t bytes, void *stream) {
  (void)context, (void)bytes, (void)stream;
  return cudaFreeHost(memory);
}

int nvjpegCreateEx(int backend, const void *memory, const void *pinned, unsigned flags, Library **library) {
  if (memory != NULL || pinned != NULL) return INVALID_PARAMETER;
  journal("nvjpegCreateEx %d", backend);
  return nvjpegCreateExV2(backend, &(Allocator){allocate_own, free_own, NULL}, &(Allocator){pin_own, unpin_own, NULL}, flags, library);
}

int nvjpegDestroy(Library *library) {
  if (!check_library(library, "nvjpegDestroy")) return INVALID_PARAMETER;
  library->is = 0; // and stays, so that a later use is seen
  count(&libraries, -1);
  return 0;
}

int nvjpegSetDeviceMemoryPadding(size_t bytes, Library *library) {
  (void)bytes;
  return check_library(library, "nvjpegSetDeviceMemoryPadding") ? 0 : INVALID_PARAMETER;
}

int nvjpegSetPinnedMemoryPadding(size_t bytes, Library *library) {
  (void)bytes;
  return check_library(library, "nvjpegSetPinnedMemoryPadding") ? 0 : INVALID_PARAMETER;
}

int nvjpegJpegStateCreate(Library *library, State **state) {
  int error = enter("nvjpegJpegStateCreate");
  if (error != 0) return error;
  if (!check_library(library, "nvjpegJpegStateCreate")) return INVALID_PARAMETER;
  *state = calloc(1, sizeof **state);
  **state = (State){.is = IS_STATE, .library = library};
  count(&states, 1);
  journal("nvjpegJpegStateCreate");
  return 0;
}

static int idle(State *state, const char *call) {
  lock();
  int pending = state->pending;
  unlock();
  if (pending) journal("violation %s while a batch of the state is decoded", call);
  return !pending;
}

static void release(State *state) {
  Library *library = state->library;
  if (state->memory != NULL) library->memory.release(library->memory.context, state->memory, state->bytes, NULL);
  if (state->pinned != NULL) library->pinned.release(library->pinned.context, state->pinned, state->bytes, NULL);
  state->memory = state->pinned = NULL;
}

int nvjpegJpegStateDestroy(State *state) {
  if (!check_state(state, "nvjpegJpegStateDestroy") || !idle(state, "nvjpegJpegStateDestroy")) return INVALID_PARAMETER;
  if (!check_library(state->library, "nvjpegJpegStateDestroy")) return INVALID_PARAMETER;
  release(state);
  state->is = 0;
  count(&states, -1);
  return 0;
}

// Has memory of this size at least, as the library does: it grows with the images.
static int reserve(State *state, size_t bytes, void *stream) {
  Library *library = state->library;
  if (state->bytes >= bytes) return 0;
  release(state);
  state->bytes = bytes;
  if (library->memory.allocate(library->memory.context, &state->memory, bytes, stream) != 0) return ALLOCATOR_FAILURE;
  if (library->pinned.allocate(library->pinned.context, &state->pinned, bytes, stream) != 0) return ALLOCATOR_FAILURE;
  if (kind_of(state->memory, NULL) != DEVICE || kind_of(state->pinned, NULL) != PINNED) journal("violation an allocator gives memory of another kind");
  return 0;
}

int nvjpegDecodeBatchedPreAllocate(Library *library, State *state, int images, int width, int height, int subsampling, int format) {
  (void)subsampling, (void)format;
  if (!check_library(library, "nvjpegDecodeBatchedPreAllocate") || !check_state(state, "nvjpegDecodeBatchedPreAllocate")) return INVALID_PARAMETER;
  if (library->backend != HARDWARE) journal("violation nvjpegDecodeBatchedPreAllocate is for the hardware");
  journal("reserve %d %d %d", images, width, height);
  return reserve(state, (size_t)images * width * height, NULL);
}

int nvjpegDecodeBatchedInitialize(Library *library, State *state, int images, int threads, int format) {
  int error = enter("nvjpegDecodeBatchedInitialize");
  if (error != 0) return error;
  (void)threads;
  if (!check_library(library, "nvjpegDecodeBatchedInitialize") || !check_state(state, "nvjpegDecodeBatchedInitialize")) return INVALID_PARAMETER;
  if (!idle(state, "nvjpegDecodeBatchedInitialize") || images < 1 || format != RGB) return INVALID_PARAMETER;
  state->initialized = images;
  journal("initialize %d", images);
  return 0;
}

typedef struct {
  State *state;
  const unsigned char *data;
  size_t length;
  Planes planes;
} Image;

static void decode(void *argument) {
  Image *image = argument;
  const Picture *picture = find(image->data, image->length);
  for (size_t i = 0; picture != NULL && i < (size_t)3 * picture->width * picture->height; i++) {
    size_t pixel = i / 3, c = i % 3;
    image->planes.plane[c][pixel / picture->width * image->planes.pitch[c] + pixel % picture->width] = picture->pixels[i];
  }
  lock();
  image->state->pending--;
  unlock();
  free(image);
}

static void check_memory(const Image *image) {
  const Picture *picture = find(image->data, image->length);
  Kind from = kind_of(image->data, NULL);
  if (from != REGISTERED && from != PINNED) journal("violation an image is not in page-locked memory");
  for (int c = 0; c < 3; c++) {
    if (kind_of_run(image->planes.plane[c], image->planes.pitch[c] * picture->height) != DEVICE) journal("violation a plane is not memory of the device");
    if (image->planes.pitch[c] < picture->width) journal("violation a pitch of %zu bytes for %u pixels", image->planes.pitch[c], picture->width);
  }
}

int nvjpegDecodeBatched(Library *library, State *state, const unsigned char *const *data, const size_t *lengths, const Planes *planes,
                        cudaStream_t handle) {
  if (!check_library(library, "nvjpegDecodeBatched") || !check_state(state, "nvjpegDecodeBatched")) return INVALID_PARAMETER;
  if (!idle(state, "nvjpegDecodeBatched")) return INVALID_PARAMETER;
  int images = state->initialized;
  if (images == 0) journal("violation nvjpegDecodeBatched of a state that is not initialized");
  state->initialized = 0;
  int error = enter("nvjpegDecodeBatched");
  if (error != 0) return error;
  if (handle == NULL) journal("violation nvjpegDecodeBatched on the standard stream, which others wait for");
  size_t bytes = 0;
  for (int i = 0; i < images; i++) {
    int status = status_of(library->backend, data[i], lengths[i]);
    if (status != 0) return status;
    bytes += lengths[i];
  }
  error = reserve(state, bytes, handle);
  if (error != 0) return error;
  state->initialized = images;
  Stream *stream = stream_of(handle, current_device());
  journal("decode %d %d %d", images, library->backend, stream_number(stream));
  lock();
  state->pending = images;
  unlock();
  for (int i = 0; i < images; i++) {
    Image *image = malloc(sizeof *image);
    *image = (Image){state, data[i], lengths[i], planes[i]};
    check_memory(image);
    double seconds = i == 0 ? from_environment("FAKECUDART_COPY_US") : 0;
    give(stream, (Work){.what = CALLBACK, .function = decode, .argument = image, .src = data[i], .bytes = lengths[i], .watched = 1, .seconds = seconds});
  }
  return 0;
}

int nvjpegJpegStreamCreate(Library *library, Header **header) {
  if (!check_library(library, "nvjpegJpegStreamCreate")) return INVALID_PARAMETER;
  *header = calloc(1, sizeof **header);
  (*header)->is = IS_HEADER;
  count(&states, 1);
  return 0;
}

int nvjpegJpegStreamDestroy(Header *header) {
  if (header == NULL || header->is != IS_HEADER) return INVALID_PARAMETER;
  header->is = 0;
  count(&states, -1);
  return 0;
}

int nvjpegJpegStreamParseHeader(Library *library, const unsigned char *data, size_t length, Header *header) {
  (void)library;
  header->data = data;
  header->length = length;
  return find(data, length) == NULL ? BAD_JPEG : 0;
}

int nvjpegDecodeBatchedSupported(Library *library, const Header *header, int *supported) {
  *supported = status_of(library->backend, header->data, header->length) == 0 ? 0 : 1;
  return 0;
}
