"""Basic facts, and what follows from the bounds and what does not: orders, remarks, counter-examples by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, cast

import sympy
from sympy import Max, Rational, floor, sqrt

from theory import catalogue
from theory.fedbat import ledgers
from theory.fedbat.paper import (
    F_star,
    K,
    L,
    N,
    T,
    alpha,
    alpha_e,
    alpha_prime,
    alpha_s,
    by_alpha,
    d,
    eta_t,
    m_i,
    m_norm,
    mu,
    p_sq,
    q,
    rho,
    x,
    x_max,
    x_sq,
    x_vec,
    zeta,
)
from theory.notation import Expectation, Norm, Value
from theory.proofs.arithmetic import decide
from theory.proofs.ledger import Ledger, bound_of, conditions_of
from theory.statement import Evidence, EvidenceKind, Order, Relations, Statement, Status, Verdict, Words


def relations_of(statement: Statement) -> tuple[Any, ...]:
    """The relations of the claim.  Raises ValueError for another claim."""
    if not isinstance(statement.claim, Relations):
        raise ValueError(f"{statement.id} claims no relations")
    return statement.claim.relations


def _decided(ledger: Ledger) -> Verdict:
    """A ledger's verdict as that of a derivation: what does not follow is refuted."""
    found = ledger.verdict()
    status = Status.REFUTED if found.status is Status.BROKEN else found.status
    return Verdict(status, found.says, 1.0 if status is Status.PROVED else None, found.witness)


# ------------------------------------------------------------------------------------------------------ the operator


def _noisy() -> tuple[sympy.Expr, sympy.Expr]:
    """(7) with a letter z for its floor, and what stands under the floor."""
    (relation,) = relations_of(catalogue.find("fedbat.eq7"))
    (under,) = (f.args[0] for f in relation.rhs.atoms(floor))
    return relation.rhs.subs(floor(under), sympy.Symbol("z", real=True)), under


def straight_through(by: sympy.Symbol) -> Callable[[Statement, bool], Verdict]:
    """(8), (9), case by case of (6): the derivative of (7), in which that of the floor is 1."""

    def check(statement: Statement, full: bool = False) -> Verdict:
        (relation,) = relations_of(statement)
        z = sympy.Symbol("z", real=True)
        drawn, under = _noisy()
        within = drawn.diff(by) + drawn.diff(z) * under.diff(by)
        if not isinstance(relation.lhs, sympy.Symbol):
            return Verdict(Status.OPEN, f"{relation}: no claim about a derivative")
        cases = relation.rhs if isinstance(relation.rhs, sympy.Piecewise) else sympy.piecewise_fold(relation.rhs)
        if not isinstance(cases, sympy.Piecewise):  # one formula for all cases
            cases = sympy.Piecewise((cases, x > alpha), (cases, x >= -alpha), (cases, True), evaluate=False)
        above, between, below = (value for value, _ in cases.args)
        ledger = Ledger(conditions_of(statement))
        ledger.equal("above alpha", above, alpha.diff(by))
        ledger.equal("within", between.subs(floor(under), z), within)
        ledger.equal("below -alpha", below, (-alpha).diff(by))
        printed = [condition.canonical for _, condition in cases.args[:2]]
        if printed != [(x > alpha).canonical, (x >= -alpha).canonical]:
            return Verdict(
                Status.REFUTED, f"{relation}: its cases are not those of (6)", witness={"cases": str(printed)}
            )
        return _decided(ledger)

    return check


def probability(statement: Statement, full: bool = False) -> Verdict:
    """The second line of (7): the floor is 1 where zeta >= 1 - u, u = (alpha + x)/(2 alpha) in [0, 1]."""
    ledger = Ledger(conditions_of(statement))
    _, under = _noisy()
    u = under - zeta
    ledger.require("u in [0, 1]", [u >= 0, u <= 1])
    ledger.equal("1 - (1 - u)", bound_of(statement).value, u)
    return _decided(ledger)


def positive(statement: Statement, full: bool = False) -> Verdict:
    """(10): the exponential is positive, whatever alpha_e."""
    definition, claim = relations_of(statement)
    e = sympy.Symbol("e", positive=True)  # the exponential
    right = definition.rhs.replace(sympy.exp, lambda _: e)
    found = decide([*conditions_of(statement), definition.lhs <= right, definition.lhs >= right], claim)
    return Verdict(found.status, found.says, witness={s.name: str(v) for s, v in found.model.items()})


def learned(statement: Statement, full: bool = False) -> Verdict:
    """The second line of (14) against (10), in which alpha_e is what is learned: dF/dalpha_e = rho alpha dF/dalpha."""
    definition = catalogue.find("fedbat.eq10").claim
    assert isinstance(definition, Relations)
    parametrised = definition.relations[0].rhs
    slope = sympy.Symbol("slope", real=True)
    moved = parametrised.subs(alpha_e, alpha_e - eta_t * slope)
    chain = parametrised.diff(alpha_e) * by_alpha
    expected = moved.subs(slope, chain).subs(alpha_e, 0).subs(alpha_prime, alpha_s)  # from alpha_e = 0, alpha = alpha'
    printed = relations_of(statement)[1]
    if sympy.simplify(printed.rhs - expected) == 0 and printed.lhs.name == "alpha_next":
        return Verdict(Status.PROVED, "the second line is a step of alpha_e in (10), by the chain rule")
    at = {alpha_s: 1, eta_t: Rational(1, 2), by_alpha: 4, rho: 1}
    values = {"as printed": printed.rhs.subs(at), "by (10)": expected.subs(at)}
    witness = {**{str(s): str(v) for s, v in at.items()}, **{n: str(v) for n, v in values.items()}}
    says = f"alpha becomes {values['as printed']}, by a step of alpha_e in (10) it becomes {values['by (10)']}"
    return Verdict(Status.REFUTED, says, witness=witness)


def _mean_of_entry() -> sympy.Expr:
    """E S(x_i) for an entry within [-alpha, alpha], by the probabilities of (7)."""
    up = bound_of(catalogue.find("fedbat.eq7.prob_plus")).value
    return sympy.simplify(alpha * up - alpha * (1 - up))


def unbiased(statement: Statement, full: bool = False) -> Verdict:
    """Section 4: with alpha = ||x||_inf every entry is within [-alpha, alpha]."""
    (relation,) = relations_of(statement)
    left, right = (side.replace(Expectation, lambda _: _mean_of_entry().subs(x, x_vec)) for side in relation.args)
    ledger = Ledger([])
    ledger.equal("every entry", left, right)
    return _decided(ledger)


def squared_error(statement: Statement, full: bool = False) -> Verdict:
    """Entry by entry alpha^2 - x^2, summed; it is at most (d-1) ||x||^2."""
    up = bound_of(catalogue.find("fedbat.eq7.prob_plus")).value
    entry = sympy.simplify((alpha - x) ** 2 * up + (alpha + x) ** 2 * (1 - up))
    ledger = Ledger(conditions_of(statement))
    value = bound_of(statement).value
    ledger.equal("summed over the entries", value, d * x_max**2 - x_sq)
    ledger.equal("an entry", entry, alpha**2 - x**2)
    ledger.require("at most (d-1) ||x||^2", value <= (d - 1) * x_sq)
    return _decided(ledger)


def restarted(statement: Statement, full: bool = False) -> Verdict:
    """Appendix C.1 for the operator of the analysis: E S_m(w) = w, and its squared error, d ||m||_inf^2 - ||m||^2.

    Assumption 5 makes q at least sqrt(d - 1): an update with one nonzero entry is moved by sqrt(d - 1) times its norm,
    whatever the signs.
    """
    names = {name: s.sympy for name, s in catalogue.symbols(statement).items()}
    w_k, w_bar_0, S, S_m = (names[n] for n in ("w_k", "w_bar_0", "S", "S_m"))
    drawn, error = sympy.symbols("S(m) error", real=True)

    def read(e: Any) -> Any:
        e = e.subs(Value(S, w_k - w_bar_0), drawn).subs(Value(S_m, w_k), drawn + w_bar_0)  # the first relation
        e = e.replace(Norm, lambda v: sqrt(error) if v.has(drawn) else sqrt(x_sq) if v == w_k - w_bar_0 else Norm(v))
        e = e.replace(Expectation, lambda v: v.subs(drawn, w_k - w_bar_0))  # `unbiased`, entry by entry
        return e.subs(error, d * x_max**2 - x_sq)

    definition, mean, bound = relations_of(statement)
    ledger = Ledger([x_max**2 <= x_sq, x_sq <= d * x_max**2, q**2 >= d - 1])
    ledger.equal("S_m", read(definition.lhs), read(definition.rhs))
    ledger.equal("its mean", read(mean.lhs), read(mean.rhs))
    ledger.require("its squared error", bound.func(read(bound.lhs), read(bound.rhs), evaluate=False))
    return _decided(ledger)


def own_step_size(statement: Statement, full: bool = False) -> Verdict:
    """S as defined in (6), with a step size of its own: at x = 0, d = 2 and alpha = 1 the norm of S(x) - x is sqrt(2)."""
    drawn = sympy.Symbol("S(0,1)", real=True)

    def read(e: Any) -> Any:
        at_zero = e.replace(Value, lambda *_: drawn).subs(x_vec, 0)
        norms = at_zero.replace(Norm, lambda v: sqrt(2) if v.has(drawn) else sympy.Integer(0))
        return norms.replace(Expectation, lambda v: v)

    (relation,) = relations_of(statement)
    left, right = map(read, relation.args)
    found = decide([], relation.func(left, right, evaluate=False))
    if found.status is Status.REFUTED:
        witness = {"d": 2, "x": "(0, 0)", "alpha": 1, "left": str(left), "right": str(right), "q": "any"}
        return Verdict(Status.REFUTED, f"x = 0, alpha = 1: {left} is at most {right} for no q", witness=witness)
    return Verdict(Status.HOLDS, "at x = 0 and alpha = 1")


def heterogeneity(statement: Statement, full: bool = False) -> Verdict:
    """Gamma >= 0: F* = sum_k p_k F_k(w*), and F_k(w*) >= F_k*."""
    definition, claim = relations_of(statement)
    at_star, minima = sympy.symbols("sum_p_F_k(w*) sum_p_F_k*", real=True)

    def read(e: Any) -> Any:
        return e.replace(sympy.Sum, lambda *_: minima).subs(F_star, at_star)

    given = at_star >= minima
    ledger = Ledger([])
    ledger.require("F_k(w*) >= F_k*", read(claim), given)
    ledger.equal("Gamma is the difference", read(definition.rhs), at_star - minima)
    return _decided(ledger)


# --------------------------------------------------------------------------------------------- theorems and remarks


def constant_of(name: str) -> sympy.Expr:
    """The B of Theorem 1 or 2, from its first term, kappa/(gamma+T) 2B/mu."""
    statement = catalogue.find(f"fedbat.{name}")
    first = bound_of(statement).terms[0].value
    g = Max(8 * L / mu, catalogue.symbols(statement)["tau"].sympy) - 1
    return sympy.expand(sympy.simplify(first * (g + T) * mu**2 / (2 * L)))


def same_constant(source: str) -> Callable[[Statement, bool], Verdict]:
    """(26), (58): B as in the theorem."""

    def check(statement: Statement, full: bool = False) -> Verdict:
        ledger = Ledger(conditions_of(statement))
        ledger.equal(f"B of {source}", sympy.expand(bound_of(statement).value), constant_of(source))
        return _decided(ledger)

    return check


def every_round(statement: Statement, full: bool = False) -> Verdict:
    """The end of the last of R rounds is a step of synchronisation."""
    definition, claim = relations_of(statement)
    given = [definition.lhs <= definition.rhs, definition.lhs >= definition.rhs]
    found = decide(given, claim)
    witness = {s.name: str(v) for s, v in found.model.items()}
    return Verdict(found.status, f"{found.says}, given {definition}", witness=witness)


def remark1(statement: Statement, full: bool = False) -> Verdict:
    """K = N; q = 0 against (Li et al. 2020); tau = 1: the bound is O(1/T)."""
    claim = statement.claim
    assert isinstance(claim, Words)
    full_B, partial_B = constant_of("thm1"), constant_of("thm2")
    li_full, li_partial = claim.formulas
    tau = catalogue.symbols(statement)["tau"].sympy
    ledger = Ledger([N >= 2, K <= N])
    ledger.equal("K = N, p_k = 1/N", partial_B.subs(K, N), full_B.subs(p_sq, 1 / N))
    ledger.equal("q = 0, Theorem 1", full_B.subs(q, 0), li_full)
    ledger.equal("q = 0, Theorem 2", partial_B.subs(q, 0), li_partial)
    slow = _limit(sum(t.value for t in bound_of(catalogue.find("fedbat.thm2")).terms).subs({K: N, tau: 1}), 1 / T)
    if slow is not None:
        return Verdict(Status.REFUTED, f"K = N, tau = 1: not O(1/T), {slow}", witness={"limit": str(slow)})
    return _decided(ledger)


def _limit(e: sympy.Expr, rate: sympy.Expr) -> sympy.Expr | None:
    """The limit of e/rate as T grows, all other letters fixed, where it is not finite; else None."""
    fixed = e.replace(Max, lambda *_: sympy.Symbol("c", positive=True))
    found = sympy.limit(sympy.simplify(fixed / rate), T, sympy.oo)
    return None if found.is_finite or not found.has(sympy.oo, sympy.zoo, sympy.nan) else found


def rates(*theorems: str) -> Callable[[Statement, bool], Verdict]:
    """Remark 2: term by term, Theorems 1 and 2 against 1/T, Theorem 3 against 1/T and 1/sqrt(T)."""

    def check(statement: Statement, full: bool = False) -> Verdict:
        claims = [statement.claim, *statement.also]
        for name, claim in zip(theorems, (claims[0], claims[0], claims[-1]), strict=True):
            assert isinstance(claim, Order)
            slowest = max((t.value for t in claim.terms), key=lambda rate: sympy.N(rate.subs(T, 10**6)))
            for term in bound_of(catalogue.find(f"fedbat.{name}")).terms:
                beyond = _limit(term.value, slowest)
                if beyond is not None:
                    witness = {"theorem": name, "term": term.name, "limit of term/rate": str(beyond)}
                    return Verdict(Status.REFUTED, f"{name}: {term.name} is of no order {slowest}", witness=witness)
        return Verdict(
            Status.PROVED, "every term of the three bounds, T growing and all else fixed: tau, and d in q, too"
        )

    return check


# -------------------------------------------------------------------------------- counter-examples worked out by hand


def gradients_elsewhere(statement: Statement, full: bool = False) -> Verdict:
    """Assumption 4 bounds gradients at w_t^k; the algorithm takes them at x_t^k.

    Two coordinates, so q = 1; clients alike, no noise, eta = 1.  The gradient is (1, 0) at w_0 = 0, (0, +-M) at
    x_1 = (-1, +-1), and 0 at w_1 = (-1, 0) and where the client comes after that: some smooth function has these
    gradients at these points.  So G = 1, and a client's update after the second step is (-1, -+M), the signs of two
    clients independent.
    """
    for size in (1, 2, 4, 6, 12):
        M2 = Fraction(size**2)
        error, spread = M2 - 1, M2  # E||S(u) - u||^2 = 2 M^2 - (1 + M^2); sum_i ||v_i - vbar||^2 for two clients
        for clients, sampled, tau, known in (
            (1, 1, 3, {"spread_x": error, "binarised_sq": error, "spread_w": Fraction(0)}),
            (1, 1, 2, {"jump_sq": error}),
            (2, 1, 2, {"jump_sq": error + spread / 2, "A_bin": error, "A_2": spread / 2}),
        ):
            claim = bound_of(statement)
            if claim.quantity.name not in known or (sampled < clients) != ("K" in _letters(statement)):
                continue
            at = {"N": clients, "K": sampled, "tau": tau, "q": 1, "G": 1, "eta_t": 1, "eta_later": 1, "eta_start": 1,
                  "p_sq": Fraction(1, clients), "M": size}  # fmt: skip
            table = catalogue.symbols(statement)
            right = Fraction(
                str(claim.value.subs({table[n].sympy: Rational(str(v)) for n, v in at.items() if n in table}))
            )
            left = known[claim.quantity.name]
            if left > right:
                gradients = {
                    "gradient at w_0 = 0": "(1, 0)",
                    "at x_1 = (-1, +-1)": f"(0, +-{size})",
                    "at the other w_t": "0",
                }
                told = {n: str(v) for n, v in at.items() if n not in ("M", "eta_later", "eta_start")}
                witness = {**gradients, **told, "left": str(left), "right": str(right)}
                says = f"gradients at w_t at most 1, at x_1 of size {size}: {claim.quantity.name} = {left}, claimed {right}"
                return Verdict(Status.REFUTED, says, float(right / left), witness)
    return Verdict(Status.HOLDS, "gradients at x_1 up to 12 times those at the w_t")


def _letters(statement: Statement) -> set[str]:
    return {s.name for s in bound_of(statement).value.free_symbols}


def stochastic_sign(statement: Statement, full: bool = False) -> Verdict:
    """Stoc-SignSGD: m_i + xi > 0 for xi uniform in [-||m||, ||m||] has probability (||m|| + m_i)/(2 ||m||)."""
    ledger = Ledger(conditions_of(statement))
    value = bound_of(statement).value
    ledger.equal("share of the interval", value, (m_norm + m_i) / (2 * m_norm))
    ledger.require("a probability", [value >= 0, value <= 1])
    return _decided(ledger)


def evidence() -> Iterator[Evidence]:
    """Ledgers, derivations, orders and counter-examples."""
    yield from ledgers.evidence()
    derivations: Mapping[str, Callable[[Statement, bool], Verdict]] = {
        "eq7.prob_plus": probability,
        "eq8": straight_through(x),
        "eq9": straight_through(alpha),
        "eq10": positive,
        "eq14.corrected": learned,
        "setting_theory": unbiased,
        "c1.t0": restarted,
        "assump5.sq_error": squared_error,
        "def.Gamma": heterogeneity,
        "eq26": same_constant("thm1"),
        "eq58": same_constant("thm2"),
        "d1.sync": every_round,
        "d1.sync.corrected": every_round,
        "baseline.stoc_signsgd": stochastic_sign,
    }
    for name, check in derivations.items():
        yield Evidence(f"fedbat.{name}", "derivation", check)
    yield Evidence("fedbat.remark1", "derivation", remark1)
    for kind, suffix in (("derivation", ""), ("repair", ".corrected")):
        theorems = tuple(f"{name}{suffix}" for name in ("thm1", "thm2", "thm3"))
        yield Evidence(
            "fedbat.remark2", cast(EvidenceKind, kind), rates(*theorems), tuple(f"fedbat.{t}" for t in theorems)
        )
    yield Evidence("fedbat.eq14", "counterexample", learned)
    yield Evidence("fedbat.assump5.claim", "counterexample", own_step_size)
    for name in ("lemma3", "lemma4", "lemma6", "eq48", "eq50", "eq62", "eq64"):
        yield Evidence(f"fedbat.{name}", "counterexample", gradients_elsewhere)
