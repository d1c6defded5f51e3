"""Documents that are hard for tokenizers, and documents of files on this machine."""

import base64
import gzip
import pathlib
import random
import sysconfig

POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
SPACES = " \t\n\r\v\f\x85\xa0\u1680\u2003\u2028\u202f\u3000\u200b\ufeff\x1c\x1f\0"
CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'RE", "'lL", "'ſ", "'K", "''s", "’s", "'ll've"]
EMOJI = ["👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪🇫🇷", "❤️", "1️⃣", "🤦🏼‍♂️", "©\u200d®\u0301"]
WORDS = [" the", " Hello", "World", "don", "foo_bar", "CamelCaseXML", "αβγ", "ﬁ", "ǅ", "Ⅷ", "½", "١٢٣", "一二三", "日本語", "한국어", "ไทย"]
WORDS += [
    "हिन्दी",
    "مرحبا",
    "שלום",
    "e\u0301",
    "Å",
    "\u1100\u1161\u11a8",
    "ﷺ",
    "İ",
    "ß",
    "\u0300\u0301\u0323",
    "▁",
    "▁▁a",
    "``",
    "ｶﾞ",
    "क\u094dक\u0301",
]
RUNS = ["a", " ", "\n", "=", "0", "é", "中", "👍", "ab", "  x", "\r\n", " \n", "aA", "\u0301", "\u0301\u0316", "▁"]
CODE = {".go", ".py", ".h", ".c", ".js", ".md", ".rst", ".txt", ".html"}


def piece(r):
    kind = r.randrange(10)
    if kind == 0:
        return "".join(r.choices(SPACES, k=r.choice([1, 1, 2, 3, 8, 40])))
    if kind == 1:
        return r.choice(CONTRACTIONS)
    if kind == 2:
        return r.choice(EMOJI)
    if kind < 5:
        return r.choice(WORDS)
    if kind == 5:
        return "".join(r.choices("0123456789", k=r.randint(1, 9)))
    if kind == 6:
        return "".join(r.choices("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", k=r.randint(1, 5)))
    if kind == 7:
        return "".join(map(chr, r.choices(POINTS, k=r.randint(1, 4))))
    if kind == 8:
        return "".join(r.choices("abcdefghijklmnopqrstuvwxyzABC", k=r.randint(1, 30)))
    return "\n" * r.randint(1, 4) + " " * r.randint(0, 20)


def random_bytes(r):
    return bytes(r.randrange(256) for _ in range(r.randint(1, 300)))


def torture(seed, part=0, parts=1, texts=(), most=20000):
    """Documents from a seed; of all code points, one part of several. texts are put into some."""
    r = random.Random(seed)
    documents = ["", " ", "\n"]
    for _ in range(8000 // parts):
        documents.append("".join(piece(r) for _ in range(r.randint(1, 40))))
    for _ in range(4000 // parts if texts else 0):
        documents.append("".join(r.choice(texts) if r.randrange(2) else piece(r) for _ in range(r.randint(1, 12))))
    points = POINTS[part::parts]
    for i in range(0, len(points), 64):
        documents.append("".join(f"{chr(c)} {chr(c)}a a{chr(c)}1{chr(c)}\n{chr(c)}{chr(c)}'s" for c in points[i : i + 64]))
    for _ in range(400 // parts):
        documents.append(random_bytes(r).decode("utf-8", "replace"))
        documents.append(random_bytes(r).decode("latin-1"))
        documents.append(base64.b64encode(random_bytes(r)).decode())
        documents.append("".join(chr(r.randint(0x4E00, 0x9FA5)) for _ in range(r.randint(10, 200))))
    for run in RUNS:
        documents.extend(run * n for n in [2, 7, 15, 16, 17, 31, 32, 33, 64, 255, 257, 1000] if n <= most)
        documents.append("x" + run * (most // len(run.encode())) + "y")
    return documents


def roots():
    """Directories with texts, the more languages the earlier."""
    here = pathlib.Path(__file__).resolve().parents[2]
    return [
        here / "docs",
        *map(pathlib.Path, ["/usr/share/man", "/usr/share/locale", "/usr/share/doc", "/usr/local/go/src"]),
        pathlib.Path(sysconfig.get_path("stdlib")),
    ]


def system(size):
    """Documents of about size bytes in all from texts of this machine."""
    documents, each = [], size // len(roots())
    for root in roots():
        taken, files = 0, sorted(p for p in root.rglob("*") if p.suffix in CODE or p.suffix == ".gz")
        random.Random(1).shuffle(files)
        for path in files:
            text = read(path)
            for i in range(0, len(text), 6000):
                documents.append(text[i : i + 6000])
                taken += len(documents[-1].encode())
            if taken > each:
                break
    return documents


def read(path):
    try:
        if path.stat().st_size > 400_000 or not path.is_file():
            return ""
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except OSError:
        return ""
    return data.decode("utf-8", "ignore")
