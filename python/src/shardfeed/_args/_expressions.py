"""Filters as pyarrow.compute expressions, as the engine's text.

An expression shows its parts to Python only when it is serialized: as a record batch of its
literals and options, each a column, whose schema lists the calls in its metadata, in the order of
the text. The keys repeat, so they are read from the schema's flatbuffer.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import OptionError

_COMPARISONS = {"equal": "=", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPERANDS = {"utf8_lower": "lower", "utf8_upper": "upper", "utf8_length": "len", "list_value_length": "len"}
_SEARCHES = {"starts_with": ("starts_with", "{}%"), "ends_with": ("ends_with", "%{}"), "match_substring": ("contains", "%{}%")}
_LOGIC = {"and_kleene": " and ", "or_kleene": " or "}
_KNOWN = (
    "& | ~ == != < <= > >=, isin, is_null, is_valid, is_nan, match_like, starts_with, ends_with, match_substring, utf8_lower, utf8_upper, "
    "utf8_length and list_value_length"
)
_SHOWN = 300  # characters of an expression in a message
_NULL_MATCHES, _NULL_SKIPPED, _NULL_UNKNOWN = 0, 1, 2  # what is_in makes of nulls


def text(expression: Any, literal: Callable[[str, Any], str], quoted: Callable[[str, str], str]) -> str:
    """Returns an expression as the engine's text. literal and quoted write values and names."""
    import pyarrow as pa

    try:
        _, arguments = expression.__reduce__()
        table = pa.ipc.open_file(arguments[0]).read_all()
    except pa.ArrowNotImplementedError:
        raise OptionError(f"filters must name columns by their names, got {expression}") from None
    steps = list(_metadata(table.schema.serialize().to_pybytes()))
    return _Translation(expression, steps, [c[0].as_py() for c in table.columns], literal, quoted).text()


class _Node:
    """A call with its arguments and options, a column, or a literal."""

    def __init__(self, kind: str, name: str = "", value: Any = None, path: str = "") -> None:
        """name is of the call, or the text of the column; path is the column as messages have it."""
        self.kind, self.name, self.value, self.path = kind, name, value, path
        self.arguments: list[_Node] = []
        self.options: dict[str, Any] = {}


class _Translation:
    def __init__(
        self,
        expression: Any,
        steps: list[tuple[str, str]],
        values: list[Any],
        literal: Callable[[str, Any], str],
        quoted: Callable[[str, str], str],
    ) -> None:
        self._expression, self._steps, self._values = expression, iter(steps), values
        self._literal, self._quoted = literal, quoted

    def text(self) -> str:
        return self._condition(self._node(next(self._steps)))

    def _node(self, step: tuple[str, str]) -> _Node:
        """Returns the node that starts with a step."""
        key, value = step
        if key == "field_ref":
            return _Node("column", self._quoted(value, '"'), path=value)
        if key == "nested_field_ref":
            parts = [next(self._steps)[1] for _ in range(int(value))]
            return _Node("column", ".".join(self._quoted(p, '"') for p in parts), path=".".join(parts))
        if key == "literal":
            return _Node("literal", value=self._values[int(value)])
        node = _Node("call", value)
        for key, value in self._steps:
            if key == "end":
                break
            if key == "options":
                node.options = self._values[int(value)]
            else:
                node.arguments.append(self._node((key, value)))
        return node

    def _refuse(self, what: str) -> OptionError:
        shown = str(self._expression)
        if len(shown) > _SHOWN:
            shown = f"{shown[:_SHOWN]}..."
        return OptionError(f"filters must be an expression of {_KNOWN}; {what} in {shown}")

    def _value(self, operand: _Node, value: Any) -> str:
        column = operand.path or operand.arguments[0].path
        try:
            return self._literal(column, value)
        except OptionError as e:
            raise OptionError(f"filters {e}") from None

    def _condition(self, node: _Node) -> str:
        """The text of a node that is true or false, in parentheses if it needs them."""
        if node.kind == "column":
            return node.name
        if node.kind == "literal":
            raise self._refuse(f"the value {node.value!r} stands alone")
        if node.name in _LOGIC:
            return "(" + _LOGIC[node.name].join(self._condition(a) for a in node.arguments) + ")"
        if node.name == "invert":
            return f"not ({self._condition(node.arguments[0])})"
        if node.name in _COMPARISONS:
            return self._comparison(node)
        if node.name in _SEARCHES:
            return self._search(node)
        if node.name == "match_like":
            like = "ilike" if node.options["ignore_case"] else "like"
            return f"{self._operand(node.arguments[0])} {like} {self._quoted(node.options['pattern'], chr(39))} escape '\\'"
        if node.name in ("is_null", "is_valid", "is_nan", "is_in"):
            return self._test(node, node.arguments[0])
        raise self._refuse(f"{node.name} is another function")

    def _operand(self, node: _Node) -> str:
        """The text of the column, or the function of one, that is compared."""
        if node.kind == "column":
            return node.name
        if node.kind == "call" and node.name in _OPERANDS and node.arguments[0].kind == "column":
            return f"{_OPERANDS[node.name]}({node.arguments[0].name})"
        what = f"the value {node.value!r}" if node.kind == "literal" else node.name
        raise self._refuse(f"{what} is where a column, or one function of a column, is compared")

    def _comparison(self, node: _Node) -> str:
        left, right = node.arguments
        operator = _COMPARISONS[node.name]
        if left.kind == "literal":
            left, right, operator = right, left, _FLIPPED.get(operator, operator)
        if right.kind != "literal":
            raise self._refuse("a column is compared with a column")
        operand = self._operand(left)
        return f"{operand} {operator} {self._value(left, right.value)}"

    def _search(self, node: _Node) -> str:
        pattern, operand = node.options["pattern"], self._operand(node.arguments[0])
        function, like = _SEARCHES[node.name]
        if not node.options["ignore_case"]:
            return f"{function}({operand}, {self._quoted(pattern, chr(39))})"
        for wild in "!%_":
            pattern = pattern.replace(wild, "!" + wild)
        return f"{operand} ilike {self._quoted(like.format(pattern), chr(39))} escape '!'"

    def _test(self, node: _Node, argument: _Node) -> str:
        operand = self._operand(argument)
        if node.name == "is_valid":
            return f"{operand} is not null"
        if node.name == "is_nan":
            return f"{operand} is nan"
        if node.name == "is_null":
            also = f" or {operand} is nan" if node.options["nan_is_null"] else ""
            return f"({operand} is null{also})"
        return self._members(argument, node.options["value_set"], int(node.options["null_matching_behavior"]))

    def _members(self, argument: _Node, values: list[Any], nulls: int) -> str:
        """isin is false for a null, not unknown, unless its options say otherwise."""
        operand = self._operand(argument)
        members = [v for v in values if v is not None]
        has_null = len(members) < len(values)
        if any(isinstance(v, float) and math.isnan(v) for v in members):
            raise self._refuse("isin looks for NaN, which is_nan finds")
        if nulls > _NULL_UNKNOWN and has_null:
            raise self._refuse("isin has a null among its values")
        found = f"{operand} in ({', '.join(self._value(argument, v) for v in members)})"
        if not members:
            found = f"({operand} is null and {operand} is not null)"
        if nulls == _NULL_MATCHES and has_null:
            return f"({found} or {operand} is null)"
        if nulls in (_NULL_MATCHES, _NULL_SKIPPED):
            return f"({found} and {operand} is not null)"
        return found


# A serialized schema is a flatbuffer: Message.header is field 2, and Schema.custom_metadata field
# 2, a vector of tables with a key and a value.


def _metadata(message: bytes) -> Iterator[tuple[str, str]]:
    """The keys and values of the metadata of a serialized schema, in order, which may repeat."""
    body = message[8:]  # after the mark and the length
    (root,) = struct.unpack_from("<I", body)
    schema = _follow(body, _field(body, root, 2))
    pairs = _follow(body, _field(body, schema, 2))
    (count,) = struct.unpack_from("<I", body, pairs)
    for i in range(count):
        pair = _follow(body, pairs + 4 + 4 * i)
        yield _string(body, _field(body, pair, 0)), _string(body, _field(body, pair, 1))


def _field(body: bytes, table: int, number: int) -> int:
    """The place of a field of a table."""
    (back,) = struct.unpack_from("<i", body, table)
    (offset,) = struct.unpack_from("<H", body, table - back + 4 + 2 * number)
    return table + int(offset)


def _follow(body: bytes, place: int) -> int:
    (offset,) = struct.unpack_from("<I", body, place)
    return place + int(offset)


def _string(body: bytes, place: int) -> str:
    start = _follow(body, place)
    (length,) = struct.unpack_from("<I", body, start)
    return body[start + 4 : start + 4 + length].decode()
