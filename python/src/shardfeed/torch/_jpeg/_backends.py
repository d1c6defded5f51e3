"""Which backend of nvJPEG decodes an image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ._memory import Memory
from ._nvjpeg import HARDWARE, KERNELS, Failed, Library, State


class Refused(Exception):
    """nvJPEG cannot decode images of a batch."""

    def __init__(self, images: Sequence[int], reason: str, column: str = "") -> None:
        super().__init__(reason)
        self.column = column
        self.images = list(images)  # their numbers in the batch
        self.reason = reason


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

    def decode(self, states: States, data: np.ndarray, lengths: np.ndarray, planes: np.ndarray, plain: np.ndarray) -> None:
        """Starts to decode a batch to planes, and raises Refused for images that cannot be
        decoded. Only plain images are for the hardware.
        """
        if self._hardware is not None and not self._looks and plain.all():
            try:
                states.of(self._hardware).decode(data, lengths, planes, self._stream.cuda_stream)
                return
            except Failed as e:
                if not e.refused:
                    raise
                self._looks = True
                self._stream.synchronize()
        able = plain & (self._hardware is not None)
        if self._hardware is not None and self._looks:
            able &= self._hardware.supports(data, lengths)
        for library, which in ((self._hardware, able), (self._others, ~able)):
            if which.any():
                library = library or self._other_library()
                states.keep(data[which], lengths[which], planes[which])
                self._checked(states, library, np.flatnonzero(which))

    def _other_library(self) -> Library:
        if self._others is None:
            self._others = Library(KERNELS, self._memory)
        return self._others

    def _checked(self, states: States, library: Library, which: np.ndarray) -> None:
        data, lengths, planes = states.kept[-1]
        stream = self._stream.cuda_stream
        try:
            states.of(library).decode(data, lengths, planes, stream)
        except Failed as e:
            if not e.refused:
                raise
            self._stream.synchronize()
            refused = []
            for i, image in enumerate(which.tolist()):
                try:
                    states.of(library).decode(data[i : i + 1], lengths[i : i + 1], planes[i : i + 1], stream)
                except Failed as one:
                    if not one.refused:
                        raise
                    refused.append(image)
                self._stream.synchronize()
            if refused:  # else they decode one by one
                raise Refused(refused, str(e)) from e

    def close(self) -> None:
        for library in (self._hardware, self._others):
            if library is not None:
                library.close()


class States:
    """nvJPEG's states for one batch, a state for each backend that it needs."""

    def __init__(self) -> None:
        self._size: tuple[int, int, int] | None = None  # images, width and height
        self._states: dict[int, State] = {}
        self.kept: list[tuple[np.ndarray, ...]] = []  # arguments that calls may still read

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

    def keep(self, *arrays: np.ndarray) -> None:
        self.kept.append(arrays)

    def close(self) -> None:
        for state in self._states.values():
            state.close()
        self._states.clear()
