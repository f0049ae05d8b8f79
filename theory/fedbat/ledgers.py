"""The proofs of Appendices C, D and E, and of the corrected statements, replayed from the lemmas to the constants.

Every premise is the catalogue's claim, every conclusion the statement's own, so that a changed constant anywhere breaks
the ledger at the step that used it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Max

from theory import catalogue
from theory.fedbat.paper import (
    A_1,
    A_2,
    B_1,
    B_2,
    F_0,
    F_T,
    A_bin,
    B,
    C,
    Delta_1,
    Delta_next,
    Delta_t,
    F_bar,
    F_bar_next,
    F_fun,
    F_k,
    F_k_star,
    F_v,
    G,
    Gamma,
    K,
    L,
    N,
    T,
    apart_sq,
    avg_step_grad_sq,
    beta,
    binarised_sq,
    d0,
    dist0_sq,
    eta,
    eta_later,
    eta_start,
    eta_t,
    f_gap,
    g_sq,
    g_t,
    gamma,
    gap_t,
    gbar_sq,
    global_gap,
    grad_sq,
    grads_bar_sq,
    grads_x_sq,
    inner_bar,
    inner_down,
    inner_grad,
    inner_move,
    inner_star,
    jump_sq,
    local_gap,
    local_gap_bar,
    mu,
    noise_sq,
    p_sq,
    q,
    sigma,
    spread_w,
    spread_x,
    star_gap,
    star_own,
    steps_sq,
    t,
    t_0,
    tau,
    v,
    v_bar,
    v_dist,
    v_mean,
    v_spread,
    w_bar,
    w_bar_next,
    w_mean,
    w_star,
    x_k,
    x_star_sq,
)
from theory.notation import Grad, Inner, Norm, Value
from theory.proofs.ledger import Ledger, Proof, bound_of, conditions_of, opened, proof
from theory.proofs.vectors import difference
from theory.statement import Bound, Relations, Statement, Term

_STEP = [
    Delta_t,
    Delta_next,
    v_dist,
    noise_sq,
    spread_x,
    spread_w,
    binarised_sq,
    jump_sq,
    A_1,
    A_2,
    v_spread,
    x_star_sq,
]
_VALUES = [F_bar, F_bar_next, F_v, F_0, F_T, gap_t, global_gap, local_gap, local_gap_bar, star_gap, star_own]
_GRADIENTS = [grad_sq, gbar_sq, g_sq, apart_sq, grads_x_sq, grads_bar_sq, avg_step_grad_sq]
_INNER = [inner_star, inner_move, inner_down, inner_bar, inner_grad, C]
_CONSTANTS = [sigma, G, Gamma, f_gap, dist0_sq, d0, Delta_1]
ATOMS = [*_STEP, *_VALUES, *_GRADIENTS, *_INNER, *_CONSTANTS]

Check = Callable[[Statement], Ledger]
_ANY: Mapping[sympy.Symbol, sympy.Expr] = {}
_ALIKE = {p_sq: 1 / N}


def claimed(name: str) -> Bound:
    """The claim of a statement of this paper, as it stands in the catalogue, its definitions put in."""
    statement = catalogue.find(f"fedbat.{name}")
    claim = bound_of(statement)
    terms = tuple(type(term)(term.name, defined(statement, term.value)) for term in claim.terms)
    return Bound(claim.quantity, terms, claim.sign)


def defined(statement: Statement, e: Any) -> Any:
    """An expression with what the statement defines put in, again and again; T is kept as it is."""
    where = {letter: value for letter, value in statement.where.items() if letter != T}
    for _ in where:
        e = e.subs(where, simultaneous=True)
    return e


def start(statement: Statement) -> tuple[Ledger, sympy.Expr]:
    """`opened`, with what the statement defines put into its conditions and its value."""
    ledger, value = opened(statement)
    ledger.conditions = [c for c in (defined(statement, c) for c in ledger.conditions) if c != sympy.true]
    return ledger, defined(statement, value)


def relations_of(statement: Statement) -> list[Any]:
    """The relations of the claim, with the statement's definitions put in.  Raises ValueError for another claim."""
    if not isinstance(statement.claim, Relations):
        raise ValueError(f"{statement.id} claims no relations")
    return [defined(statement, r) for r in statement.claim.relations]


def of_line(name: str, reads: Mapping[sympy.Expr, sympy.Expr]) -> sympy.Expr:
    """The larger side of a line in vector notation, in the letters of means and of sums over clients: `reads` says which.

    Raises ValueError where something in vector notation is left.
    """
    (relation,) = relations_of(catalogue.find(f"fedbat.{name}"))
    e = sympy.expand(relation.gts.subs(reads))
    if e.has(Norm, Inner, Value, Grad):
        raise ValueError(f"{name}: {e} is not in letters of sums alone")
    return e


def used(ledger: Ledger, *names: str, read: Callable[[Any], Any] = lambda c: c) -> None:
    """The conditions of what is used follow from those of the statement."""
    for name in names:
        ledger.admits(catalogue.find(f"fedbat.{name}"), read)


def square(ledger: Ledger, share: sympy.Expr) -> None:
    """||u + share w||^2 = ||u||^2 + 2 share <u, w> + share^2 ||w||^2: it is, when it is on the line."""
    u, w = sympy.symbols("u w", real=True)
    ledger.equal("square of a sum", (u + share * w) ** 2, u**2 + 2 * share * u * w + share**2 * w**2)


# What several steps have in common


def same(derived: sympy.Expr, says: str) -> Check:
    """An identity: the claimed value is what is derived, by the square of a sum and what `says` names."""

    def check(statement: Statement) -> Ledger:
        ledger, value = start(statement)
        square(ledger, -eta_t)
        ledger.equal(says, value, derived)
        return ledger

    return check


def no_more(derived: sympy.Expr, says: str) -> Check:
    """A bound by what is derived."""

    def check(statement: Statement) -> Ledger:
        ledger, value = start(statement)
        ledger.at_most(says, derived, value, ATOMS)
        return ledger

    return check


def within_a_round(steps: sympy.Expr, share: Callable[[sympy.Expr], sympy.Expr], says: str) -> Check:
    """(47) for a client's update of so many steps at most, none longer than eta_{t_0} G; `share`: what becomes of it."""

    def check(statement: Statement) -> Ledger:
        ledger, value = start(statement)
        used(ledger, "eq47.corrected", read=lambda c: c.subs(t_0, t))
        count = sympy.Symbol("n", nonnegative=True)
        ledger.require("no step is longer than the first may be", eta_t**2 * G**2 <= eta_start**2 * G**2)
        moved = claimed("eq47.corrected").value.subs({t: t_0 + count, steps_sq: count * eta_start**2 * G**2})
        most = moved.subs(count, steps)
        ledger.require("at most so many steps", moved <= most, count <= steps, steps >= 0)
        ledger.at_most(says, share(most), value, ATOMS)
        return ledger

    return check


def weaker(source: str) -> Check:
    """A bound by a sharper one."""

    def check(statement: Statement) -> Ledger:
        ledger, value = start(statement)
        used(ledger, source)
        ledger.at_most(f"from {source}", claimed(source).value, value, ATOMS)
        return ledger

    return check


def chained(begin: str, *links: tuple[str, sympy.Symbol], at: Mapping[sympy.Symbol, sympy.Expr] = _ANY) -> Check:
    """What a statement says, in which atoms are bounded one after another by others, is at most what is claimed.

    at  the shares
    """

    def check(statement: Statement) -> Ledger:
        ledger, value = start(statement)
        used(ledger, begin, read=lambda c: c.subs(at))
        e = claimed(begin).value
        for name, atom in links:
            used(ledger, name, read=lambda c: c.subs(at))
            e = ledger.apply(name, e, atom, claimed(name)).subs(at)
        if eta_start in e.free_symbols and eta_start not in value.free_symbols:
            ledger.require("the learning rate of a round", eta_start**2 <= 4 * eta_t**2)
            e = e.subs(eta_start, 2 * eta_t)
        ledger.at_most("in all", e, value, ATOMS)
        return ledger

    return check


# ------------------------------------------------------------------------------------------------------ Appendix C


def polarised(statement: Statement) -> Ledger:
    """(36), and facts of that kind: a quadratic form that z3 finds to be >= 0."""
    ledger = Ledger(conditions_of(statement))
    for relation in relations_of(statement):
        ledger.require("a quadratic form", difference(relation) >= 0)
    return ledger


def _of_33(gap: sympy.Symbol) -> sympy.Expr:
    """(33) summed over the clients, at points whose gaps to the F_k^* sum to `gap`."""
    return of_line("eq33", {Value(F_k, x_k): gap, F_k_star: sympy.Integer(0)})


def jensen34(statement: Statement) -> Ledger:
    """(34): Jensen, then (33) summed over the clients."""
    ledger, value = start(statement)
    for claim in statement.also:
        assert isinstance(claim, Relations)
        for relation in claim.relations:
            large = relation.gts
            e = relation.lts.subs(gbar_sq, grads_x_sq).subs(
                grads_x_sq, _of_33(local_gap) if large.has(local_gap) else grads_x_sq
            )
            ledger.at_most("in between", e, large, ATOMS)
    ledger.at_most("Jensen, and (33) summed", eta_t**2 * _of_33(local_gap), value, ATOMS)
    return ledger


def combined(statement: Statement) -> Ledger:
    """(38): (32) with (34) to (37), and ||x_t^k - w*||^2 from below."""
    ledger, value = start(statement)
    norms = {
        Norm(w_bar - x_k) ** 2: spread_x,
        Norm(Grad(F_k, x_k)) ** 2: grads_x_sq,
        Norm(x_k - w_star) ** 2: x_star_sq,
    }
    move = -of_line("eq36", norms) / 2
    down = -of_line("eq37", {**norms, Value(F_k, x_k): star_gap, Value(F_k, w_star): sympy.Integer(0)})
    inner = claimed("eq35").value.subs({inner_move: move, inner_down: down})
    square = bound_of(catalogue.find("fedbat.eq32")).value.subs({B_1: inner, B_2: claimed("eq34").value})
    e = sympy.expand(square).subs(grads_x_sq, _of_33(local_gap))  # (33) again
    e = e.subs(x_star_sq, Delta_t)  # summed over the clients it is spread_x + Delta_t
    ledger.at_most("(38)", sympy.expand(e), value, ATOMS)
    return ledger


def split39(statement: Statement) -> Ledger:
    """(39): sum_k p_k F_k(w*) = F*, so the gaps differ by Gamma."""
    ledger, value = start(statement)
    gaps = {local_gap: global_gap + Gamma, star_gap: global_gap, star_own: Gamma}
    whole = catalogue.find("fedbat.eq39").where[C]
    ledger.equal("(39)", value.subs(gaps), whole.subs(gaps))
    for claim in statement.also:
        assert isinstance(claim, Relations)
        for relation in claim.relations:
            if isinstance(relation, sympy.Eq):
                ledger.equal(str(relation), *(defined(statement, side).subs(gaps) for side in relation.args))
            else:
                small, large = (defined(statement, side).subs(gaps) for side in (relation.lts, relation.gts))
                ledger.require(str(relation), small <= large)
    return ledger


def below40(statement: Statement) -> Ledger:
    """(40), line by line: convexity at wbar, AM-GM, (33) at wbar summed."""
    ledger = Ledger(conditions_of(statement))
    u, w = sympy.symbols("u w", real=True)
    ledger.require("AM-GM", u * w >= -(eta_t * u**2 + w**2 / eta_t) / 2)
    bounds = {
        global_gap: Bound(-global_gap, (Term("convexity", -inner_bar - gap_t),)),
        inner_bar: Bound(-inner_bar, (Term("am_gm", (eta_t * grads_bar_sq + spread_x / eta_t) / 2),)),
        grads_bar_sq: Bound(grads_bar_sq, (Term("smoothness", _of_33(local_gap_bar)),)),
    }
    for relation, (atom, bound) in zip(relations_of(statement), bounds.items(), strict=True):
        e = sympy.expand(relation.lts - relation.gts)
        if atom in e.free_symbols:
            e = ledger.apply(f"line with {atom}", e, atom, bound)
        ledger.at_most(f"line with {atom}", e, sympy.Integer(0), ATOMS)
    return ledger


def bound41(statement: Statement) -> Ledger:
    """(41): (39), with (40) for what stands in D; local_gap_bar = gap_t + Gamma."""
    ledger, value = start(statement)
    gamma_t = defined(statement, catalogue.symbols(statement)["gamma_t"].sympy)
    ledger.require("gamma_t", [gamma_t >= eta_t, gamma_t <= 2 * eta_t])
    line40 = catalogue.find("fedbat.eq40").claim
    assert isinstance(line40, Relations)
    least = line40.relations[-1].rhs.subs(local_gap_bar, gap_t + Gamma)
    used(ledger, "eq39")
    e = claimed("eq39").value.subs(global_gap, least)
    ledger.at_most("(41)", sympy.expand(e), value, ATOMS)
    return ledger


def total42(source: str, rest: str) -> Check:
    """(42): (38) and (41)."""

    def check(statement: Statement) -> Ledger:
        ledger, value = start(statement)
        before = bound_of(catalogue.find(f"fedbat.{source}")).value  # with C as it stands
        used(ledger, source, rest)
        e = ledger.apply("(41)", before, C, Bound(C, claimed(rest).terms))
        ledger.at_most("(42)", e, value, ATOMS)
        return ledger

    return check


def induction(statement: Statement) -> Ledger:
    """(27), line by line."""
    ledger = Ledger([defined(statement, c) for c in conditions_of(statement)])
    for claim in (statement.claim, *statement.also):
        assert isinstance(claim, Relations)
        for relation in claim.relations:
            read = defined(statement, relation)
            if isinstance(read, sympy.Eq):
                ledger.equal("a line of (27)", *read.args)
            else:
                ledger.require("a line of (27)", read)
    return ledger


def stated(statement: Statement) -> Ledger:
    """Inequalities between constants, decided under the conditions: the claim's, and what is claimed besides."""
    ledger = Ledger([defined(statement, c) for c in conditions_of(statement)])
    for claim in (statement.claim, *statement.also):
        if isinstance(claim, Bound):
            ledger.require("the claim", defined(statement, claim.quantity) <= defined(statement, claim.value))
        elif isinstance(claim, Relations):
            for relation in claim.relations:
                ledger.require(str(relation), defined(statement, relation))
    return ledger


def smooth28(statement: Statement) -> Ledger:
    """(28): F(w) - F* <= (L/2) ||w - w*||^2 by smoothness at w*, then the induction."""
    ledger, value = start(statement)
    for claim in statement.also:
        assert isinstance(claim, Relations)
        for relation in claim.relations:
            ledger.require(str(relation), relation, gap_t <= L / 2 * Delta_t)
    ledger.require("(28)", gap_t <= value, gap_t <= L / 2 * Delta_t)
    return ledger


def final30(statement: Statement) -> Ledger:
    """(30): (28) with the v of (29)."""
    ledger, value = start(statement)
    ledger.conditions = [*ledger.conditions, gamma > 0]
    e = claimed("eq28").value.subs(v, claimed("eq29").value)
    ledger.at_most("(28) with (29)", e, value, [Delta_1, B])
    return ledger


def cleared(relation: Any) -> Any:
    """a <= b between quotients with positive denominators, without them."""
    numerator, _ = sympy.fraction(sympy.together(relation.gts - relation.lts))
    return sympy.expand(numerator) >= 0


@dataclass(frozen=True)
class Decreasing:
    """The learning rates 2/(mu (g + t)) of Theorems 1 and 2.

    least  what max{8 L/mu, tau} is called
    """

    g: sympy.Expr
    least: sympy.Symbol

    def conditions(self) -> list[Any]:
        """What is known of max{8 L/mu, tau}."""
        return [self.least >= 8 * L / mu, self.least >= tau]

    def rate(self, step: sympy.Expr) -> sympy.Expr:
        """The learning rate of a step."""
        return 2 / (mu * (self.g + step))

    def read(self, e: Any) -> Any:
        """A condition at these learning rates, and p_k = 1/N where it speaks of shares and clients are sampled."""
        at = {eta_t: self.rate(t), eta_later: self.rate(t + tau), eta_start: self.rate(t_0)}
        read = e.subs(at)
        return cleared(read) if read != e else read

    def is_that_of(self, ledger: Ledger, statement: Statement) -> None:
        """The statement's own learning rate is this one."""
        own = self.value(statement.where[eta_t].subs(gamma, statement.where[gamma]))
        ledger.equal("the learning rate", own, self.rate(t))

    def value(self, e: sympy.Expr) -> sympy.Expr:
        """The claimed value in `least`."""
        return e.subs(Max(8 * L / mu, tau), self.least)


_least = sympy.Symbol("max{8L/mu,tau}", positive=True)
_PRINTED, _FROM_START = Decreasing(_least - 1, _least), Decreasing(_least, _least)


def decreasing(recursion: str, last: str, *lemmas: str) -> Check:
    """Theorems 1 and 2: conditions on the learning rate, the recursion (t >= 1), the induction, (30) or (59) at t = T.

    lemmas  whose conditions are for all t >= 0; the corrected ones speak of one round
    """

    def check(statement: Statement) -> Ledger:
        ledger, value = opened(statement)
        ledger.conditions = [*ledger.conditions, *_PRINTED.conditions()]
        _PRINTED.is_that_of(ledger, statement)
        for name in lemmas:
            used(ledger, name, read=lambda c: _PRINTED.read(c) if c.has(eta_later) else sympy.true)
        of_round = [t >= 1, t_0 <= t, t <= t_0 + tau - 1]
        source = catalogue.find(f"fedbat.{recursion}")
        ledger.admits(source, lambda c: sympy.true if c.has(eta_later) else _PRINTED.read(c), *of_round)
        choice = {beta: 2 / mu, gamma: _PRINTED.g}
        line27 = catalogue.find("fedbat.eq27")
        ledger.admits(line27, lambda c: sympy.true if c.has(v) else c.subs(choice), t >= 1)
        before = bound_of(source).value.subs(eta_t, beta / (t + gamma))
        ledger.equal("(27) begins with the recursion", before, relations_of(line27)[0].lts)
        at = {B: source.where[B], gamma: _PRINTED.g, t: T, Delta_1: dist0_sq}
        ledger.at_most("(30) at t = T", claimed(last).value.subs(at), _PRINTED.value(value), ATOMS)
        return ledger

    return check


def decreasing_from_start(recursion: str) -> Check:
    """gamma = max{8 L/mu, tau}: Delta_t <= v/(gamma+t) from t = 0 on, v = 4 B/mu^2 + gamma ||w_0 - w*||^2."""

    def check(statement: Statement) -> Ledger:
        ledger, value = opened(statement)
        g = _least
        ledger.conditions = [*ledger.conditions, *_FROM_START.conditions()]
        _FROM_START.is_that_of(ledger, statement)
        source = catalogue.find(f"fedbat.{recursion}")
        ledger.admits(source, _FROM_START.read, t_0 <= t, t <= t_0 + tau - 1)
        ledger.require("at t = 0", d0 <= v / g, v >= g * d0)
        rate = _FROM_START.rate(t)
        ledger.require(
            "induction",
            bound_of(source).value.subs(eta_t, rate) <= v / (g + t + 1),
            Delta_t <= v / (g + t),
            v >= 4 * B / mu**2,
        )
        e = L / 2 * (4 * source.where[B] / mu**2 + g * d0) / (g + T)
        ledger.at_most("smoothness at t = T", e, _FROM_START.value(value), ATOMS)
        return ledger

    return check


def jensen47(statement: Statement) -> Ledger:
    """(47): n = t - t_0 steps, of mean m: the squared sum is n^2 ||m||^2, their squares n ||m||^2 and how they differ."""
    ledger, value = start(statement)
    steps, mean_sq, differ = sympy.symbols("n m^2 D", nonnegative=True)
    ledger.require("Jensen", steps**2 * mean_sq <= steps * (steps * mean_sq + differ))
    ledger.at_most("(47)", (t - t_0) * steps_sq, value, [steps_sq])
    return ledger


# ------------------------------------------------------------------------------------------------------ Appendix D


def probabilities(statement: Statement) -> Ledger:
    """(63): of one client K/N, of two K(K-1)/(N(N-1)); the deviations from the mean sum to 0."""
    ledger, value = start(statement)
    one, two = K / N, K * (K - 1) / (N * (N - 1))
    ledger.require("they are probabilities", [N - 1 > 0, one <= 1, two <= one])
    ledger.equal("(63)", value, (one * v_spread + two * (0 - v_spread)) / K**2)
    return ledger


def unbiased(statement: Statement) -> Ledger:
    """Lemma 5: every client is drawn with probability K/N, so the mean of K has the mean of all."""
    ledger = Ledger(conditions_of(statement))
    (relation,) = relations_of(statement)
    ledger.require("a probability", K / N <= 1)
    ledger.equal("Lemma 5", relation.lhs.subs(w_mean, (K / N) / K * N * v_mean), relation.rhs)
    return ledger


# ------------------------------------------------------------------------------------------------------ Appendix E


def polarisation77(statement: Statement) -> Ledger:
    """(77): 2 <u, w> = ||u||^2 + ||w||^2 - ||u - w||^2."""
    ledger, value = start(statement)
    u, w = sympy.symbols("u w", real=True)
    ledger.equal("(77)", value.subs({grad_sq: u**2, g_sq: w**2, apart_sq: (u - w) ** 2}), 2 * u * w)
    return ledger


def inner79(statement: Statement) -> Ledger:
    """(79): (77), then (78)."""
    ledger, value = start(statement)
    e = -eta / 2 * claimed("eq77").value
    e = ledger.apply("(78)", sympy.expand(e), apart_sq, claimed("eq78"))
    ledger.at_most("(79)", e, value, ATOMS)
    return ledger


def step80(statement: Statement) -> Ledger:
    """(80): (76) in expectation, with (79)."""
    ledger, value = start(statement)
    norms = {Inner(Grad(F_fun, w_bar), g_t): inner_grad, Norm(g_t) ** 2: g_sq, Value(F_fun, w_bar): F_bar}
    e = ledger.apply("(79)", of_line("eq76", norms), inner_grad, claimed("eq79"))
    ledger.at_most("(80)", e, value, ATOMS)
    return ledger


def smooth75(statement: Statement) -> Ledger:
    """(75): (74) in expectation; the inner product has mean 0, given vbar, by Lemma 5."""
    ledger, value = start(statement)
    move = w_bar_next - v_bar
    means = {Value(F_fun, v_bar): F_v, Inner(Grad(F_fun, v_bar), move): sympy.Integer(0), Norm(move) ** 2: jump_sq}
    ledger.at_most("(74)", of_line("eq74", means), value, ATOMS)
    return ledger


def step82(statement: Statement) -> Ledger:
    """(82): (81) put into (80), its coefficient of either sign."""
    ledger, value = start(statement)
    ledger.equal("(82)", sympy.expand(claimed("eq80").value.subs(g_sq, claimed("eq81").value)), sympy.expand(value))
    return ledger


def dropped(statement: Statement) -> Ledger:
    """(70): the term of ||gbar||^2 is not positive."""
    ledger, value = start(statement)
    for claim in statement.also:
        assert isinstance(claim, Relations)
        for relation in claim.relations:
            ledger.require(str(relation), relation)
    ledger.at_most("(70)", claimed("lemma7").value, value, ATOMS)
    return ledger


def descended(lemma2: str, lemma3: str, lemma6: str) -> Check:
    """(71): the lemmas put into (70), with p_k = 1/N and a constant learning rate."""

    def check(statement: Statement) -> Ledger:
        ledger, value = start(statement)
        constant = {eta_t: eta, eta_later: eta, eta_start: eta}
        used(ledger, "eq70")
        e = claimed("eq70").value
        for name, atom in ((lemma2, noise_sq), (lemma3, spread_x), (lemma6, jump_sq)):
            used(ledger, name, read=lambda c: c.subs(constant).subs(p_sq, 1 / N))
            bound = claimed(name)
            terms = tuple(type(x)(x.name, x.value.subs(constant).subs(p_sq, 1 / N)) for x in bound.terms)
            e = ledger.apply(name, e, atom, Bound(bound.quantity, terms))
        ledger.at_most("(71)", e, value, ATOMS)
        return ledger

    return check


def telescoped(source: str) -> Check:
    """(72): (71) summed over t = 0 ... T-1, divided by T."""

    def check(statement: Statement) -> Ledger:
        ledger, value = start(statement)
        used(ledger, source)
        e = sympy.expand(claimed(source).value)
        progress = -e.coeff(grad_sq)
        rest = e + progress * grad_sq - F_bar
        ledger.equal("progress", progress, sympy.expand(bound_of(statement).quantity / avg_step_grad_sq))
        ledger.at_most("(72)", (F_0 - F_T) / T + rest, value, ATOMS)
        return ledger

    return check


def tuned(source: str) -> Check:
    """(73): (72) divided by eta/2 with eta = 1/(L sqrt(T)); F(w_T) >= F*."""

    def check(statement: Statement) -> Ledger:
        ledger, value = start(statement)
        root = sympy.Symbol("s", positive=True)  # sqrt(T)
        at = {T: root**2}
        step = statement.where[eta].subs(at)
        ledger.conditions = [*(c.subs(at) for c in ledger.conditions), root >= 1]
        used(ledger, source, read=lambda c: c.subs(eta, step))
        e = (claimed(source).value.subs(F_T, F_0 - f_gap) * 2 / eta).subs(eta, step)
        ledger.at_most("(73)", sympy.simplify(e.subs(at)), sympy.simplify(value.subs(at)), ATOMS)
        return ledger

    return check


_ONE_STEP = (("lemma1", v_dist),)
LEDGERS: Mapping[str, Proof] = {
    "lemma1": proof(chained("eq31", ("eq42", A_1)), "eq31", "eq42"),
    "lemma2": proof(weaker("eq44"), "eq44"),
    "lemma2.corrected": proof(weaker("eq44.corrected"), "eq44.corrected"),
    "lemma3": proof(chained("eq45", ("eq46", spread_w), ("eq48", binarised_sq)), "eq45", "eq46", "eq48"),
    "lemma3.corrected": proof(
        chained("eq45", ("eq46.corrected", spread_w), ("eq48.corrected", binarised_sq)),
        "eq45",
        "eq46.corrected",
        "eq48.corrected",
    ),
    "lemma4": proof(weaker("eq50"), "eq50"),
    "lemma4.corrected": proof(weaker("eq50.corrected"), "eq50.corrected"),
    "eq24": proof(same(jump_sq + v_dist, "the cross term has mean 0, given vbar")),
    "eq25": proof(
        chained("eq24", *_ONE_STEP, ("lemma2", noise_sq), ("lemma3", spread_x), ("lemma4", jump_sq)),
        "eq24",
        "lemma1",
        "lemma2",
        "lemma3",
        "lemma4",
    ),
    "eq25.corrected": proof(
        chained(
            "eq24",
            *_ONE_STEP,
            ("lemma2.corrected", noise_sq),
            ("lemma3.corrected", spread_x),
            ("lemma4.corrected", jump_sq),
        ),
        "eq24",
        "lemma1",
        "lemma2.corrected",
        "lemma3.corrected",
        "lemma4.corrected",
    ),
    "eq27": proof(induction),
    "eq28": proof(smooth28, "eq27"),
    "eq29.choice": proof(stated),
    "eq29": proof(stated),
    "eq30": proof(final30, "eq28", "eq29"),
    "thm1": proof(decreasing("eq25", "eq30", "lemma3", "lemma4"), "eq25", "eq27", "eq30", "lemma3", "lemma4"),
    "thm1.corrected": proof(decreasing("eq25.corrected", "eq30"), "eq25.corrected", "eq27", "eq30"),
    "thm1.from_start": proof(decreasing_from_start("eq25.corrected"), "eq25.corrected"),
    "eq31": proof(same(A_1 + eta_t**2 * noise_sq, "the noise has mean 0, given the past")),
    "eq32": proof(same(Delta_t - 2 * eta_t * inner_star + eta_t**2 * gbar_sq, "(32)")),
    "eq34": proof(jensen34, "eq33"),
    "eq35": proof(same(-2 * eta_t * (inner_move + inner_down), "wbar - w* = (wbar - x_k) + (x_k - w*)")),
    "eq36": proof(polarised),
    "eq38": proof(combined, "eq32", "eq33", "eq34", "eq35", "eq36", "eq37"),
    "eq38.corrected": proof(combined, "eq32", "eq33", "eq34", "eq35", "eq36", "eq37"),
    "eq39": proof(split39, "def.Gamma"),
    "eq40": proof(below40, "eq33"),
    "eq41": proof(bound41, "eq39", "eq40"),
    "eq41.corrected": proof(bound41, "eq39", "eq40"),
    "eq42": proof(total42("eq38", "eq41"), "eq38", "eq41"),
    "eq44.corrected": proof(no_more(p_sq * sigma**2, "independent clients, Assumption 3 at x_t^k")),
    "eq45": proof(same(spread_w + binarised_sq, "E x_t^k = w_t^k, given w_t^k")),
    "eq46.corrected": proof(
        within_a_round(tau - 1, lambda moved: moved, "no further from their mean than from wbar_{t0}"), "eq47.corrected"
    ),
    "eq47.corrected": proof(jensen47),
    "eq48.corrected": proof(
        within_a_round(tau - 1, lambda moved: q**2 * moved, "Assumption 5"), "c1.t0", "eq47.corrected"
    ),
    "eq50.corrected": proof(
        within_a_round(tau, lambda moved: p_sq * q**2 * moved, "independent clients, Assumption 5"),
        "c1.t0",
        "eq47.corrected",
    ),
    "lemma5": proof(unbiased),
    "eq56": proof(same(jump_sq + v_dist, "the cross term has mean 0, given the v"), "lemma5"),
    "eq57": proof(
        chained("eq56", *_ONE_STEP, ("lemma2", noise_sq), ("lemma3", spread_x), ("lemma6", jump_sq), at=_ALIKE),
        "eq56",
        "lemma1",
        "lemma2",
        "lemma3",
        "lemma6",
    ),
    "eq57.corrected": proof(
        chained(
            "eq56",
            *_ONE_STEP,
            ("lemma2.corrected", noise_sq),
            ("lemma3.corrected", spread_x),
            ("lemma6.corrected", jump_sq),
            at=_ALIKE,
        ),
        "eq56",
        "lemma1",
        "lemma2.corrected",
        "lemma3.corrected",
        "lemma6.corrected",
    ),
    "eq59": proof(final30, "eq28", "eq29"),
    "eq61": proof(same(A_bin + A_2, "the binarisation has mean 0, given the sample")),
    "eq62.corrected": proof(
        within_a_round(tau, lambda moved: q**2 * moved / K, "independent clients, Assumption 5"),
        "c1.t0",
        "eq47.corrected",
    ),
    "eq63": proof(probabilities),
    "eq64.corrected": proof(
        within_a_round(
            tau,
            lambda moved: claimed("eq63").value.subs(v_spread, N * moved),
            "no further from their mean than from wbar_{t0}",
        ),
        "eq63",
        "eq47.corrected",
    ),
    "lemma6": proof(chained("eq61", ("eq62", A_bin), ("eq64", A_2)), "eq61", "eq62", "eq64"),
    "lemma6.corrected": proof(
        chained("eq61", ("eq62.corrected", A_bin), ("eq64.corrected", A_2)),
        "eq61",
        "eq62.corrected",
        "eq64.corrected",
    ),
    "thm2": proof(decreasing("eq57", "eq59", "lemma3", "lemma6"), "eq57", "eq27", "eq59", "lemma3", "lemma6"),
    "thm2.corrected": proof(decreasing("eq57.corrected", "eq59"), "eq57.corrected", "eq27", "eq59"),
    "thm2.from_start": proof(decreasing_from_start("eq57.corrected"), "eq57.corrected"),
    "lemma7": proof(chained("eq75", ("eq82", F_v)), "eq75", "eq82"),
    "eq70": proof(dropped, "lemma7"),
    "eq71": proof(descended("lemma2", "lemma3", "lemma6"), "eq70", "lemma2", "lemma3", "lemma6"),
    "eq71.corrected": proof(
        descended("lemma2.corrected", "lemma3.corrected", "lemma6.corrected"),
        "eq70",
        "lemma2.corrected",
        "lemma3.corrected",
        "lemma6.corrected",
    ),
    "eq72": proof(telescoped("eq71"), "eq71"),
    "eq72.corrected": proof(telescoped("eq71.corrected"), "eq71.corrected"),
    "eq73": proof(tuned("eq72"), "eq72"),
    "thm3": proof(weaker("eq73"), "eq73"),
    "thm3.corrected": proof(tuned("eq72.corrected"), "eq72.corrected"),
    "eq75": proof(smooth75, "eq74", "lemma5"),
    "eq77": proof(polarisation77),
    "eq78": proof(no_more(L**2 * spread_x + noise_sq, "the noise has mean 0; Jensen, and Lipschitz gradients")),
    "eq79": proof(inner79, "eq77", "eq78"),
    "eq80": proof(step80, "eq76", "eq79"),
    "eq81": proof(same(gbar_sq + noise_sq, "the noise has mean 0")),
    "eq82": proof(step82, "eq80", "eq81"),
}

# Our proofs of statements whose printed proof breaks
REPAIRS: Mapping[str, Proof] = {
    "eq42": proof(total42("eq38.corrected", "eq41.corrected"), "eq38.corrected", "eq41.corrected")
}
