#!/usr/bin/env python3
"""expect.py FILE: prints the rows that `shardfeed cat FILE` must print, as JSON lines, from pyarrow's reading of the file."""

import json
import pathlib
import sys

from judge import Float, Number, Object, rows


def text(v):
    if isinstance(v, Object):
        return "{" + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{text(x)}" for k, x in v) + "}"
    if isinstance(v, list):
        return "[" + ",".join(map(text, v)) + "]"
    if isinstance(v, Number):
        return str(v)
    if isinstance(v, Float):
        return f"{'-' if v.sign else ''}{''.join(map(str, v.digits))}e{v.exponent}"
    return json.dumps(v, ensure_ascii=False)


if __name__ == "__main__":
    for row in rows(pathlib.Path(sys.argv[1])):
        print(text(row))
