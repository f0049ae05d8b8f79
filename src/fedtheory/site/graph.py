"""What rests on what in a paper, as a picture to click: a statement with its corrected and sharper forms is one block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from fedtheory.site.layered import Point, layered
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Status
from fedtheory.verification import Checked

_LETTER, _ROW, _BETWEEN, _MARGIN = (
    7.3,
    22.0,
    5.0,
    12.0,
)  # pixels: of a letter, a box, the gap to the next form, around all
_MARKS = {  # colour is not alone
    Status.REFUTED: "✗",
    Status.PROVED: "✓",
    Status.CONDITIONAL: "(✓)",
    Status.TESTED: "≈",
    Status.BROKEN: "⚡",
}


@dataclass(frozen=True)
class Node:
    """A statement as a box; `x` and `y` are its upper left corner.

    infected  whether it rests on a refuted statement, directly or through others
    """

    checked: Checked
    label: str
    infected: bool
    x: float
    y: float
    width: float

    @property
    def id(self) -> str:
        """The id of the statement."""
        return self.checked.statement.id

    @property
    def height(self) -> float:
        """The height of its box."""
        return _ROW

    @property
    def says(self) -> str:
        """What its box shows, in words."""
        s = self.checked.statement
        told = [s.id, s.kind, s.place, str(self.checked.status)]
        told += ["rests on a refuted statement"] if self.infected else []
        return ", ".join([*told, *([f"{s.form}, by us"] if s.ours else [])])


@dataclass(frozen=True)
class Link:
    """An edge: the second statement rests on the first, or is its corrected or sharper form.

    path  as SVG writes it
    """

    first: str
    second: str
    form: bool
    ours: bool
    path: str


@dataclass(frozen=True)
class Graph:
    """The picture of a paper, and the ids of the statements that nothing joins to others, which it leaves out."""

    width: int
    height: int
    nodes: tuple[Node, ...]
    lines: tuple[Link, ...]
    alone: tuple[str, ...]

    def __contains__(self, id_: str) -> bool:
        return any(node.id == id_ for node in self.nodes)


def graph(own: Sequence[Checked]) -> Graph:
    """The statements of a paper as a picture, each right of those on which it rests."""
    known = {c.statement.id: c for c in own}
    blocks: dict[str, list[str]] = {}
    for id_ in known:
        blocks.setdefault(catalogue.as_printed(known[id_].statement), []).append(id_)
    block_of = {id_: name for name, ids in blocks.items() for id_ in ids}
    rests = [(other, id_) for id_, c in known.items() for other in c.statement.rests_on if other in known]
    between = [(block_of[a], block_of[b]) for a, b in rests if block_of[a] != block_of[b]]
    joined = {name for edge in between for name in edge}
    labels = {id_: _label(id_, known[id_]) for ids in blocks.values() for id_ in ids}
    sizes = {name: _size([labels[id_] for id_ in ids]) for name, ids in blocks.items() if name in joined}
    layout = layered(sizes, between)
    infected = _infected({id_ for id_, c in known.items() if c.status is Status.REFUTED}, rests)
    nodes = {
        id_: Node(
            known[id_],
            labels[id_],
            id_ in infected,
            round(layout.corners[name][0]),
            round(layout.corners[name][1] + row * (_ROW + _BETWEEN)),
            sizes[name][0],
        )
        for name in sizes
        for row, id_ in enumerate(blocks[name])
    }
    lines = [
        Link(
            a,
            b,
            False,
            known[b].statement.ours,
            _path(nodes[a], nodes[b], layout.routes[block_of[a], block_of[b]][1:-1]),
        )
        for a, b in rests
        if (block_of[a], block_of[b]) in layout.routes
    ]
    for id_, node in nodes.items():
        other = node.checked.statement.corrects or node.checked.statement.sharpens
        if other in nodes:
            lines.append(Link(other, id_, True, True, _down(nodes[other], node)))
    across = sorted(nodes.values(), key=lambda node: (node.x, node.y))  # the order of the tabulator key
    alone = tuple(id_ for id_ in known if block_of[id_] not in joined)
    return Graph(round(layout.width), round(layout.height), tuple(across), tuple(lines), alone)


def _label(id_: str, checked: Checked) -> str:
    """The name in its box: without the paper's, and of another form only what it adds."""
    s = checked.statement
    other = s.corrects or s.sharpens
    name = id_.removeprefix(f"{other}.") if other else id_.partition(".")[2]
    return f"{_MARKS[checked.status]} {name}" if checked.status in _MARKS else name


def _size(labels: Sequence[str]) -> Point:
    return round(max(map(len, labels)) * _LETTER + _MARGIN), len(labels) * (_ROW + _BETWEEN) - _BETWEEN


def _infected(refuted: set[str], rests: Sequence[tuple[str, str]]) -> set[str]:
    """The statements that rest on a refuted one, directly or through others, and are not refuted themselves."""
    found: set[str] = set()
    waiting = list(refuted)
    while waiting:
        before = waiting.pop()
        new = {id_ for other, id_ in rests if other == before} - refuted - found
        found |= new
        waiting += new
    return found


def _path(first: Node, second: Node, passed: Sequence[Point]) -> str:
    """A curve from the right side of a box through the columns that it passes to the left side of another box."""
    points = [(first.x + first.width, first.y + _ROW / 2), *passed, (second.x, second.y + _ROW / 2)]
    text = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
    for i, ((x, y), (to_x, to_y)) in enumerate(pairwise(points)):
        middle = (x + to_x) / 2
        curve = f"C{middle:.0f} {y:.0f} {middle:.0f} {to_y:.0f} {to_x:.0f} {to_y:.0f}"
        text += f"H{to_x:.0f}" if i % 2 else curve  # it goes straight through a column
    return text


def _down(above: Node, below: Node) -> str:
    """A curve along the left sides, from a box to a form of it that stands below."""
    x, top, bottom = above.x, above.y + _ROW / 2, below.y + _ROW / 2
    return f"M{x:.0f} {top:.0f}C{x - 14:.0f} {top:.0f} {x - 14:.0f} {bottom:.0f} {x:.0f} {bottom:.0f}"
