#!/usr/bin/env python3
"""tables.py [--check]: writes the tables of code points that package tokenize embeds.

With --check it compares them with what it would write.

It asks the installed `tokenizers` about every code point. The parts of that library are of
different Unicode versions: patterns are Oniguruma's, normal forms come from a crate older than
Unicode 11, lower case from Rust's standard library. No other library agrees with all of them.
The formats are described in packages property and normal.
"""

import functools
import pathlib
import struct
import sys

from tokenizers import Regex, normalizers, pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
INTERNAL = pathlib.Path(__file__).parents[1] / "internal"
CHUNK = 4096

# What Oniguruma's properties match: the first bits of property.Set.
PATTERNS = [r"\p{Ll}", r"\p{Lu}", r"\p{Lt}", r"\p{Lm}", r"\p{Lo}", r"\p{M}", r"\p{N}", r"\p{P}", r"\p{S}", r"\s", r"\p{Han}"]

HANGUL = range(0xAC00, 0xD7A4)


def chunks():
    for i in range(0, len(POINTS), CHUNK):
        yield POINTS[i : i + CHUNK]


def matched(pattern):
    """The code points that match a pattern of one character."""
    split, found = pre_tokenizers.Split(Regex(pattern), "removed", invert=True), set()
    for points in chunks():
        for piece, _ in split.pre_tokenize_str("".join(map(chr, points))):
            found.update(map(ord, piece))
    return found


def parted(pre_tokenizer):
    """The code points that a pre-tokenizer parts from a letter before them, dropped or kept."""
    dropped, kept = set(), set()
    for points in chunks():
        spans = [span for _, span in pre_tokenizer.pre_tokenize_str("\n".join(f"a{chr(c)}" for c in points))]
        starts, ends = {start for start, _ in spans}, {end for _, end in spans}
        for i, c in enumerate(points):
            at = 3 * i + 1
            if at in starts:
                kept.add(c)
            elif at in ends:
                dropped.add(c)
    return dropped, kept


def normalized(normalizer):
    """The normal form of each code point behind a letter, as a function."""
    forms = {}
    for points in chunks():
        for c in points:
            forms[c] = normalizer.normalize_str(f"a{chr(c)}")[1:]
    return forms


def classes():
    bits = [matched(pattern) for pattern in PATTERNS]
    white, _ = parted(pre_tokenizers.WhitespaceSplit())
    dropped, kept = parted(pre_tokenizers.Whitespace())
    bits.append(set(POINTS) - dropped - kept)  # \w of Rust's regex
    bits.append(white)
    bits.append(parted(pre_tokenizers.Digits(individual_digits=True))[1])
    bits.append(parted(pre_tokenizers.Punctuation("isolated"))[1])
    clean = normalized(normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False))
    bits.append({c for c in POINTS if clean[c] == ""})
    bits.append({c for c in POINTS if clean[c] == " "})
    chinese = normalized(normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=True, strip_accents=False, lowercase=False))
    bits.append({c for c in POINTS if chinese[c] == f" {chr(c)} "})
    accents = normalized(normalizers.StripAccents())
    bits.append({c for c in POINTS if accents[c] == ""})
    bert = normalized(normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False))
    bits.append({c for c in POINTS if bert[c] == ""})
    return bits + graphemes()


def clusters():
    """A function that counts grapheme clusters of at most 5 bytes, and characters of longer ones.

    SentencePiece's normalizer does that if its trie has every first byte of a character.
    """
    units = [256 << 10] + [0] * 511 + [1 << 31] + [0] * 511
    for b in range(1, 256):
        units[256 ^ b] = (256 ^ b ^ 512) << 10 | 1 << 8 | b
    charsmap = struct.pack(f"<{len(units) + 1}I", 4 * len(units), *units) + b"X\0"
    normalizer = normalizers.Precompiled(charsmap)
    return lambda text: len(normalizer.normalize_str(text))


def graphemes():
    """Properties for extended grapheme clusters, found by what joins: Unicode's Annex 29, GB3 to GB13."""
    count = clusters()
    joins = {c for c in POINTS if count(f"a{chr(c)}") == 1}
    prepend = {c for c in POINTS if count(f"{chr(c)}a") == 1}
    control = {c for c in POINTS if count(f"{chr(c)}\u0300\u0301") == 2}
    pictograph = {c for c in POINTS if count(f"{chr(c)}\u200d\xa9\u0300") == 4}
    extend = {c for c in joins if count(f"\xa9{chr(c)}\u200d\xa9\u0300") == 5}
    consonant = {c for c in POINTS if count(f"{chr(c)}\u094d\u0915\u0300") == 4}
    linker = {c for c in joins if count(f"\u0915{chr(c)}\u0915\u0300") == 4}
    between = {c for c in joins if count(f"\u0915{chr(c)}\u094d\u0915\u0300") == 5}
    return [joins, prepend, control, pictograph, extend, consonant, linker, between]


def uvarint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def zigzag(n):
    return uvarint(n << 1 if n >= 0 else ~(n << 1))


def class_table():
    bits = classes()
    sets = [sum(1 << i for i, found in enumerate(bits) if c in found) for c in range(0x110000)]
    kinds = sorted(set(sets))
    number = {kind: i for i, kind in enumerate(kinds)}
    out = [uvarint(len(kinds)), *map(uvarint, kinds)]
    start = 0
    for c in range(1, 0x110001):
        if c == 0x110000 or sets[c] != sets[start]:
            out.append(uvarint(c - start) + uvarint(number[sets[start]]))
            start = c
    return b"".join(out)


def mark_classes(nfd):
    """The combining classes of marks as ranks from 1: a normal form uses only their order."""

    @functools.cmp_to_key
    def order(a, b):
        pair = nfd.normalize_str("a" + b + a)[1:]
        if pair == a + b:  # sorted: a before b, so its class is less
            return -1
        return 1 if nfd.normalize_str("a" + a + b)[1:] == b + a else 0

    def moves(c, other):
        return nfd.normalize_str("a" + c + other)[1:] == other + c or nfd.normalize_str("a" + other + c)[1:] == c + other

    marks = [chr(c) for c in POINTS if nfd.normalize_str(chr(c)) == chr(c) and (moves(chr(c), "\u0334") or moves(chr(c), "\u0345"))]
    marks.sort(key=order)
    ranks, rank = {}, 0
    for i, mark in enumerate(marks):
        rank += i == 0 or order(marks[i - 1]) < order(mark)
        ranks[ord(mark)] = rank
    return ranks


def runs(values):
    """A map of code points to small numbers, as runs of the same number: gap, length, number."""
    out, points, end = [], sorted(values), 0
    i = 0
    while i < len(points):
        j = i
        while j + 1 < len(points) and points[j + 1] == points[j] + 1 and values[points[j + 1]] == values[points[i]]:
            j += 1
        out.append(uvarint(points[i] - end) + uvarint(j - i + 1) + uvarint(values[points[i]]))
        end = points[j] + 1
        i = j + 1
    return uvarint(len(out)) + b"".join(out)


def strings(forms):
    """A map of code points to text: gap, length, and each character less the one before it.

    The code point is the one before the first.
    """
    out, end = [], 0
    for c, text in sorted(forms.items()):
        item = [uvarint(c - end), uvarint(len(text))]
        last = c
        for r in map(ord, text):
            item.append(zigzag(r - last))
            last = r
        out.append(b"".join(item))
        end = c + 1
    return uvarint(len(out)) + b"".join(out)


def form_table():
    nfd, nfc, nfkd, lower = normalizers.NFD(), normalizers.NFC(), normalizers.NFKD(), normalizers.Lowercase()
    canonical, compatible, lowered = {}, {}, {}
    for c in POINTS:
        if c in HANGUL:
            continue
        d, k, low = nfd.normalize_str(chr(c)), nfkd.normalize_str(chr(c)), lower.normalize_str(chr(c))
        if d != chr(c):
            canonical[c] = d
        if k != d:
            compatible[c] = k
        if low != chr(c):
            lowered[c] = low
    # A composition is its character and the length of the decomposition's first part, once composed.
    composed = {}
    for c, d in canonical.items():
        if nfc.normalize_str(d) == chr(c):
            first = nfc.normalize_str(d[:-1])
            assert len(first) == 1, hex(c)
            composed[c] = first + d[-1]
    return b"".join([runs(mark_classes(nfd)), strings(canonical), strings(compatible), strings(composed), strings(lowered)])


TABLES = {INTERNAL / "property" / "classes.bin": class_table, INTERNAL / "normal" / "forms.bin": form_table}


def main():
    wrong = 0
    for path, table in TABLES.items():
        data = table()
        if "--check" in sys.argv[1:]:
            wrong += data != path.read_bytes()
            print(f"{path.name}: {'differs' if data != path.read_bytes() else 'as written'}")
        else:
            path.write_bytes(data)
            print(f"{path.name}: {len(data)} bytes")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
