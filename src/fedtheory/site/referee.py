"""A referee's report as PDF, set from its page: text in STIX, formulas by matplotlib's mathtext; always the same bytes."""

from __future__ import annotations

import gc
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path

import matplotlib
from fpdf import FPDF
from fpdf.fonts import TTFFont
from fpdf.output import OutputProducer, PDFInfo
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser

from fedtheory.theory.printing import readable

_FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
_PLAIN, _CODE = "STIXGeneral", "DejaVuSansMono"
_FACES = {"": _PLAIN, "b": "STIXGeneralBol", "i": "STIXGeneralItalic", "bi": "STIXGeneralBol"}
WIDTH, HEIGHT, MARGIN = 595.28, 841.89, 64.0  # A4; all lengths are points
_SIZE, _LEADING = 10.5, 2.6  # of the text; between two lines
_SOFT, _SHADE = 95, 222  # greys: of what matters less, and behind words that differ

_BEFORE = {"h2": 18.0, "article": 14.0, "p": 5.0, "div": 5.0, "table": 8.0, "tr": 4.0}  # the gap above
_COLUMNS = {"list": (0.0, 0.34, 0.67, 1.0), "compared": (0.0, 0.5, 1.0)}  # where they begin, as shares of the width
_INSET, _HANGING = 14.0, 20.0  # of a claim, and of the further lines of its formula

# What mathtext reads, for what else is in the LaTeX of the papers; it has no brace
_MATHTEXT = (
    (r"\\le(?![a-z])", r"\\leq"),
    (r"\\[lr]Vert", r"\\Vert"),
    (r"([_^])\*", r"\1{*}"),  # alone it would be a product
    (r"\\frac\s*(\\[A-Za-z]+|\w)", r"\\frac{\1}"),
    (r"(\\frac\{(?:\\[A-Za-z]+|\w)\})\s*(\\[A-Za-z]+|\w)", r"\1{\2}"),
    (r"^((?:\{\}|\\[lg]eq|[-+= ])*)\\frac(?=\{)", r"\1\\dfrac"),  # the first of a piece, as on a line of its own
)
BRACED = re.compile(r"(.*?)\\underbrace\{(.*)\}_\{\\text\{(.*?)\}\}(.*)", re.DOTALL)
_NEAR = 0.06  # texts so near to each other are one
_FINE = 32  # mathtext rounds the size of a formula to pixels, of which a point has so many


@dataclass(frozen=True)
class Style:
    """How text looks: its face is bold "b", italic "i", both "bi" or neither; `rise` is how far it is raised."""

    face: str = ""
    code: bool = False
    size: float = _SIZE
    rise: float = 0.0
    grey: int = 0
    marked: bool = False


@dataclass(frozen=True)
class Text:
    """Text in one font; x and y are where its baseline starts, y downwards."""

    x: float
    y: float
    font: str
    size: float
    grey: int
    text: str


@dataclass(frozen=True)
class Bar:
    """A filled rectangle; x and y are its upper left corner."""

    x: float
    y: float
    width: float
    height: float
    grey: int = 0


@dataclass(frozen=True)
class Box:
    """What is not broken: a word, a term of a formula, a line; `space` is the blank before it.

    above, below  how far it reaches from its baseline
    inside        other boxes, each with where it is
    """

    width: float = 0.0
    above: float = 0.0
    below: float = 0.0
    texts: tuple[Text, ...] = ()
    bars: tuple[Bar, ...] = ()
    space: float = 0.0
    inside: tuple[tuple[float, float, Box], ...] = ()

    def scaled(self, by: float) -> Box:
        """The box in another size."""
        texts = tuple(Text(t.x * by, t.y * by, t.font, t.size * by, t.grey, t.text) for t in self.texts)
        bars = tuple(Bar(b.x * by, b.y * by, b.width * by, b.height * by, b.grey) for b in self.bars)
        inside = tuple((x * by, y * by, box.scaled(by)) for x, y, box in self.inside)
        return Box(self.width * by, self.above * by, self.below * by, texts, bars, self.space, inside)

    def leaves(self, x: float, y: float) -> Iterator[tuple[float, float, Box]]:
        """The boxes that have something to draw, each with where it is, if this one is at x and y."""
        if self.texts or self.bars:
            yield x, y, self
        for dx, dy, box in self.inside:
            yield from box.leaves(x + dx, y + dy)


@dataclass(frozen=True)
class PageLine:
    """A line of the report: the gap above it, whether the next line stays on its page, and the section that it begins."""

    box: Box
    before: float = 0.0
    keep: bool = False
    heading: str = ""

    @property
    def height(self) -> float:
        """How much of the page it takes, without the gap."""
        return self.box.above + self.box.below


def over(*boxes: tuple[float, float, Box]) -> Box:
    """Boxes as one, each with where it is, to the right and down."""
    return Box(
        max(x + box.width for x, _, box in boxes),
        max(box.above - y for _, y, box in boxes),
        max(box.below + y for _, y, box in boxes),
        inside=boxes,
    )


def row(boxes: Sequence[Box]) -> Box:
    """Boxes as one, side by side with their blanks; that of the first stands before all."""
    if len(boxes) == 1:
        return boxes[0]
    placed, x = [], -boxes[0].space
    for box in boxes:
        placed.append((x + box.space, 0.0, box))
        x += box.space + box.width
    return replace(over(*placed), space=boxes[0].space)


def broken(boxes: Sequence[Box], width: float, hanging: float) -> list[Box]:
    """Words, or pieces of a formula, in lines; all lines but the first begin further right."""
    lines: list[list[Box]] = []
    x = width
    for box in boxes:
        if x + box.space + box.width > width and (not lines or lines[-1]):
            lines.append([])
            x = hanging * (len(lines) > 1) - box.space
        lines[-1].append(box)
        x += box.space + box.width
    return [over((hanging * bool(i), 0.0, row(line))) for i, line in enumerate(lines)]


def pages(lines: Sequence[PageLine], room: float) -> list[list[tuple[float, PageLine]]]:
    """The lines by pages, each with the height of its upper end; lines that belong together stay on one page."""
    found: list[list[tuple[float, PageLine]]] = [[]]
    y, together = 0.0, 0
    for i, line in enumerate(lines):
        if i >= together:  # the first of a group: as many lines as must stay on its page
            together = next((j for j, one in enumerate(lines[i:], i + 1) if not one.keep), len(lines))
            needed = sum(one.before + one.height for one in lines[i:together])
        else:
            needed = line.before + line.height
        if found[-1] and y + min(needed, room) > room:
            found.append([])
        y = y + line.before if found[-1] else 0.0
        found[-1].append((y, line))
        y += line.height
    return found


@cache
def mathematics(latex: str) -> Box | None:
    """A formula set by mathtext, or None where mathtext cannot read it."""
    for pattern, new in _MATHTEXT:
        latex = re.sub(pattern, new, latex)
    try:
        set_ = _mathtext().parse(f"${latex}$", 72 * _FINE, FontProperties(size=_SIZE, math_fontfamily="stix"))
    except ValueError:
        return None
    texts = tuple(
        Text(float(x) / _FINE, -float(y) / _FINE, Path(font.fname).stem, float(size), 0, chr(code))
        for font, size, code, *_, x, y in set_.glyphs
    )
    texts = tuple(sorted(texts, key=lambda t: (t.font, t.size, t.y, t.x)))  # the file changes fonts less often
    rects = ([float(one) / _FINE for one in rect] for rect in set_.rects)
    bars = tuple(Bar(x, -y - h, w, h) for x, y, w, h in rects)
    width, height, depth = (float(one) / _FINE for one in (set_.width, set_.height, set_.depth))
    return Box(width, height - depth, depth, texts, bars)


@cache
def _mathtext() -> MathTextParser:
    return MathTextParser("path")


class _Undated(OutputProducer):
    def _add_info(self) -> PDFInfo:
        info = super()._add_info()
        info.creation_date = None  # type: ignore[assignment]  # the same report is the same file
        return info


class Document(FPDF):
    """A PDF without a date, and the fonts that it uses."""

    def __init__(self, title: str) -> None:
        super().__init__(unit="pt", format="A4")
        # STIX is older than its date, which fontTools finds odd
        logging.getLogger("fontTools.ttLib.tables._h_e_a_d").setLevel(logging.ERROR)
        self.set_auto_page_break(False)
        self.set_title(title)
        self.set_lang("en")
        self.set_creator("fedtheory report")
        self.set_creation_date(datetime(2000, 1, 1, tzinfo=UTC))  # only the file's id is made of it
        self._known: dict[tuple[str, Style], Box] = {}
        self._grey = (-1, 0)  # with the page, as the next
        self._set = ("", 0.0, 0)  # font and size

    def loaded(self, name: str) -> TTFFont:
        """A font of matplotlib's."""
        if name.lower() not in self.fonts:
            self.add_font(name, fname=_FONTS / f"{name}.ttf")
        font = self.fonts[name.lower()]
        assert isinstance(font, TTFFont)
        return font

    def close(self) -> None:
        """Close the files of all fonts; fpdf2 closes those from which it has written something."""
        for font in self.fonts.values():
            if isinstance(font, TTFFont):
                font.close()

    def advance(self, font: str, size: float, text: str) -> float:
        """How wide a text is."""
        return float(self.loaded(font).get_text_width(text, size, None)[1])

    def word(self, text: str, style: Style) -> Box:
        """Text as a box; a character that the font of its style has not is taken from another font."""
        if (text, style) not in self._known:
            self._known[text, style] = self._new(text, style)
        return self._known[text, style]

    def _new(self, text: str, style: Style) -> Box:
        own, size = (_CODE, 0.83 * style.size) if style.code else (_FACES[style.face], style.size)
        boxes = []
        for font, some in groupby(
            text, lambda c: next((f for f in (own, _PLAIN, _CODE) if ord(c) in self.loaded(f).cmap), own)
        ):
            shown = "".join(some)
            width = self.advance(font, size, shown)
            shade = (Bar(0, -0.8 * size, width, 1.05 * size, _SHADE),) if style.marked else ()
            texts = (Text(0, -style.rise, font, size, style.grey, shown),)
            boxes.append(Box(width, 0.75 * size + style.rise, 0.25 * size - style.rise, texts, shade))
        return row(boxes)

    def formula(self, latex: str) -> Box:
        """A piece of a formula, its name below if it has one; what mathtext cannot read, in one line of unicode."""
        braced = BRACED.fullmatch(latex)
        if braced is None:
            return mathematics(latex) or self.word(readable(latex), Style())
        sign, term, name, end = braced.groups()
        parts = [replace(self.formula(sign), space=3.0)] if sign.strip() else []
        parts.append(replace(self._named(self.formula(term), name), space=3.0))
        return row([*parts, self.formula(end)] if end.strip() else parts)

    def _named(self, term: Box, name: str) -> Box:
        """A term with its name below, and a rule between."""
        below = self.word(name, Style(size=7.5, grey=_SOFT))
        width = max(term.width, below.width)
        x, y = (width - term.width) / 2, term.below + 2.0
        rule = Box(bars=(Bar(x, y, term.width, 0.4, _SOFT),))
        return over((x, 0.0, term), ((width - below.width) / 2, y + 7, below), (0.0, 0.0, rule))

    def put(self, box: Box, x: float, y: float) -> None:
        """Draw a box: its bars, and above them its texts.

        A formula's texts have places within the formula, so that the same formula is the same bytes, which packs well.
        """
        words: list[Text] = []
        formulas = []
        for left, base, leaf in box.leaves(x, y):
            for bar in leaf.bars:
                self._ink(bar.grey)
                self.rect(left + bar.x, base + bar.y, bar.width, bar.height, style="F")
            if len(leaf.texts) > 1:
                formulas.append((left, base, leaf.texts))
            else:
                words += (Text(left - x + t.x, base - y + t.y, t.font, t.size, t.grey, t.text) for t in leaf.texts)
        for left, base, texts in ((x, y, tuple(words)), *formulas):
            if texts:
                self._write(left, base, texts)

    def _write(self, x: float, y: float, texts: Sequence[Text]) -> None:
        """Draw texts, with places from x and y: all in one font on one baseline at once."""
        self._out(f"BT {x:.2f} {self.h - y:.2f} Td")
        left, base = 0.0, 0.0
        for (name, size, grey, height), some in groupby(texts, lambda t: (t.font, t.size, t.grey, round(t.y, 1))):
            run = list(some)
            self._ink(grey)
            font = self.loaded(name)
            if self._set != (name, size, self.page):
                self._out(self._set_font_for_page(font, size, wrap_in_text_object=False))
                self._set = (name, size, self.page)
            start = round(run[0].x, 1)
            self._out(f"{start - left:.1f} {base - height:.1f} Td")
            left, base, shown, pen = start, height, "", start
            blank, unit = self.advance(name, size, " "), size / 1000
            pieces = []
            for text in run:
                gap = text.x - pen
                if abs(gap - blank) < _NEAR:
                    shown, gap = f"{shown} ", gap - blank
                if abs(gap) > _NEAR:
                    pieces += [font.encode_text(shown)[:-3]] * bool(shown) + [str(-round(gap / unit))]
                    shown, gap = "", 0.0
                shown += text.text
                pen = text.x + self.advance(name, size, text.text) - gap
            self._out(f"[{''.join([*pieces, font.encode_text(shown)[:-3]])}] TJ")
        self._out("ET")

    def _ink(self, grey: int) -> None:
        """The grey of what follows."""
        if self._grey != (grey, self.page):
            self.set_fill_color(grey)
            self._grey = (grey, self.page)


@dataclass(frozen=True)
class _Open:
    """An element that is open: how its text looks, and where its lines begin and end."""

    tag: str
    classes: frozenset[str]
    style: Style
    left: float
    right: float
    hanging: float


class _Setter(HTMLParser):
    """Sets what stands in the main part of a page, line by line; `<math>` has LaTeX."""

    def __init__(self, document: Document) -> None:
        super().__init__()
        self.document = document
        self.lines: list[PageLine] = []
        self._open = [_Open("", frozenset(), Style(), 0.0, WIDTH - 2 * MARGIN, 0.0)]
        self._cells: list[list[PageLine]] = []  # of a row of a table
        self._rows = 0  # of a table, below its head
        self._words: list[Box] = []
        self._parts: list[Box] = []  # of a word
        self._blank = 0.0
        self._gap = 0.0
        self._heading = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        classes = frozenset((given.get("class") or "").split())
        if tag in ("meta", "link", "wbr"):
            self._end_word()
            return
        if _is_block(tag, classes):
            self._end_paragraph()
            self._gap = max(self._gap, _BEFORE.get(tag, 0.0))
        now = self._open[-1]
        left, right, hanging = now.left, now.right, now.hanging
        if tag in ("td", "th"):
            table = next(one for one in reversed(self._open) if one.tag == "table")
            starts = next(starts for name, starts in _COLUMNS.items() if name in table.classes)
            place, wide = len(self._cells), table.right - table.left
            left, right = (table.left + share * wide for share in starts[place : place + 2])
            self._cells.append([])
            right -= 10.0
        elif "claim" in classes:
            left += _INSET
        elif "formula" in classes:
            hanging = _HANGING
        elif "code" in classes:
            hanging = 18.0 + 9.0 * int(re.sub(r"\D", "", given.get("style") or "0"))
        self._open.append(_Open(tag, classes, _styled(now.style, tag, classes), left, right, hanging))

    def handle_endtag(self, tag: str) -> None:
        closed = self._open[-1]
        if _is_block(closed.tag, closed.classes):
            self._end_paragraph()
        if "number" in closed.classes:  # of a line: its text begins where its further lines do
            self._end_word()
            self._words = [replace(one, width=closed.hanging) for one in self._words]
        if tag == "tr":
            self._end_row(closed)
        if tag == "table":
            self._gap = _BEFORE[tag]
        self._open.pop()

    def handle_data(self, data: str) -> None:
        now = self._open[-1]
        names = {one.tag for one in self._open}
        if "main" not in names or any("jump" in one.classes for one in self._open):
            return
        if now.tag == "math":
            box = self.document.formula(data)
            room = now.right - now.left - _HANGING
            self._words.append(replace(box.scaled(min(1.0, room / box.width)), space=4.0))
            return
        if now.tag == "h2":
            self._heading += data
        for text in re.split(r"([ \n]+)", data):
            if not text.strip(" \n"):
                self._end_word(bool(text))
            else:
                self._add(text, now)

    def _add(self, text: str, now: _Open) -> None:
        """A part of a word; it is cut where it is wider than a line."""
        box = self.document.word(text, now.style)
        most = int(len(text) * (now.right - now.left - now.hanging) / box.width)
        for start in range(0, len(text), most):
            if start:
                self._end_word()
            self._parts.append(self.document.word(text[start : start + most], now.style) if box.width else box)

    def _end_word(self, blank: bool = False) -> None:
        if self._parts:
            self._words.append(replace(row(self._parts), space=self._blank))
            self._parts, self._blank = [], 0.0
        if blank:
            self._blank = self.document.word(" ", self._open[-1].style).width

    def _end_paragraph(self) -> None:
        self._end_word()
        self._blank = 0.0
        if not self._words:
            return
        now = self._open[-1]
        classes = frozenset[str]().union(*(one.classes for one in self._open))
        boxes = broken(self._words, now.right - now.left, now.hanging)
        if "again" in classes:  # how to run it again stands below what it is about
            self.lines[-1] = replace(self.lines[-1], keep=True)
        for i, box in enumerate(boxes):
            left = len(boxes) - 1 - i
            title = now.tag in ("h1", "h2", "h3") or (now.tag == "p" and "source" in now.classes)
            keep = title or bool(left and ("formula" in classes or i == 0 or left == 1))  # no line of a paragraph alone
            line = PageLine(
                over((now.left, 0.0, box)), _LEADING if i else self._gap, keep, self._heading if not i else ""
            )
            (self._cells[-1] if self._cells else self.lines).append(line)
        self._words, self._gap, self._heading = [], _LEADING, ""

    def _end_row(self, closed: _Open) -> None:
        """The lines of the cells, side by side, as one line."""
        placed, before = [], 0.0
        for lines in filter(None, self._cells):
            before = max(before, lines[0].before)
            y = 0.0
            for i, line in enumerate(lines):
                y += lines[i - 1].box.below + line.before + line.box.above if i else 0.0
                placed.append((0.0, y, line.box))
        box = over(*placed)
        head = any(one.tag == "thead" for one in self._open)
        rules = [Bar(closed.left, box.below + 2, closed.right - closed.left, 0.5, _SOFT)] if head else []
        if "changed" in closed.classes:
            rules.append(Bar(closed.left - 6, -box.above, 1.5, box.above + box.below, _SOFT))
        self._rows = 0 if head else self._rows + 1
        self.lines.append(PageLine(replace(box, bars=tuple(rules)), before, keep=self._rows < 3))
        self._cells = []


def _is_block(tag: str, classes: frozenset[str]) -> bool:
    return tag in ("h1", "h2", "h3", "p", "div", "article", "table", "tr", "th", "td", "main") or "code" in classes


def _styled(style: Style, tag: str, classes: frozenset[str]) -> Style:
    """How text looks inside an element, from how it looks around it."""
    size = {"h1": 17.0, "h2": 13.0, "h3": 11.0}.get(tag, style.size)
    bold = tag in ("b", "h2", "h3", "th") or "badge" in classes
    face = "".join(sorted({*style.face, *("b" * bold), *("i" * (tag == "i"))}))
    grey = _SOFT if classes & {"source", "citation", "number"} else 0 if "badge" in classes else style.grey
    marked, code = style.marked or tag == "mark", style.code or tag == "code"
    raised = {"sub": -0.2, "sup": 0.36}.get(tag)
    if raised is not None:
        size, raised = 0.72 * size, raised * size
    return Style(face, code, size, style.rise + (raised or 0.0), grey, marked)


def lines_of(page: str, document: Document) -> list[PageLine]:
    """The lines of a report.

    page  its page, with LaTeX inside `<math>`
    """
    setter = _Setter(document)
    setter.feed(page)
    setter.close()
    return setter.lines


def pdf(page: str, title: str, made_by: str) -> bytes:
    """A report as a PDF file.

    page     its page, with LaTeX inside `<math>`
    made_by  what stands at the foot of its pages, beside the title
    """
    gc.freeze()  # to read formulas makes many small objects; the search for garbage need not look at all others each time
    try:
        with closing(written(page, title, made_by)) as document:
            return bytes(document.output(output_producer_class=_Undated))
    finally:
        gc.unfreeze()


def written(page: str, title: str, made_by: str) -> Document:
    """A report as a document with all its pages, as for `pdf`."""
    document = Document(title)
    sheets = pages(lines_of(page, document), HEIGHT - 2 * MARGIN)
    for number, sheet in enumerate(sheets, 1):
        document.add_page()
        for y, line in sheet:
            if line.heading:
                document.set_y(MARGIN + y)
                document.start_section(line.heading)
            document.put(line.box, MARGIN, MARGIN + y + line.box.above)
        foot = Style(size=8.5, grey=_SOFT)
        right = document.word(f"{number} of {len(sheets)}", foot)
        left = document.word(f"{title} · {made_by}", foot)
        left = left.scaled(min(1.0, (WIDTH - 2 * MARGIN - right.width - 20) / left.width))
        document.put(left, MARGIN, HEIGHT - MARGIN / 2)
        document.put(right, WIDTH - MARGIN - right.width, HEIGHT - MARGIN / 2)
    return document
