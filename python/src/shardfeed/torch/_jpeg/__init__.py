"""JPEGs decoded on the GPU, by nvJPEG and kernels of its own.

The engine sends the bytes of an image and the numbers of its draw (:mod:`._rows`). nvJPEG decodes
the images of a batch to planes of device memory, and the kernels (``kernel.cu``, compiled by NVRTC)
make the batch's tensor of them. All libraries are loaded with ctypes, which releases the
interpreter's lock for each call. A batch takes a few dozen calls, however many images it has.
"""
