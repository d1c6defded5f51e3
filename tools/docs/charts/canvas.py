"""An SVG that is read in light and in dark mode, on a desktop and on a phone."""

from __future__ import annotations

from html import escape

STYLE = """text { font: 13px system-ui, sans-serif; fill: #1f2328 } .small { font-size: 11px }
.quiet { fill: #57606a } .title { font-weight: 600 } text.on { fill: #fff }
.box { fill: #f6f8fa; stroke: #d0d7de } .inner { fill: #ddf4ff; stroke: #54aeff }
.line { stroke: #57606a; stroke-width: 1.5; fill: none } .dot { stroke: #0969da; stroke-width: 1.6; stroke-linecap: round }
.ours { fill: #0969da } .other { fill: #afb8c1 } .rule { stroke: #d0d7de }
.a { fill: #0969da } .b { fill: #1a7f37 } .c { fill: #bc4c00 } .d { fill: #8250df } .e { fill: #bf8700 } .f { fill: #57606a }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .quiet { fill: #9198a1 }
.box { fill: #161b22; stroke: #3d444d } .inner { fill: #0c2d6b; stroke: #1f6feb }
.ours { fill: #4493f8 } .other { fill: #484f58 } .rule { stroke: #3d444d }
.line { stroke: #9198a1 } .dot { stroke: #4493f8 }
.a { fill: #1f6feb } .b { fill: #238636 } .c { fill: #bd561d } .d { fill: #8957e5 } .e { fill: #9e6a03 } }"""

WIDTH = 480  # of the drawing; shown up to SHOWN pixels wide
SHOWN = 660


class Canvas:
    """Shapes are drawn in the order of the calls."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._parts: list[str] = []

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> None:
        self._parts.append(f'<text class="{kind}" x="{x:.6g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>')

    def box(self, x: float, y: float, width: float, height: float, kind: str = "box") -> None:
        self._parts.append(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height:g}" rx="4"/>')

    def named(self, x: float, y: float, width: float, height: float, words: str, kind: str = "box", text: str = "") -> None:
        """A box with words in its middle."""
        self.box(x, y, width, height, kind)
        self.text(x + width / 2, y + height / 2 + 4.5, words, text, "middle")

    def arrow(self, x: float, y: float, to_x: float, to_y: float) -> None:
        """A line down or to the right, with a head."""
        head = "m-4 -5l4 5l4 -5" if to_y > y else "m-5 -4l5 4l-5 4"
        self._parts.append(f'<path class="line" d="M{x:g} {y:g}L{to_x:g} {to_y:g}{head}"/>')

    def rule(self, x: float, top: float, bottom: float) -> None:
        """An upright line of a grid."""
        self._parts.append(f'<path class="rule" d="M{x:.1f} {top:g}V{bottom:g}"/>')

    def dots(self, places: list[tuple[float, float]]) -> None:
        path = "".join(f"M{x:.0f} {y:.0f}h0" for x, y in places)
        self._parts.append(f'<path class="dot" d="{path}"/>')

    def svg(self, height: float) -> str:
        size = f'width="{SHOWN}" height="{SHOWN * height / WIDTH:.0f}" viewBox="0 0 {WIDTH} {height:g}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(self._label)}">'
        return "\n".join([head, f"<style>{STYLE}</style>", *self._parts, "</svg>", ""])
