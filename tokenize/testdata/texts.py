"""Documents of English, of code and of many languages, from packages of Debian and this machine.

They stay in the user's cache. Where Debian's packages cannot be had, english and languages are the
texts of this machine.
"""

import gzip
import html
import os
import pathlib
import random
import re
import shutil
import subprocess
import sysconfig

import corpus

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "shardfeed" / "texts"
HELP = ["de", "el", "gl", "hi", "hu", "ja", "ko", "ru", "tr", "vi", "zh-cn"]
ENGLISH = ["debian-handbook", "libreoffice-help-en-us", "perl-doc", "git-doc", "dict-jargon", "dict-foldoc"]
LANGUAGES = ["debian-handbook", *(f"libreoffice-help-{code}" for code in HELP), "manpages-ja", "manpages-zh", "manpages-ru"]
MARKUP = re.compile(r"<(script|style)\b.*?</\1>|<[^>]+>", re.DOTALL | re.IGNORECASE)
MOST = 1_500_000  # bytes of one directory of a language, so that none prevails
TEXTS = ("english", "code", "languages", "torture")


def documents(name, size):
    """About size bytes of documents of one of TEXTS."""
    return list(limit(shuffled(name), size))


def shuffled(name):
    if name == "torture":
        found = [d for seed in range(2, 8) for d in corpus.torture(seed)]
    elif name == "code":
        found = [d for root in code_roots() for d in limit(pieces(files(root, {".go", ".py", ".h", ".c", ".js", ".pl"})), 20_000_000)]
    else:
        found = list(english() if name == "english" else languages())
    random.Random(3).shuffle(found)
    return found


def limit(found, size):
    taken = 0
    for document in found:
        if taken >= size:
            return
        yield document
        taken += len(document.encode())


def code_roots():
    return [pathlib.Path("/usr/local/go/src"), pathlib.Path("/usr/include"), pathlib.Path(sysconfig.get_path("stdlib"))]


def english():
    share = packages(ENGLISH) / "usr/share"
    for place in ["doc/debian-handbook/html/en-US", "libreoffice/help/en-US", "perl", "doc/git", "dictd"]:
        yield from limit(pieces(files(share / place, {".html", ".txt", ".pod", ".dz"})), 12_000_000)


def languages():
    share = packages(LANGUAGES) / "usr/share"
    for place in ["libreoffice/help", "man", "doc/debian-handbook/html"]:
        for root in sorted(p for p in (share / place).glob("*") if p.is_dir() and p.name != "en-US" and not p.name.startswith("man")):
            yield from limit(pieces(files(root, {".html", ".gz"})), MOST)


def packages(names):
    """The directory with the files of packages, fetched once; of this machine where there is no apt."""
    for name in names:
        done, part = CACHE / name, CACHE / "part"
        if done.exists() or not shutil.which("apt-get"):
            continue
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        if subprocess.run(
            ["apt-get", "download", "--quiet", name], cwd=part, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ).returncode:
            print(f"texts: {name} cannot be had")
            continue
        subprocess.run(["dpkg-deb", "-x", *part.glob("*.deb"), CACHE / "all"], check=True)
        done.touch()
    return CACHE / "all" if (CACHE / "all").exists() else pathlib.Path("/")


def files(root, suffixes):
    found = sorted(p for p in root.rglob("*") if p.suffix in suffixes and p.is_file())
    random.Random(1).shuffle(found)
    return found


def pieces(paths):
    """Documents of 1,500 to 9,000 characters, cut at lines."""
    r = random.Random(2)
    for path in paths:
        text, at = read(path), 0
        while at < len(text):
            end = text.find("\n", at + r.randint(1500, 9000))
            end = len(text) if end < 0 else min(end, at + 20000)
            if end - at > 200:
                yield text[at:end]
            at = end + 1


def read(path):
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix in {".gz", ".dz"} else data).decode("utf-8", "ignore")
    except (OSError, EOFError):
        return ""
    return re.sub(r"\s*\n\s*\n\s*", "\n\n", html.unescape(MARKUP.sub("", text))) if path.suffix == ".html" else text
