"""What an assumption means to the machine: properties of functions, noise, clients, compressors, sampling and start.

An assumption of a paper `gives` properties, each with its constants in the paper's symbols.  An inference rule needs
properties and reads its constants from them.  So a proof changes, and mostly breaks, if an assumption is dropped, is
weakened or has another constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from fractions import Fraction

import sympy


class Property(StrEnum):
    """A property.  The comment behind its name lists, in brackets, the constants that come with it.

    A paper with a property of its own declares it in an enumeration like this one.
    """

    # of the clients' functions F_m; F is their mean, with the clients' weights
    SMOOTH_ABOVE = "smooth from above"  # (L): F_m(y) <= F_m(x) + <grad F_m(x), y - x> + (L/2) ||y - x||^2
    SMOOTH = "two-sided smooth"  # (L): ||grad F_m(x) - grad F_m(y)|| <= L ||x - y||
    SMOOTH_MEAN = "smooth mean"  # (L): F itself is two-sided smooth
    SMOOTH_SAMPLES = (
        "smooth on every mini-batch"  # (L): every stochastic gradient, its sample held fixed, is L-Lipschitz
    )
    CONVEX = "convex"  # (): every F_m is convex
    CONVEX_MEAN = "convex mean"  # (): F is convex
    STRONGLY_CONVEX = "strongly convex"  # (mu): every F_m is mu-strongly convex, mu = 0: convex
    STRONGLY_CONVEX_MEAN = "strongly convex mean"  # (mu): F is mu-strongly convex
    POLYAK = "Polyak-Lojasiewicz"  # (mu): ||grad F(x)||^2 >= 2 mu (F(x) - F*)
    BOUNDED_BELOW = "bounded below"  # (): F* = inf F is finite
    CLIENTS_BOUNDED_BELOW = "clients bounded below"  # (): F_m* = inf F_m is finite for every client
    MINIMISER = "a minimiser"  # (): F has a minimiser x*
    # of the stochastic gradients
    UNBIASED = "unbiased noise"  # (): given all that came before, a stochastic gradient has the mean grad F_m
    VARIANCE = "bounded variance"  # (sigma): its variance is at most sigma^2, given all that came before
    INDEPENDENT_NOISE = "noise independent across clients"  # (): given the start of the round
    BOUNDED_GRADIENT = "bounded stochastic gradient"  # (G): E||g||^2 <= G^2
    VARIANCE_ELSEWHERE = "bounded variance elsewhere"  # (sigma): at points where the algorithm takes no gradient
    BOUNDED_GRADIENT_ELSEWHERE = "bounded stochastic gradient elsewhere"  # (G): likewise
    # of the clients in comparison
    HOMOGENEOUS = "identical clients"  # (): all F_m are F
    HETEROGENEITY_AT_OPTIMUM = "heterogeneity at the optimum"  # (zeta_*): mean ||grad F_m(x*)||^2 <= zeta_*^2
    HETEROGENEITY = (
        "heterogeneity everywhere"  # (beta, zeta): mean ||grad F_m - grad F||^2 <= beta^2 ||grad F||^2 + zeta^2
    )
    DISSIMILARITY = "bounded gradient dissimilarity"  # (G): mean ||grad F_m - grad F||^2 <= G^2
    EQUAL_WEIGHTS = "equal weights"  # (): p_m = 1/M
    WEIGHTS = "weights that sum to one"  # (): p_m >= 0, sum p_m = 1
    # of compressors and binarisation
    COMPRESSOR = "unbiased compressor"  # (q): E Q(v) = v, E||Q(v) - v||^2 <= q ||v||^2
    CONTRACTIVE = "contractive compressor"  # (delta): E||C(v) - v||^2 <= (1 - delta) ||v||^2
    INDEPENDENT_COMPRESSORS = "compressors independent across clients"  # ()
    COMPRESSION_DRIFT = "bounded compression drift"  # (G_q)
    UNBIASED_BINARISATION = "binarisation of mean zero error"  # (): E S(v) = v, given all that came before
    BINARISATION = "unbiased binarisation"  # (q): E S(v) = v, E||S(v) - v||^2 <= q^2 ||v||^2
    BINARISATION_FIRST_MOMENT = "binarisation, first moment"  # (q): E S(v) = v, E||S(v) - v|| <= q ||v||
    # of the run
    SAMPLING = (
        "uniform sampling without replacement"  # (): the clients of a round, drawn apart from all that came before
    )
    BLOCK_SAMPLING = "a uniform sample for each block"  # (): K clients for each block of coordinates, drawn without
    # replacement, apart from all that came before and from the local steps that every client makes or would make
    INITIAL_VARIATES = "control variates that start at their mean"  # (): c = mean c_i
    AT_REST = "no momentum at the start"  # (): v^0 = 0, so that x^{-1} = z^0 = x^0
    ZERO_TRACKINGS = "gradient trackings that start at zero"  # (): moved by deviations from the clients' mean
    DAMPED_TRACKING = "damped gradient tracking"  # (): by the factor 1/(1+q)

    def __repr__(self) -> str:
        return self.name


# How many constants come with a property; none with the others
CONSTANTS: Mapping[StrEnum, int] = {
    **dict.fromkeys((Property.SMOOTH_ABOVE, Property.SMOOTH, Property.SMOOTH_MEAN, Property.SMOOTH_SAMPLES), 1),
    **dict.fromkeys((Property.STRONGLY_CONVEX, Property.STRONGLY_CONVEX_MEAN, Property.POLYAK), 1),
    **dict.fromkeys((Property.VARIANCE, Property.VARIANCE_ELSEWHERE), 1),
    **dict.fromkeys((Property.BOUNDED_GRADIENT, Property.BOUNDED_GRADIENT_ELSEWHERE), 1),
    **dict.fromkeys((Property.HETEROGENEITY_AT_OPTIMUM, Property.DISSIMILARITY), 1),
    Property.HETEROGENEITY: 2,
    **dict.fromkeys((Property.COMPRESSOR, Property.CONTRACTIVE, Property.COMPRESSION_DRIFT), 1),
    **dict.fromkeys((Property.BINARISATION, Property.BINARISATION_FIRST_MOMENT), 1),
}

Properties = Mapping[StrEnum, tuple[sympy.Expr, ...]]


def closed(given: Properties) -> dict[StrEnum, tuple[sympy.Expr, ...]]:
    """The properties and all that they imply: two-sided smooth is smooth from above, strongly convex is convex."""
    found = dict(given)
    implied = (
        (Property.SMOOTH, Property.SMOOTH_ABOVE, 1),
        (Property.SMOOTH, Property.SMOOTH_MEAN, 1),
        (Property.STRONGLY_CONVEX, Property.CONVEX, 0),
        (Property.STRONGLY_CONVEX, Property.STRONGLY_CONVEX_MEAN, 1),
        (Property.CONVEX, Property.CONVEX_MEAN, 0),
        (Property.STRONGLY_CONVEX_MEAN, Property.CONVEX_MEAN, 0),
        (Property.EQUAL_WEIGHTS, Property.WEIGHTS, 0),
        (Property.BINARISATION, Property.UNBIASED_BINARISATION, 0),
        (Property.BINARISATION_FIRST_MOMENT, Property.UNBIASED_BINARISATION, 0),
    )
    for strong, weak, constants in implied:
        if strong in found:
            found.setdefault(weak, found[strong][:constants])
    return found


def united(several: Iterable[Properties]) -> dict[StrEnum, tuple[sympy.Expr, ...]]:
    """All properties of several assumptions.

    Raises ValueError if two assumptions give the same property with different constants.
    """
    found: dict[StrEnum, tuple[sympy.Expr, ...]] = {}
    for one in several:
        for name, constants in closed(one).items():
            if found.setdefault(name, constants) != constants:
                raise ValueError(f"{name}: assumed with {found[name]} and with {constants}; expected one of them")
    return found


# Concept -> the properties whose constant bounds it
BOUNDED_BY: Mapping[str, frozenset[Property]] = {
    "smoothness": frozenset({Property.SMOOTH, Property.SMOOTH_ABOVE, Property.SMOOTH_MEAN, Property.SMOOTH_SAMPLES}),
    "strong convexity": frozenset({Property.STRONGLY_CONVEX, Property.STRONGLY_CONVEX_MEAN, Property.POLYAK}),
    "gradient noise": frozenset({Property.VARIANCE}),
    "heterogeneity at the optimum": frozenset({Property.HETEROGENEITY_AT_OPTIMUM}),
}


class UnreadableConstant(ValueError):
    """A constant of an assumption that searches and runs cannot read: what they would say is open."""


def factors(given: Properties, concepts: Mapping[str, str], concept: str) -> dict[str, list[Fraction]]:
    """What the constants that bound a concept are times their letters: 1/2 of L for L/2-smooth.  A number has no letter: "".

    concepts  letter -> concept

    Raises UnreadableConstant for one that is neither a number nor a multiple > 0 of a letter of this concept.
    """
    found: dict[str, list[Fraction]] = {}
    for name in sorted(BOUNDED_BY[concept] & given.keys()):
        factor, letter = sympy.sympify(given[name][0]).as_coeff_Mul()
        own = letter.is_Symbol and factor > 0 and concepts.get(letter.name, concept) == concept
        if not factor.is_Rational or not (letter == 1 or own):
            raise UnreadableConstant(
                f"{name} with the constant {given[name][0]}: searches and runs read a number or a multiple of its own letter"
            )
        found.setdefault("" if letter == 1 else letter.name, []).append(Fraction(factor.p, factor.q))
    return found
