"""Vocabularies: the words of columns, by which strings become numbers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import OptionError
from ._checks import got, is_whole, named, regular

_LEAST_UNKNOWN = -100  # the label that torch's losses ignore


def _is_error(unknown: Any) -> bool:
    return isinstance(unknown, str) and unknown == "error"


def unknowns(given: Any, vocabulary: Mapping[str, list[str]]) -> dict[str, int]:
    """The numbers of unknown words by column, of the columns whose unknown words are allowed."""
    by_column = isinstance(given, Mapping)
    if not by_column and not vocabulary and not _is_error(given):
        raise OptionError(f"unknown numbers words that a vocabulary lacks, {got(given)} alone: give vocabulary={{column: words}} as well")
    numbers = {}
    for column, index in given.items() if by_column else dict.fromkeys(vocabulary, given).items():
        if column not in vocabulary:
            raise OptionError(f"unknown names column {column!r}, which is not in vocabulary: give vocabulary={{{column!r}: words}} as well")
        most = len(vocabulary[column])
        if _is_error(index):
            continue
        if not is_whole(index) or not _LEAST_UNKNOWN <= index <= most:
            raise OptionError(
                f"unknown of column {column!r} must be 'error' or a whole number from {_LEAST_UNKNOWN} to {most}, the number of words, "
                f"{got(index)}"
            )
        numbers[column] = int(index)
    return numbers


def _words(column: str, words: Any) -> list[str]:
    if isinstance(words, (str, os.PathLike)):
        words = _listed(column, words)
    if isinstance(words, Mapping):
        if not all(map(is_whole, words.values())) or sorted(words.values()) != list(range(len(words))):
            raise OptionError(
                f"the vocabulary of column {column!r} must number its {len(words)} words from 0 to {len(words) - 1}, each once"
            )
        words = sorted(words, key=words.__getitem__)
    if not isinstance(words, Iterable):
        raise OptionError(f"the vocabulary of column {column!r} must be a list of words, a dict of their numbers, or a file, {got(words)}")
    listed = list(words)
    if not listed or not all(isinstance(w, str) for w in listed):
        raise OptionError(f"the vocabulary of column {column!r} must be a list of str with at least one, {got(words)}")
    return listed


def _listed(column: str, name: str | os.PathLike[str]) -> Any:
    """The words in a file of ``shardfeed vocab --save``, or a dict of their numbers."""
    try:
        with open(name, encoding="utf-8", opener=regular) as file:
            words = json.load(file)
    except (OSError, ValueError) as e:
        raise OptionError(
            f"the vocabulary of column {column!r} must be a list of words, a dict of their numbers, or a JSON file of either, "
            f"got {os.fspath(name)!r}: {e}"
        ) from None
    if not isinstance(words, (list, dict)):
        raise OptionError(f"the vocabulary of column {column!r} in {os.fspath(name)!r} must be a JSON list of words, {got(words)}")
    return words


def vocabularies(given: Any) -> dict[str, list[str]]:
    return {column: _words(column, words) for column, words in named("vocabulary", given, "{'label': ['cat', 'dog']}").items()}
