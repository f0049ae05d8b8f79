"""Every rule refuses what it is not about: arguments of a wrong kind, and those of another function or mini-batch."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
import sympy

from fedtheory.theory import catalogue
from fedtheory.theory.fedbat import symbols
from fedtheory.theory.fedbat.checks import quantities as fedbat
from fedtheory.theory.proofs import forms, rules
from fedtheory.theory.proofs.argument import Argument
from fedtheory.theory.proofs.forms import (
    Before,
    Family,
    FormTerm,
    Gradient,
    Objective,
    Value,
    bare,
    before,
    gradient,
    value,
    vector,
)
from fedtheory.theory.proofs.rules import RULES, Noise, Rule
from fedtheory.theory.sfl.checks import quantities as sfl
from fedtheory.theory.sfl.symbols import eta, grad_sq
from fedtheory.theory.statement import Status, at_most

NUMBER = sympy.Symbol("n", positive=True)
COUNT = sympy.Symbol("count", positive=True, integer=True)


@dataclass(frozen=True)
class Clients:
    """The vectors of the clients of a family; of their local steps, if there are any."""

    family: Family
    steps: tuple[Family, ...] = ()

    @property
    def families(self) -> tuple[Family, ...]:
        return self.steps

    @property
    def clients(self) -> tuple[Family, ...]:
        return (self.family,)

    @property
    def mass(self) -> sympy.Expr:
        return self.family.mass

    def sum(self, e: sympy.Expr) -> sympy.Expr:
        for family in (*self.steps, self.family):
            e = family.sum(sympy.expand(e))
        return e


F, OTHER = Objective("F"), Objective("F~")
C, I, ONE, Q = (
    Family("C", COUNT, at_once=True),
    Family("I", COUNT),
    Family("W", sympy.Integer(1)),
    Family("A", COUNT, at_once=True),
)
J, SQUARED = Family("J", NUMBER, (I,)), Family("S", NUMBER, square_of=ONE)
F_m, WEIGHED, OTHERS = F.client("F_m", C), F.client("F_m", ONE), OTHER.client("F_m", C)
x, y = vector("x"), vector("y")
x_star, x_own = forms.Minimiser("x*", F), forms.Minimiser("x_m*", F_m)
lowest, penalised = forms.Infimum("F*", F), forms.PenalisedInfimum("F~*", F, NUMBER)
unit, variate, of_client = vector("unit", C), forms.Variate("c_m", C), vector("v", C)
mean = forms.Mean("mean", unit, C)
batch = forms.MiniBatch("zeta", (C,))
at_x, at_y = batch.gradient("g_x", F_m, x), batch.gradient("g_y", F_m, y)
sample = rules.Sample(C, Q, frozenset({of_client, x, forms.Variate("c_m", C), forms.Renewed("c_next", variate)}))
renewed = forms.Renewed("c_next", forms.Variate("c_m", Q))
drawn = rules.ConditionalMean(forms.MeanAtStart("mean of v", of_client), frozenset({x}))


def noise(*families: Family) -> Noise:
    function = F.client("F_m", *families[:1])
    return Noise(forms.StochasticGradient("g", function, vector("y", *families)).error, frozenset({x}))


def rounding(family: Family = C) -> rules.BinarisationError:
    return rules.BinarisationError(forms.Binarised("e", vector("v", family), sympy.S.Zero).error, frozenset({x}))


def message(sent: sympy.Expr = of_client) -> rules.CompressionError:
    return rules.CompressionError(forms.Compressed("Q", sent).error, frozenset({x}))


def own(steps: Clients) -> sympy.Expr:
    return vector("v", *steps.steps)


def at_start(clients: Clients) -> sympy.Expr:
    return vector("v", clients.family)


PARTLY, WHOLE = Clients(C, (J,)), Clients(C, (I,))
EVERY, SOME, WEIGHTED, SQUARES = Clients(Q), Clients(C), Clients(ONE), Clients(SQUARED)
RUN = rules.RoundsOfRun(I, x, y, vector("x_0"), vector("x_R"))
n = NUMBER
EXAMPLES: dict[Rule, tuple[Any, ...]] = {
    rules.JENSEN: (x, y),
    rules.JENSEN_OVER: (of_client, C),
    rules.YOUNG: (x, y, n),
    rules.SQUARE: (x,),
    rules.PART: (own, PARTLY, WHOLE),
    rules.JENSEN_PART: (own, PARTLY, WHOLE),
    **dict.fromkeys((rules.LIPSCHITZ, rules.DESCENT, rules.TANGENT, rules.COCOERCIVE), (n, F_m, y, x)),
    **dict.fromkeys((rules.MONOTONE, rules.COCOERCIVE_PAIR), (n, F_m, y, x)),
    **dict.fromkeys((rules.DESCENT_OF_MEAN, rules.LIPSCHITZ_OF_MEAN, rules.SMOOTH_DESCENT), (n, F, y, x)),
    rules.CONVEX: (F_m, y, x),
    rules.PERTURBED: (n, n, F_m, x, y, x - y),
    rules.BELOW: (F, x, lowest),
    rules.LOWEST_OF_CLIENT: (F_m, x, forms.Infimum("F_m*", F_m)),
    rules.STATIONARY: (F, x_star, x),
    rules.ATTAINED: (F, x_star, lowest),
    rules.GRADIENT_AND_GAP: (n, F, x, x_star),
    rules.OWN_MINIMISER: (n, F_m, x_own, x),
    **dict.fromkeys((rules.SMALL_GRADIENT, rules.POLYAK, rules.STRONGLY_POLYAK), (n, F, x, lowest)),
    rules.PENALISED_INFIMUM: (F, x, n, penalised),
    rules.PENALISED_POLYAK: (F, n, x, penalised),
    rules.PENALISED_SMOOTH: (n, F_m, n, y, x),
    rules.FRESH: (noise(C, I), x),
    rules.VARIANCE: (n, noise(C, I)),
    rules.SILENT: (n, noise(C, I), y, n),
    rules.SUCCESSIVE: (noise(C, I), I),
    rules.INDEPENDENT: (noise(C, I), I, C),
    rules.NOISE_BEFORE: (n, noise(C, I), I),
    rules.NOISE_APART: (of_client, noise(C, I), C, I),
    rules.INDEPENDENT_WEIGHTED: (lambda clients: noise(clients.family), SQUARES, WEIGHTED),
    rules.SMOOTH_SAMPLE: (n, at_y, at_x),
    rules.BOUNDED_STEP: (n, forms.LearningStep("u", C), n),
    rules.SAMPLED: (gradient(F_m, x), gradient(F, x), C, x + y),
    rules.CLIENTS_WITHOUT_REPLACEMENT: (gradient(F_m, x), gradient(F, x), C, n),
    rules.SECOND_MOMENT: (gradient(F_m, x), gradient(F, x), C),
    rules.HETEROGENEITY: (n, n, gradient(F_m, x), gradient(F, x)),
    rules.HETEROGENEITY_AT_OPTIMUM: (n, gradient(F_m, x_star)),
    rules.MEAN_OF_SAMPLE: (of_client, C, Q, x + y),
    rules.WITH_REPLACEMENT: (unit, mean, C, n),
    rules.WITHOUT_REPLACEMENT: (unit, mean, C, n),
    rules.PAIR_OF_SAMPLE: (forms.SampleDraw("v_p", unit, C), forms.SampleDraw("v_q", unit, C), mean, unit, n),
    rules.EXCHANGEABLE: (at_start, SOME, EVERY),
    rules.MEAN_VALUE: (WEIGHED, F, x, ONE),
    rules.MEAN_GRADIENT: (WEIGHED, F, x, ONE, y),
    rules.EQUAL_SHARES: (at_start, EVERY, WEIGHTED, x),
    rules.SAMPLE_OF: (at_start, SOME, EVERY),
    rules.SUM_VALUE: (C, F_m, F, x),
    rules.SUM_GRADIENT: (C, F_m, F, x, y),
    rules.DISSIMILAR: (n, C, F_m, F, x),
    rules.IDENTICAL: (F_m, F, x, y),
    rules.GRADIENT_OF_MEAN: (F_m, F, x, C, y),
    rules.BINARISED: (rounding(), x),
    rules.BINARISATION_ERROR: (n, rounding()),
    rules.INDEPENDENT_BINARISATION: (lambda clients: rounding(clients.family), SQUARES, WEIGHTED),
    rules.DECODED: (n, message(), x),
    rules.COMPRESSION: (n, message()),
    rules.COMPRESSED_APART: (n, message(), C),
    rules.COMPRESSION_DRIFT: (n, message(), message(C.sum(of_client) / COUNT), C),
    rules.CENTRED: (drawn, x),
    rules.CLIENTS_APART: (drawn, C),
    rules.BALANCED: (forms.Tracking("delta", C), C, x),
    rules.CONTROLLED: (C, variate, forms.ServerVariate("c", variate, C), x),
    rules.APART: (sample, of_client**2),
    rules.BLOCK_VARIANCE: (sample, of_client),
    rules.RENEWED: ((renewed - x) ** 2, renewed, x, sample),
    rules.ONE_MINUS: (n,),
    rules.SUMS_COMMUTE: (vector("v", C, I) * x, I, C, x * y),
    rules.TELESCOPED: (RUN, lambda model: value(F, model)),
    rules.IN_ORDER: (vector("v", I), vector("u", I), I),
    rules.SUMS_BEFORE: (vector("v", I), I),
    rules.COPIES: (of_client, x, I),
    rules.COPIES_SQUARED: (of_client, I),
    rules.PAIRS_IN_ORDER: (of_client, x, C, I),
    rules.PARTIAL_SUMS: (of_client, C, I),
}


def wrong(rule: Rule, one: Any) -> Iterator[Any]:
    """Arguments of another kind than this one; and those of another function, if the rule has others of this function."""
    of_functions = (forms.Function, forms.Minimiser, forms.Infimum, forms.PenalisedInfimum)
    several = sum(isinstance(e, of_functions) for e in EXAMPLES[rule]) > 1
    yield from (None, "x", object())
    if isinstance(one, Objective):
        yield from (F_m, x, n, C, vector("F"), *([OTHER] if several else []))
    elif isinstance(one, forms.Client):
        yield from (F, x, n, C, vector("F_m", C), *([OTHERS] if several else []))
    elif isinstance(one, forms.Minimiser):
        zero = sympy.Add(x, sympy.Mul(0, one, evaluate=False), evaluate=False)
        yield from (x, zero, x - one, vector(one.name), one.function)
        yield from (forms.Minimiser("x*", OTHER), forms.Minimiser("x*", OTHERS))
    elif isinstance(one, forms.Infimum | forms.PenalisedInfimum):
        yield from (vector(one.name), n, value(F, x))
        yield from (forms.Infimum("F*", OTHER), forms.PenalisedInfimum("F*", F, 2 * n))
    elif isinstance(one, Gradient | Value):
        other = OTHERS if isinstance(one.function, forms.Client) else OTHER
        kind = type(one)
        yield from (vector(one.name), kind(other, one.at), kind(one.function, x + y), x, one.function, n)
        yield Value(one.function, one.at) if kind is Gradient else Gradient(one.function, one.at)
    elif isinstance(one, rules.Deviation):
        yield from (e for e in (noise(C, I), rounding(), message()) if type(e) is not type(one))
        yield from (one.vector, one.drawn, x - x_star)
    elif isinstance(one, forms.StochasticGradient):
        yield from (vector(one.name, C), forms.StochasticGradient(one.name, F_m, one.at), one.mean)
        yield forms.MiniBatch("xi", (C,)).gradient(one.name, F_m, one.at)
        yield batch.gradient(one.name, OTHERS, one.at)
    elif isinstance(one, FormTerm) and type(one) is not forms.Vector:
        yield from (vector(one.name), vector("v", C), x, F)
    elif isinstance(one, Family):
        yield from (x, F, n, "C")
    elif isinstance(one, FormTerm):
        yield from (F, F_m, C, n, x * y, x**2, value(F, x), lowest, x + 1)
    elif isinstance(one, sympy.Expr) and not forms.vectors_in(one):
        yield from (F, C, x, lowest)
    elif isinstance(one, sympy.Expr):
        yield from (F, F_m, C)
    else:
        yield from (x, n, C, F, noise(C, I))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_refuses_every_argument_of_another_kind(rule: Rule) -> None:
    example = EXAMPLES[rule]
    assert isinstance(rule(*example), sympy.Expr)
    for place, one in enumerate(example):
        for other in wrong(rule, one):
            arguments = (*example[:place], other, *example[place + 1 :])
            assert refused(rule, arguments), f"argument {place + 1}: {other} for {one}"


def refused(rule: Rule, arguments: tuple[Any, ...]) -> bool:
    try:
        rule(*arguments)
    except (ValueError, TypeError):
        return True
    return False


def test_the_objective_for_a_clients_function() -> None:
    """The slip of a fifth paper's author: F written for F_m, once."""
    p = Argument(catalogue.find("sfl.step.eq29"), sfl.LANGUAGE)
    p.by(rules.LIPSCHITZ, sfl.F_fun, sfl.ALL.point, sfl.x)
    p.by(rules.OWN_MINIMISER, sfl.F_fun, sfl.x_star, sfl.x)
    says = [step.decision.says for step in p.steps if step.decision.status is not Status.PROVED]
    assert says[0] == "function: expected Client, got F (Objective)", says
    for at, says in (({symbols.F_k: fedbat.F_fun}, "F for F_k"), ({symbols.w_star: fedbat.w_0}, "wbar_t0 for w_star")):
        p = Argument(catalogue.find("fedbat.eq38"), fedbat.LANGUAGE)
        p.at("eq37", at)
        assert says in p.verdict().says


def test_a_gradient_is_not_zero_at_what_is_written_like_a_minimiser() -> None:
    """A point plus 0 times a minimiser is no minimiser, nor is a vector with the name of one, and E||grad F(x)||^2 > 0."""
    claimed = replace(catalogue.find("sfl.lemma5"), claim=at_most(grad_sq, nothing=0), when=(), where={})
    same = sympy.Add(sfl.x, sympy.Mul(0, sfl.x_star, evaluate=False), evaluate=False)
    for point in (same, vector("x*"), sfl.x - sfl.x_star, forms.Minimiser("x*", sfl.ALL.function)):
        p = Argument(claimed, sfl.LANGUAGE)
        zero = p.by(rules.STATIONARY, sfl.F_fun, point, sfl.global_grad)
        p.conclude(p.have("no gradient", grad_sq, "<=", sympy.Integer(0), -1 * zero))
        assert p.verdict().status is Status.BROKEN and p.verdict().witness["step"] == "stationary"


def test_a_vector_has_a_value_only_by_a_recorded_algorithm_or_claim() -> None:
    for after in ({sfl.global_grad: sympy.Integer(0)}, {sfl.x_next: sfl.x}, {eta: sympy.Integer(0)}):
        p = Argument(catalogue.find("sfl.step.eq28"), sfl.LANGUAGE)
        p.follow("alg1")
        p.have("for nothing", grad_sq, ">=", grad_sq, after=after)
        assert "no recorded algorithm, claim or definition" in p.verdict().says


@pytest.mark.parametrize(
    ("says", "use"),
    [
        ("StochasticGradient and its mean", lambda: Noise(gradient(F, x), frozenset({x}))),
        ("StochasticGradient and its mean", lambda: Noise(x - x_star, frozenset({x}))),
        ("expected g<C> - grad", lambda: Noise(noise(C).drawn - gradient(F_m, x), frozenset({x}))),
        ("not known before it is drawn", lambda: Noise(noise(C).vector, frozenset({C.sum(noise(C).drawn)}))),
        ("one draw", lambda: rules.VARIANCE(n, Noise(before(noise(C, I).vector, I), frozenset()))),
        ("one draw", lambda: rules.SUCCESSIVE(noise(C), I)),
        ("one after another", lambda: rules.NOISE_BEFORE(n, noise(C, I), C)),
        ("squared weights", lambda: rules.INDEPENDENT_WEIGHTED(lambda c: noise(c.family), WEIGHTED, WEIGHTED)),
        ("the same of both", lambda: rules.PART(lambda c: x if c is PARTLY else y, PARTLY, WHOLE)),
        ("not known before the clients C", lambda: rules.SAMPLED(gradient(F_m, x), gradient(F, x), C, C.sum(unit))),
        ("not known before the clients C", lambda: rules.MEAN_OF_SAMPLE(of_client, C, Q, of_client)),
        ("each sampled client C", lambda: rules.MEAN_OF_SAMPLE(of_client * C.sum(of_client), C, Q, n + 0 * x)),
        ("a vector of each client C", lambda: rules.BALANCED(forms.Tracking("delta"), C, x)),
        ("expected a function", lambda: gradient(vector("F"), x)),  # type: ignore[arg-type]
        ("Minimiser x of y: expected Function", lambda: forms.Minimiser("x", y)),
    ],
)
def test_what_a_rule_or_a_vector_is_not_about(says: str, use: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=says):
        use()


def test_symbols_are_the_same_only_if_they_mean_the_same() -> None:
    assert vector("x*") != x_star != forms.Minimiser("x*", OTHER) and str(x_star) == "x*"
    assert C.sum(vector("g", C)) != C.sum(noise(C).drawn)
    assert x_star is forms.Minimiser("x*", F) and pickle.loads(pickle.dumps(x_star - x)) == x_star - x
    assert isinstance(next(iter(before(of_client, I).free_symbols)), Before)
    assert bare(gradient(F_m, vector("y", C))) == gradient(F.client("F_m"), y)
    with pytest.raises(ValueError, match="instead of A"):
        forms.renamed(C.sum(vector("v", C, Q)), Q, C)
