"""Claims about the orders: floats that are sent, rows of the table, factors that are won."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import sympy
from sympy import sqrt

from fedtheory.theory import catalogue
from fedtheory.theory.fedbcgd.checks.facts import relations_of
from fedtheory.theory.fedbcgd.symbols import *
from fedtheory.theory.statement import Evidence, Order, Statement, Status, Verdict


def _differing(ours: Mapping[str, sympy.Expr], theirs: Mapping[str, sympy.Expr]) -> dict[str, str]:
    """The terms, by their names, that only one of two orders has, or that differ."""
    return {
        name: f"{ours.get(name)} against {theirs.get(name)}"
        for name in ours.keys() | theirs.keys()
        if name not in ours or name not in theirs or sympy.simplify(ours[name] / theirs[name]) != 1
    }


def floats(statement: Statement, full: bool = False) -> Verdict:
    """Communication is rounds times d/N floats, with K = S/N, term by term; this says nothing about the rounds."""
    claim = statement.claim_of(Order)
    (also,) = [c for c in statement.also if isinstance(c, Order)]
    rounds = {t.name: sympy.simplify((t.value * d / N).subs(K, S / N)) for t in claim.terms}
    sent = {t.name: t.value for t in also.terms}
    if wrong := _differing(rounds, sent):
        return Verdict(Status.REFUTED, f"{', '.join(wrong)}: not rounds times d/N", witness=wrong)
    return Verdict(
        Status.OPEN, f"the communication is d/N times the number of rounds, as expected ({len(sent)} terms, K = S/N)"
    )


def _communication(name: str) -> Order:
    """The order of the floats sent, by a theorem of the main paper."""
    (sent,) = [c for c in catalogue.find(f"fedbcgd.{name}").also if isinstance(c, Order)]
    return sent


def row(main: str, **choice: sympy.Expr) -> Callable[[Statement, bool], Verdict]:
    """Compare a row of Table 1 with the main theorem's communication, strongly convex and non-convex, in units of d."""

    def check(statement: Statement, full: bool = False) -> Verdict:
        chosen = {catalogue.symbols(statement)[name].sympy: e for name, e in choice.items()}
        rows = [c for c in (statement.claim, *statement.also) if isinstance(c, Order)]
        names = {s.name: s.sympy for s in catalogue.symbols(statement).values()}
        said = {main: chosen, main.replace("strongly_convex", "nonconvex"): {names["eps"]: names["eps_grad"]}}
        if len(rows) != len(said):
            return Verdict(Status.REFUTED, f"{len(rows)} rows, expected one for each of {', '.join(said)}")
        for name, order in zip(said, rows, strict=True):
            sent = _communication(name)
            ours = {t.name: t.value.subs(said[name]) / d for t in sent.terms}
            theirs = {t.name: t.value for t in order.terms}
            wrong = _differing(ours, theirs)
            if (order.quantity, order.letter) != (sent.quantity, sent.letter):
                wrong |= {"left side": f"{sent.quantity} = {sent.letter} against {order.quantity} = {order.letter}"}
            if wrong:
                return Verdict(Status.REFUTED, f"{', '.join(wrong)} differ from fedbcgd.{name}", witness=wrong)
        return Verdict(Status.PROVED, f"the terms are those of fedbcgd.{' and fedbcgd.'.join(said)}, divided by d")

    return check


def _terms(name: str) -> dict[str, sympy.Expr]:
    claim = catalogue.find(f"fedbcgd.table1.{name}").claim_of(Order)
    return {t.name: t.value for t in claim.terms}


def _factor(statement: Statement) -> sympy.Expr:
    """The claimed Com / Com_other.  Raises ValueError for a left side that is no multiple of Com."""
    (relation,) = relations_of(statement.claim)
    times, symbol = relation.lhs.as_coeff_Mul()
    if symbol != Com:
        raise ValueError(f"left side {relation.lhs}: expected a number times {Com}")
    return sympy.simplify(relation.rhs / Com_other / times)


def factor_one_over_N(statement: Statement, full: bool = False) -> Verdict:
    """Quotients of Table 1's rows, term by term: FedBCGD and FedAvg, FedBCGD+ (N = sqrt(beta/mu)) and SCAFFOLD."""
    factor, wrong = _factor(statement), {}
    pairs = {("fedbcgd", "fedavg"): {alpha: 1}, ("fedbcgdplus", "scaffold"): {N: sqrt(beta / mu)}}
    for (own, other), chosen in pairs.items():
        ours, theirs = _terms(own), _terms(other)
        for name in (ours.keys() & theirs.keys()) - {"drift"}:  # FedAvg's drift term is damaged in the scan
            ratio = sympy.limit(sympy.simplify((ours[name] / theirs[name]).subs(chosen)), G, 0)
            if sympy.simplify(ratio - factor.subs(chosen)) != 0:
                wrong[f"{own} / {other}, {name}"] = f"{ratio}, claimed {factor.subs(chosen)}"
    if wrong:
        return Verdict(
            Status.REFUTED,
            f"other quotients in Table 1: {'; '.join(f'{pair}: {q}' for pair, q in wrong.items())}",
            witness=wrong,
        )
    return Verdict(Status.TESTED, f"every term of the rows differs by the factor {factor}")


def second_term(statement: Statement, full: bool = False) -> Verdict:
    """The second terms: FedBCGD's from Table 1, and FedAvg's from the sentence, (sigma+G)/(mu sqrt(eps))."""
    ratio = sympy.simplify(_terms("fedbcgd")["drift"] / ((sigma + G) / (mu * sqrt(eps))))
    factor = _factor(statement)
    if sympy.simplify(ratio.subs(alpha, 1) - factor) != 0:
        return Verdict(
            Status.REFUTED, f"the quotient is {ratio}", witness={"quotient": str(ratio), "claimed": str(factor)}
        )
    return Verdict(Status.PROVED, f"the quotient of the printed terms is {ratio}, {factor} without momentum")


def root_of_kappa(statement: Statement, full: bool = False) -> Verdict:
    """The main theorem's communication at N = sqrt(beta/mu)."""
    sent, own = _communication("thm2.main.strongly_convex"), statement.claim_of(Order)
    if (own.quantity, own.letter) != (sent.quantity, sent.letter):
        witness = {"left side": f"{own.quantity} = {own.letter}"}
        return Verdict(Status.REFUTED, f"the theorem says {sent.quantity} = {sent.letter}", witness=witness)
    rest = sympy.simplify((own.value - sent.value.subs(statement.where)) / d)
    if rest != 0:
        return Verdict(Status.REFUTED, f"the sides differ by {rest}", witness={"difference": str(rest)})
    return Verdict(Status.PROVED, "inserted into the communication of Theorem 2 of the main paper")


def evidence() -> Iterator[Evidence]:
    """Derivations of the claims from the orders that they are about."""
    for name in (
        "thm1.main.strongly_convex",
        "thm1.main.nonconvex",
        "thm2.main.strongly_convex",
        "thm2.main.nonconvex",
    ):
        for suffix in ("", ".corrected"):
            yield Evidence(f"fedbcgd.{name}{suffix}", "derivation", floats)
    for name, main, choice in (
        ("fedbcgd", "thm1.main.strongly_convex", {}),
        ("fedbcgdplus", "thm2.main.strongly_convex", {"N": sqrt(beta / mu)}),
    ):
        yield Evidence(f"fedbcgd.table1.{name}", "derivation", row(main, **choice), (f"fedbcgd.{main}",))
    yield Evidence("fedbcgd.claim.factor_1_over_N", "derivation", factor_one_over_N)
    yield Evidence("fedbcgd.claim.second_term", "derivation", second_term, ("fedbcgd.table1.fedbcgd",))
    yield Evidence("fedbcgd.claim.N_sqrt_kappa", "derivation", root_of_kappa, ("fedbcgd.thm2.main.strongly_convex",))
