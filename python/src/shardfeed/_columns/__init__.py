"""Columns: their types, their places in a slot, and their forms in numpy and Arrow."""

from ._columns import Bytes as Bytes
from ._columns import Ragged as Ragged
