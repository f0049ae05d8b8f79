"""The class of a figure, the list of all figures, and how they are written: PNG, SVG or PDF, and a CSV of the numbers."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from textwrap import fill
from typing import Any, Literal, cast

import matplotlib as mpl
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from fedtheory import plugins
from fedtheory.bounds.sources import digest
from fedtheory.bounds.studies import Study
from fedtheory.bounds.trials.arena import Arena
from fedtheory.figures.files import writable, write
from fedtheory.theory import catalogue

# Okabe and Ito's palette: colour-blind readers can distinguish its colours, also in print.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
GREY = "#999999"

Format = Literal["png", "svg", "pdf"]
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
_MARGIN = 0.1  # inches
DRAWN = Path(__file__).resolve().with_name("drawn")
_COLOURS = 128  # of a PNG: a third of the size, without a visible loss
_OLD = "numbers on record from older code"
_SOURCE = "Source"  # where a PNG has the digest of what it is made of
STYLE: dict[Any, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "axes.titley": 1.0,  # fixed: else each layout measures all texts once more to place it, and takes a twelfth longer
    "axes.labelsize": 9,
    "figure.dpi": 110,
    "font.size": 9,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "svg.hashsalt": "fedtheory",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


@dataclass(frozen=True)
class FigureData:
    """A drawn figure and, in long form, every number in it."""

    canvas: Canvas
    data: pd.DataFrame


@dataclass(frozen=True)
class Tabled:
    """A figure that is a table, as HTML, and in long form every number in it."""

    html: str
    data: pd.DataFrame


@dataclass(frozen=True)
class Picture:
    """A figure by name.

    draw        full -> the figure, drawn; or a table
    statements  the ids that it speaks about
    arenas      the arenas whose measurements it needs, as a function
    study       the study whose numbers it shows
    shown       the ending of the file that shows it: "html" for a table
    """

    name: str
    says: str
    draw: Callable[[bool], FigureData | Tabled]
    statements: tuple[str, ...] = ()
    arenas: Callable[[], Sequence[Arena]] = tuple
    study: Callable[[], Study] | None = None
    shown: Literal["png", "html"] = "png"


def pictures(paper: str | None = None) -> list[Picture]:
    """All figures, or one paper's.  Raises UnknownName for an unknown paper."""
    names = list(catalogue.papers()) if paper is None else [catalogue.paper(paper).name]
    return [p for name in names for p in _of(name)]


def _of(paper: str) -> list[Picture]:
    return list(getattr(plugins.load(paper, "figures"), "FIGURES", ()))


def find(name: str) -> Picture:
    """A figure by name.  Raises UnknownName with the nearest names."""
    known = {p.name: p for p in pictures()}
    if name not in known:
        raise catalogue.unknown("figure", name, list(known))
    return known[name]


def rendered(picture: Picture, full: bool = False, formats: Sequence[Format] = ("png",)) -> dict[str, bytes]:
    """The figure's files, by their endings; those of a table are HTML and CSV, whatever the formats.

    A PNG that is committed with the same numbers and words, made by the same code, is not drawn again.
    """
    with mpl.rc_context(STYLE):
        drawn = picture.draw(full)
        csv = drawn.data.to_csv(index=False, float_format="%.6g", lineterminator="\n")
        if isinstance(drawn, Tabled):
            old = f"<p>{_OLD}</p>\n" if picture.study is not None and picture.study().old else ""
            return {"html": (drawn.html + old).encode(), "csv": csv.encode()}
        canvas = drawn.canvas
        mark_old(picture, canvas)
        made_of = _made_of(picture, canvas, csv)
        if tuple(formats) == ("png",) and (png := _committed(picture.name, made_of)):
            return {"png": png, "csv": csv.encode()}
        layout = canvas.get_layout_engine()
        assert layout is not None, f"{picture.name}: expected a canvas of `canvas`"
        layout.execute(canvas)
        canvas.set_layout_engine(None)  # the layout is final; with an engine, every format would be drawn twice
        around = canvas.get_tightbbox().padded(_MARGIN)
        files: dict[str, bytes] = {}
        for ending in formats:
            buffer = io.BytesIO()
            canvas.savefig(buffer, format=ending, metadata=_METADATA[ending], bbox_inches=around)
            files[ending] = _in_few_colours(buffer, made_of) if ending == "png" else buffer.getvalue()
    return {**files, "csv": csv.encode()}


def _in_few_colours(png: io.BytesIO, made_of: str) -> bytes:
    buffer, text = io.BytesIO(), PngInfo()
    text.add_text(_SOURCE, made_of)
    with Image.open(png) as image:
        # median cut, the default, loses the colours of small areas, such as those of a legend
        few = image.convert("RGB").quantize(_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(buffer, "PNG", optimize=True, pnginfo=text, dpi=image.info.get("dpi"))
    return buffer.getvalue()


def mark_old(picture: Picture, canvas: Canvas) -> None:
    """Say in a figure that its numbers are from older code, if they are."""
    if picture.study is not None and picture.study().old:
        canvas.text(0.01, -0.02, _OLD, va="top", fontsize=7, color=RED)


def _made_of(picture: Picture, canvas: Canvas, csv: str) -> str:
    """A digest of what a figure is made of: its numbers, its words, and the code that draws it."""
    words = [artist.get_text() for artist in canvas.findobj(Text)]
    code = digest((getattr(picture.draw, "func", picture.draw).__module__,), ("figures",))
    return sha256(repr((csv, words, code, mpl.__version__)).encode()).hexdigest()[:16]


def _committed(name: str, made_of: str) -> bytes | None:
    """The PNG beside this program, if it is made of the same."""
    path = files_in(DRAWN, name)["png"]
    try:
        with Image.open(path) as image:
            return path.read_bytes() if image.info.get(_SOURCE) == made_of else None
    except OSError:  # there is none, or it is damaged
        return None


def files_in(folder: Path, name: str, formats: Sequence[str] = ("png", "csv")) -> dict[str, Path]:
    """The files of a figure in the folder, by their endings: NAME.png, NAME.csv, and NAME.svg where it is asked for."""
    return {ending: folder / f"{name}.{ending}" for ending in formats}


def write_files(name: str, files: Mapping[str, bytes], folder: Path) -> list[Path]:
    """Write a figure's files into the folder; returns their paths."""
    paths = files_in(folder, name, tuple(files))
    for ending, path in paths.items():
        write(path, files[ending])
    return list(paths.values())


def save(picture: Picture, folder: Path, full: bool = False) -> list[Path]:
    """Draw and write NAME.png, NAME.svg and NAME.csv into the folder; returns their paths."""
    return write_files(picture.name, rendered(picture, full, ("png", "svg")), folder)


def numbers_of(path: Path) -> Path:
    """The CSV file of a figure's numbers.  It has the figure's whole name: mine.csv beside mine.png is the user's own."""
    return path.with_name(f"{path.name}.csv")


def saveable(path: Path, picture: Picture | None = None) -> None:
    """Checks, before long work, that `save_as` can write a figure, or this one, which may be a table.  Raises ValueError."""
    writable(path, ("html",) if picture is not None and picture.shown == "html" else tuple(_METADATA))
    writable(numbers_of(path))


def save_as(draw: Callable[[], FigureData | Tabled], path: Path) -> None:
    """Write a figure to this PNG, SVG or PDF file, or a table to this HTML file, and its numbers beside it."""
    ending = cast(Format, path.suffix.removeprefix(".").lower())
    files = rendered(Picture(path.stem, "", lambda full: draw()), formats=(ending,))
    write(path, files[ending])
    write(numbers_of(path), files["csv"])


def canvas(rows: int, columns: int, width: float = 3.2, height: float = 2.6, **options: Any) -> tuple[Canvas, Any]:
    """A figure with a grid of axes, not attached to any window: (figure, axes array of shape (rows, columns))."""
    figure = Canvas(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)  # one renderer measures the texts of all passes; else each parses all formulas anew
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, axes


def count_axis(axis: Any, most: float, least: float = 1.0) -> None:
    """A logarithmic axis of counts in plain numbers: 1, 2, 5, 10, 20 ..., or powers of ten if these are too many.

    Less than a decade is marked in even steps, unless it begins at 1.
    """
    dense = LogLocator(subs=(1.0, 2.0, 5.0) if most / least < 500 else (1.0,))
    axis.set_major_locator(dense if most / least >= 10 or least == 1 else MaxNLocator(4, integer=True))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_locator(NullLocator())


# A symbol's name in plain text -> the character that replaces it while lines are broken
_SYMBOLS = {"kappa": "κ", "mu": "μ", "tau": "τ", "gamma": "γ", "phi": "φ", "lambda": "λ", "zeta_*": "ζ"}


def mathematics(text: str, width: int) -> str:
    """A plain-text name as mathematics, in lines of at most `width` characters; a symbol stays with its number."""
    for name, sign in _SYMBOLS.items():
        text = re.sub(rf"\b{re.escape(name)}(?!\w)", sign, text)
    text = fill(re.sub(r" (?=[\d/]+(?:,|$))", "\u00a0", text), width)
    for name, sign in _SYMBOLS.items():
        text = text.replace(sign, rf"$\{name}$")
    return text
