"""Fill-in-the-middle of packed documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ._args._arguments import arguments
from ._args._checks import Problems, encoded, got, is_number, is_whole, share
from .errors import OptionError

_MOST = 2**63 - 1


@arguments
@dataclass(frozen=True)
class FillInTheMiddle:
    """Permutes documents of packed blocks, for models that write a middle between prefix and suffix.

    A document is cut at two random places and becomes ``prefix`` ... ``suffix`` ... ``middle`` ...
    (PSM), or ``prefix suffix`` ... ``middle`` and then the text before and in the middle (SPM).
    Blocks keep their size: what the three tokens push beyond the end of a block is lost. Cuts are
    drawn by seed, epoch and block, the same on every number of ranks and after a resume.

    Args:
        prefix (int or str): the token before the prefix. A str is the text of a token, as in
            "<fim_prefix>", of a column of ``tokenize``.
        middle (int or str): the token before the middle.
        suffix (int or str): the token before the suffix.
        rate (float, default 0.5): the share of documents that are permuted.
        spm_rate (float, default 0.5): the share of these that are SPM.
        boundaries (list, default ()): tokens that divide documents, besides ``eos`` and ``bos`` of
            the pack, such as one between the files of a repository. They stay in place, and each
            fragment between them is permuted separately.
    """

    prefix: int | str
    middle: int | str
    suffix: int | str
    rate: float = 0.5
    spm_rate: float = 0.5
    boundaries: Sequence[int | str] = ()

    def spec(self, problems: Problems | None = None) -> dict[str, Any]:
        """Returns the engine's form. The engine checks it against the data."""
        found = Problems() if problems is None else problems
        spec = {
            "prefix": found.of(token, "prefix of fim", self.prefix),
            "middle": found.of(token, "middle of fim", self.middle),
            "suffix": found.of(token, "suffix of fim", self.suffix),
            "rate": found.of(share, "rate of fim", self.rate),
            "spm_rate": 0.0 if is_number(self.spm_rate) and self.spm_rate == 0 else found.of(share, "spm_rate of fim", self.spm_rate),
            "boundaries": found.of(_tokens, self.boundaries),
        }
        if problems is None:
            found.report()
        return spec


def token(name: str, value: Any) -> int | str:
    """A token by its number or its text."""
    if isinstance(value, str) and value:
        return encoded(name, value)
    if not is_whole(value) or not -_MOST <= value <= _MOST:
        raise OptionError(f"{name} must be a whole number of less than 64 bits, or the text of a token, {got(value)}")
    return int(value)


def _tokens(given: Any) -> list[int | str]:
    all_of = [given] if isinstance(given, str) or not isinstance(given, Iterable) else given
    return [token("each of boundaries of fim", value) for value in all_of]
