"""Which backend of nvJPEG decodes an image."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np
import torch

from ._memory import Memory
from ._nvjpeg import HARDWARE, KERNELS, Failed, Library, State

log = logging.getLogger("shardfeed")


class _Files(NamedTuple):
    """The files of images, and the memory for their pixels."""

    data: np.ndarray  # addresses
    lengths: np.ndarray
    planes: np.ndarray


class Backends:
    """Decodes with the hardware of the GPU if it can, and other images with its kernels.

    Images of common subsamplings are given to the hardware unseen, until it refuses a batch. From
    then on each image is looked at first.
    """

    def __init__(self, memory: Memory, stream: torch.cuda.Stream) -> None:
        self._memory = memory
        self._stream = stream
        self._looks = False
        self._others: Library | None = None
        self._hardware: Library | None = None
        try:
            self._hardware = Library(HARDWARE, memory)
        except Failed as e:
            if not e.absent:
                raise
            self._looks = True
            self._others = Library(KERNELS, memory)

    @property
    def hardware(self) -> bool:
        """Whether the GPU has hardware that decodes JPEGs."""
        return self._hardware is not None

    def warm(self, states: States) -> None:
        """Makes the state that most batches need."""
        library = self._hardware or self._others
        assert library is not None
        states.of(library)

    def decode(self, states: States, data: np.ndarray, lengths: np.ndarray, planes: np.ndarray, plain: np.ndarray) -> np.ndarray:
        """Starts to decode a batch to planes. Returns the numbers of the images that nvJPEG
        refuses. Only plain images are for the hardware.
        """
        files = _Files(data, lengths, planes)
        every = np.arange(len(data))
        if self._hardware is not None and not self._looks and plain.all():
            states.keep(files)
            try:
                states.of(self._hardware).decode(*files, self._stream.cuda_stream)
                return every[:0]
            except Failed as e:
                if not e.refused:
                    raise
                self._looks = True
                self._stream.synchronize()
        able = plain & (self._hardware is not None)
        if self._hardware is not None and self._looks:
            able &= self._hardware.supports(data, lengths)
        others = ~able
        if self._hardware is not None:
            others[self._refused(states, self._hardware, files, every[able])] = True
        return self._refused(states, self._other_library, files, every[others])

    @property
    def _other_library(self) -> Library:
        if self._others is None:
            self._others = Library(KERNELS, self._memory)
        return self._others

    def _refused(self, states: States, library: Library, files: _Files, which: np.ndarray) -> np.ndarray:
        """Starts to decode some of the images, and returns the ones that the library refuses: it
        fails for a batch if one of its images is bad, and then for one half at least.
        """
        if not len(which):
            return which
        some = _Files(*(of[which] for of in files))
        states.keep(some)
        try:
            states.of(library).decode(*some, self._stream.cuda_stream)
            return which[:0]
        except Failed as e:
            if not e.refused:
                raise
            log.debug("%d images: %s", len(which), e)
            self._stream.synchronize()
        if len(which) == 1:
            return which
        half = len(which) // 2
        first = self._refused(states, library, files, which[:half])
        self._stream.synchronize()  # a state decodes one batch at a time
        return np.concatenate([first, self._refused(states, library, files, which[half:])])

    def close(self) -> None:
        for library in (self._hardware, self._others):
            if library is not None:
                library.close()


class States:
    """nvJPEG's states for one batch, a state for each backend that it needs."""

    def __init__(self) -> None:
        self._size: tuple[int, int, int] | None = None  # images, width and height
        self._states: dict[int, State] = {}
        self.kept: list[_Files] = []  # arguments that calls may still read

    def of(self, library: Library) -> State:
        state = self._states.get(library.backend)
        if state is None:
            state = self._states[library.backend] = State(library)
            if self._size is not None:
                state.reserve(*self._size)
        return state

    def reserve(self, images: int, width: int, height: int) -> None:
        """Takes memory for batches like the first one."""
        if self._size is None:
            self._size = images, width, height
            for state in self._states.values():
                state.reserve(*self._size)

    def keep(self, files: _Files) -> None:
        self.kept.append(files)

    def close(self) -> None:
        for state in self._states.values():
            state.close()
        self._states.clear()
