"""Pickles of before name these classes here."""

from ._columns._field import Field as Field
from ._columns._schema import Schema as Schema
