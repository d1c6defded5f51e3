"""Filters as pyarrow writes them, and the text that the engine gets."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from shardfeed._args import _rules
from shardfeed.errors import OptionError

BERLIN = datetime.timezone(datetime.timedelta(hours=1))


@pytest.mark.parametrize(
    ("filters", "text"),
    [
        (None, ""),
        ("score >= 0.5", "score >= 0.5"),
        ([("score", ">=", 0.5)], "score >= 0.5"),
        ((("score", ">=", 0.5),), "score >= 0.5"),
        ([["score", ">=", 0.5]], "score >= 0.5"),
        ([("price", ">=", 10), ("lang", "in", ["en", "de"])], "price >= 10 and lang in ('en', 'de')"),
        ([[("price", ">=", 10), ("lang", "=", "en")], [("id", "==", 7)]], "price >= 10 and lang = 'en' or id == 7"),
        ([("lang", "not in", {"en", "de"})], "lang not in ('de', 'en')"),
        ([("id", "in", range(3))], "id in (0, 1, 2)"),
        ([("id", "in", np.array([1, 2], np.int8))], "id in (1, 2)"),
        ([("id", "in", pd.Series([1, 2]))], "id in (1, 2)"),
        ([("id", "in", pa.array([1, 2]))], "id in (1, 2)"),
        ([("meta.source", "=", "it's")], "meta.source = 'it''s'"),
        ([("odd name.x", "!=", True)], '"odd name".x != true'),
        ([('say "hi"', "<", 1)], '"say ""hi""" < 1'),
        ([("in", "<", 1)], '"in" < 1'),
        ([("a..b", "<", 1)], '"a..b" < 1'),
        ([("언어", "=", "ko")], "\"언어\" = 'ko'"),
    ],
)
def test_text(filters, text):
    assert _rules.text(filters) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (np.bool_(False), "false"),
        (np.int32(-5), "-5"),
        (2**70, str(2**70)),
        (1e300, "1e+300"),
        (np.float32(0.5), "0.5"),
        (np.float64("nan"), "nan"),
        (float("-inf"), "-inf"),
        (np.array(3), "3"),
        (Decimal("12.50"), "12.50"),
        (Decimal("1E-7"), "0.0000001"),
        (Decimal("1E+500"), "1E+500"),
        (np.str_("x"), "'x'"),
        (b"a\x00", "x'6100'"),
        (bytearray(b"a"), "x'61'"),
        (np.bytes_(b"a"), "x'61'"),
        (datetime.date(2024, 1, 31), "date '2024-01-31'"),
        (datetime.date(24, 1, 31), "date '0024-01-31'"),
        (datetime.datetime(2024, 1, 31, 16, 30), "timestamp '2024-01-31 16:30:00.000000000'"),
        (datetime.datetime(2024, 1, 31, 0, 30, tzinfo=BERLIN), "timestamp '2024-01-30 23:30:00.000000000Z'"),
        (pd.Timestamp("2024-01-31 16:30:00.123456789"), "timestamp '2024-01-31 16:30:00.123456789'"),
        (pd.Timestamp("2024-01-31 16:30:00.123456789", tz="Asia/Seoul"), "timestamp '2024-01-31 07:30:00.123456789Z'"),
        (np.datetime64("2024-01-31"), "date '2024-01-31'"),
        (np.datetime64("2024-01"), "date '2024-01-01'"),
        (np.datetime64("2024-01-31T16"), "timestamp '2024-01-31T16:00'"),
        (np.datetime64("2024-01-31T16:30:00.000000001", "ns"), "timestamp '2024-01-31T16:30:00.000000001'"),
        (datetime.time(16, 30, 0, 5), "time '16:30:00.000005'"),
        (uuid.UUID(int=1), "'00000000-0000-0000-0000-000000000001'"),
        (pa.scalar(5), "5"),
    ],
)
def test_values(value, text):
    assert _rules.text([("c", "==", value)]) == f"c == {text}"
    assert _rules.text([("c", "in", [value])]) == f"c in ({text})"


OPERATORS = "known are == = != < <= > >= in not in"
FORM = "must be a tuple (column, operator, value)"


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ("  ", "filters must not be empty; leave them out to read all rows"),
        ([], "filters must not be an empty list; leave them out to read all rows"),
        (5, f"filters must be {_rules._FORMS}, got 5"),
        (("a", "==", 1), "filters must be a list of tuples, got one tuple; write [('a', '==', 1)]"),
        ([("a", "==")], f"filters[0] {FORM}, got ('a', '==')"),
        ([[("a", "==", 1, 2)]], f"filters[0][0] {FORM}, got ('a', '==', 1, 2)"),
        (["a == 1"], f"filters[0] {FORM}, got 'a == 1'"),
        ([(1, "==", 1)], "filters[0] must begin with the name of a column, got 1"),
        ([("a", "~", 1)], f"filters[0] has an unknown operator, got '~'; {OPERATORS}"),
        ([("a", "notin", [1])], f"filters[0] has an unknown operator, got 'notin'; {OPERATORS}; did you mean 'not in'?"),
        ([("a", "in", "en")], "filters[0] needs a list, tuple or set behind 'in', got 'en'"),
        ([("a", "in", 5)], "filters[0] needs a list, tuple or set behind 'in', got 5"),
        ([("a", "not in", [])], "filters[0] has no values behind 'not in'; give at least one"),
        ([("a", "==", [1])], "filters[0] compares 'a' by '==' with a list; use 'in' for several values"),
        ([("a", "<", np.arange(2))], "filters[0] compares 'a' by '<' with a numpy.ndarray; use 'in' for several values"),
        ([("a", "==", None)], "filters[0] compares 'a' with None, and nothing is equal to null; as text: 'a is null'"),
        ([("a", "in", [1, None])], "filters[0] compares 'a' with None, and nothing is equal to null; as text: 'a is null'"),
        ([("a", "==", pd.NaT)], "filters[0] compares 'a' with NaT, and nothing is equal to null; as text: 'a is null'"),
        ([("a", "==", np.datetime64("NaT"))], "filters[0] compares 'a' with NaT, and nothing is equal to null; as text: 'a is null'"),
        (
            [("a", "==", object)],
            "filters[0] compares 'a' with a type; a value is a number, text, bytes, a boolean, a Decimal, a date, a time or a datetime",
        ),
        ([("a", "==", "\ud800")], "filters[0] a value must be UTF-8, got '\\ud800'"),
        (
            [[("a", "==", 1)], [("b", "==", None), ("c", "?", 2)]],
            "2 filters are wrong:\n"
            "  - filters[1][0] compares 'b' with None, and nothing is equal to null; as text: 'b is null'\n"
            f"  - filters[1][1] has an unknown operator, got '?'; {OPERATORS}",
        ),
    ],
)
def test_errors(filters, message):
    with pytest.raises(OptionError) as e:
        _rules.text(filters)
    assert str(e.value) == message
