"""A layered drawing of a graph: each node stands to the right of the nodes before it.  Sizes and places are in pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise

_SWEEPS = 24  # over the columns, to find orders with few crossings, and then places
_BESIDE, _BELOW = 56.0, 10.0  # gaps between columns, and between the nodes of a column
_BEND = 6.0  # the height of a place where an edge passes a column

Edge = tuple[str, str]  # from, to
Point = tuple[float, float]
_Place = tuple[str, int]  # a node, and the column: its own, or one that its edges pass


@dataclass(frozen=True)
class Layout:
    """The drawing.

    corners  node -> its upper left corner
    routes   edge -> where it leaves its first node, the columns that it passes (their left and right ends), its last node
    """

    width: float
    height: float
    corners: Mapping[str, Point]
    routes: Mapping[Edge, tuple[Point, ...]]


def layered(sizes: Mapping[str, Point], edges: Sequence[Edge]) -> Layout:
    """Lay out the nodes with these widths and heights.  Edges go from left to right.

    An edge that closes a circle, or has an end elsewhere, is left out.  Parts that no edge joins stand one below the other,
    the largest first.
    """
    kept = _without_circles(sizes, edges)
    corners: dict[str, Point] = {}
    routes: dict[Edge, tuple[Point, ...]] = {}
    width = height = 0.0
    for part in _parts(list(sizes), kept):
        top = height + _BELOW if corners else 0.0
        one = _of_part({n: sizes[n] for n in sizes if n in part}, [edge for edge in kept if edge[0] in part])
        corners |= {node: (x, y + top) for node, (x, y) in one.corners.items()}
        routes |= {edge: tuple((x, y + top) for x, y in points) for edge, points in one.routes.items()}
        width, height = max(width, one.width), top + one.height
    return Layout(width, height, corners, routes)


def _parts(nodes: Sequence[str], edges: Sequence[Edge]) -> list[set[str]]:
    """The nodes that edges join to each other, directly or through others; the largest parts first."""
    part_of = {node: {node} for node in nodes}
    for a, b in edges:
        if part_of[a] is not part_of[b]:
            part_of[a] |= part_of[b]
            part_of |= dict.fromkeys(part_of[b], part_of[a])
    return sorted({id(part): part for part in part_of.values()}.values(), key=len, reverse=True)


def _of_part(sizes: Mapping[str, Point], kept: Sequence[Edge]) -> Layout:
    """The layout of nodes that edges join; the edges close no circle."""
    columns = _columns(list(sizes), kept)
    last = {node: max((columns[b] for a, b in kept if a == node), default=columns[node]) for node in sizes}
    places = [(node, column) for node in sizes for column in range(columns[node], max(columns[node] + 1, last[node]))]
    links: list[tuple[_Place, _Place]] = [((a, c - 1), (a, c)) for a, c in places if c > columns[a]]
    links += [((a, columns[b] - 1), (b, columns[b])) for a, b in kept]
    heights = {(node, c): sizes[node][1] if c == columns[node] else _BEND for node, c in places}
    centres = _centres(places, links, heights)
    widths = [max(sizes[n][0] for n in sizes if columns[n] == c) for c in range(max(columns.values(), default=-1) + 1)]
    lefts = [sum(widths[:c]) + _BESIDE * c for c in range(len(widths))]

    def route(a: str, b: str) -> tuple[Point, ...]:
        first, own = columns[a], columns[b]
        passed = [(x, centres[a, c]) for c in range(first + 1, own) for x in (lefts[c], lefts[c] + widths[c])]
        return (lefts[first] + sizes[a][0], centres[a, first]), *passed, (lefts[own], centres[b, own])

    corners = {n: (lefts[c], centres[n, c] - sizes[n][1] / 2) for n, c in columns.items()}
    height = max((centres[p] + heights[p] / 2 for p in places), default=0.0)
    width = lefts[-1] + widths[-1] if widths else 0.0
    return Layout(width, height, corners, {edge: route(*edge) for edge in kept})


def _without_circles(nodes: Mapping[str, Point], edges: Sequence[Edge]) -> list[Edge]:
    """The edges but for those that close a circle with edges before them."""
    after: dict[str, list[str]] = {node: [] for node in nodes}

    def leads(a: str, b: str) -> bool:
        return a == b or any(leads(c, b) for c in after[a])

    for a, b in dict.fromkeys(edges):
        if {a, b} <= nodes.keys() and not leads(b, a):
            after[a].append(b)
    return [(a, b) for a, others in after.items() for b in others]


def _before(nodes: Mapping[str, Point] | Sequence[str], edges: Sequence[Edge]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {node: [] for node in nodes}
    for a, b in edges:
        found[b].append(a)
    return found


def _columns(nodes: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """Each node right of all before it; one that has none before it stands just left of the first after it."""
    before = _before(nodes, edges)
    columns: dict[str, int] = {}
    for node in TopologicalSorter(before).static_order():
        columns[node] = 1 + max((columns[a] for a in before[node]), default=-1)
    for node in nodes:
        after = [columns[b] for a, b in edges if a == node]
        if after and not before[node]:
            columns[node] = min(after) - 1
    return columns


def _centres(
    places: Sequence[_Place], links: Sequence[tuple[_Place, _Place]], heights: Mapping[_Place, float]
) -> dict[_Place, float]:
    """The height at which each place stands: near the places with links to it, and below the one above."""
    columns: dict[int, list[_Place]] = {}
    for place in places:
        columns.setdefault(place[1], []).append(place)
    left: dict[_Place, list[_Place]] = {place: [] for place in places}
    right: dict[_Place, list[_Place]] = {place: [] for place in places}
    for a, b in links:
        right[a].append(b)
        left[b].append(a)
    at: dict[_Place, float] = {}
    for own in columns.values():
        at |= _stacked(own, [0.0] * len(own), heights)
    for sweep in range(_SWEEPS):
        near, far = (left, right) if sweep % 2 == 0 else (right, left)
        for column in sorted(columns, reverse=sweep % 2 == 1):
            own = columns[column]
            wanted = {p: _mean([at[q] for q in near[p] or far[p]] or [at[p]]) for p in own}
            own.sort(key=lambda p: wanted[p])
            at |= _stacked(own, [wanted[p] for p in own], heights)
    for sweep in range(_SWEEPS):  # the orders stay as they are
        for column in sorted(columns, reverse=sweep % 2 == 1):
            own = columns[column]
            wanted = {p: _mean([at[q] for q in (*left[p], *right[p])] or [at[p]]) for p in own}
            at |= _stacked(own, [wanted[p] for p in own], heights)
    top = min((at[p] - heights[p] / 2 for p in places), default=0.0)
    return {place: y - top for place, y in at.items()}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _stacked(own: Sequence[_Place], wanted: Sequence[float], heights: Mapping[_Place, float]) -> dict[_Place, float]:
    """Centres in this order, as near as possible (in least squares) to those wanted, with gaps: by pooling neighbours."""
    offsets = [0.0]
    for above, below in pairwise(own):
        offsets.append(offsets[-1] + (heights[above] + heights[below]) / 2 + _BELOW)
    pools: list[tuple[float, int]] = []  # mean and size
    for want, offset in zip(wanted, offsets, strict=True):
        pools.append((want - offset, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (b, m), (a, n) = pools.pop(), pools.pop()
            pools.append(((a * n + b * m) / (n + m), n + m))
    level = [mean for mean, size in pools for _ in range(size)]
    return {place: y + offset for place, y, offset in zip(own, level, offsets, strict=True)}
