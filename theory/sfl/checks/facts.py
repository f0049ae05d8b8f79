"""Exact checks of identities: samples are enumerated, formulas are compared as polynomials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import sympy
from sympy.core.relational import Relational

from fedtheory.theory import catalogue
from fedtheory.theory.notation import Bregman, Grad, Inner, Value
from fedtheory.theory.proofs import enumeration
from fedtheory.theory.proofs.enumeration import Truth
from fedtheory.theory.proofs.vectors import equated
from fedtheory.theory.sfl import symbols
from fedtheory.theory.sfl.symbols import cov_pq, var_swor, var_swr, x
from fedtheory.theory.statement import Bound, Evidence, Relations, Statement, Status, Verdict, Words


def three_point(statement: Statement, full: bool = False) -> Verdict:
    """The identity, by the definition of the divergence and bilinearity of the inner product."""
    claim, definition = statement.claim_of(Relations), catalogue.find("sfl.bregman").claim_of(Relations)
    pattern, meaning = definition.relations[0].args

    def expand(e: sympy.Basic) -> sympy.Expr:
        if isinstance(e, Bregman):
            symbols = dict(zip(pattern.args, e.args, strict=True))
            return expand(meaning.xreplace(symbols))
        if isinstance(e, Inner):  # bilinear: a product of coordinates, summed over them
            return sympy.expand(sympy.Mul(*map(expand, e.args)))
        if isinstance(e, Value | Grad) or not e.args:
            return e
        return e.func(*map(expand, e.args))

    for relation in claim.relations:
        left, right = equated(relation)
        difference = sympy.expand(expand(left) - expand(right))
        if difference != 0:
            return Verdict(Status.REFUTED, f"sides differ by {difference}", witness={"difference": str(difference)})
    return Verdict(Status.PROVED, "polynomial identity in the coordinates after inserting the definition")


def unbiased_mean(statement: Statement, full: bool = False) -> Verdict:
    """E[sample mean] = population mean, for both ways of sampling: over all samples, for every population."""
    claim = statement.claim_of(Relations)
    most = 7 if full else 5
    cases = 0
    for n, s in enumeration.grid(most):
        units_ = enumeration.population(n)
        mean = sympy.Add(*units_) / n
        for samples in (enumeration.without_replacement(n, s), enumeration.with_replacement(n, s)):
            if len(samples) > 20_000:
                continue
            cases += 1
            drawn = Counter(tuple(sorted(sample)) for sample in samples)  # the mean does not depend on the order
            law = [
                (sympy.Rational(count, len(samples)), {"xbar_pi": sympy.Add(*(units_[i] for i in sample)) / s})
                for sample, count in drawn.items()
            ]
            values = {"xbar": mean, "n": sympy.Integer(n), "s": sympy.Integer(s)}
            for relation in claim.relations:
                if not enumeration.decide(relation, values, law, units_):
                    return Verdict(Status.REFUTED, f"fails for n = {n}, s = {s}", witness={"n": n, "s": s})
    return Verdict(Status.TESTED, f"exact over all samples with and without replacement, {cases} cases, n = 2..{most}")


def with_replacement_family(full: bool) -> list[tuple[int, int]]:
    """(n, s) of all cases of (22)."""
    most, limit = (6, 5) if full else (5, 4)
    return [(n, s) for n in range(2, most + 1) for s in range(1, limit + 1)]


def without_replacement_family(full: bool) -> list[tuple[int, int]]:
    """(n, s) of all cases of (23)."""
    return list(enumeration.grid(7 if full else 6))


def covariance_family(full: bool) -> range:
    """n of all cases of (24)."""
    return range(2, 13 if full else 9)


def variance_with_replacement(statement: Statement, full: bool = False) -> Verdict:
    """(22) by enumeration of all samples."""
    pairs = with_replacement_family(full)
    cases = [Truth({"n": n, "s": s}, enumeration.sample_mean_variance(n, s, replacement=True)) for n, s in pairs]
    cases = [Truth({"zeta": 0, "n": 1, "s": 1}, sympy.Integer(0)), *cases]
    return enumeration.compare(statement, var_swr, cases)


def variance_without_replacement(statement: Statement, full: bool = False) -> Verdict:
    """(23) by enumeration of all samples."""
    cases = [
        Truth({"n": n, "s": s}, enumeration.sample_mean_variance(n, s, replacement=False))
        for n, s in without_replacement_family(full)
    ]
    return enumeration.compare(statement, var_swor, [Truth({"zeta": 0, "n": 1, "s": 1}, sympy.Integer(0)), *cases])


def covariance(statement: Statement, full: bool = False) -> Verdict:
    """(24) by enumeration of all pairs."""
    cases = [Truth({"n": n}, enumeration.sample_covariance(n)) for n in covariance_family(full)]
    return enumeration.compare(statement, cov_pq, [Truth({"zeta": 0, "n": 1}, sympy.Integer(0)), *cases])


def ratio_for_large_n(statement: Statement, full: bool = False) -> Verdict:
    """The first formula is the ratio of (23) to (22); its quotient by the second tends to 1 for large n and fixed s/n."""
    claim = statement.claim_of(Words)
    left, right = claim.formulas
    if any(isinstance(formula, Relational) for formula in claim.formulas):
        return Verdict(Status.OPEN, "expected two expressions, the second an approximation of the first")
    variances = [catalogue.find(f"sfl.lemma3.{part}").claim_of(Bound).value for part in ("swor", "swr")]
    if sympy.simplify(left - variances[0] / variances[1]) != 0:
        ratio = sympy.simplify(variances[0] / variances[1])
        return Verdict(Status.REFUTED, f"the ratio of the variances is {ratio}", witness={"ratio": str(ratio)})
    names = {symbol.name: symbol for formula in claim.formulas for symbol in formula.free_symbols}
    share, n = sympy.Symbol("share", positive=True), sympy.Symbol("n", positive=True)
    limit = sympy.limit(sympy.simplify((left / right).subs({names["s"]: share * n}).subs(names["n"], n)), n, sympy.oo)
    if sympy.simplify(limit - 1) != 0:
        return Verdict(Status.REFUTED, f"the quotient of the formulas tends to {limit}", witness={"limit": str(limit)})
    return Verdict(
        Status.PROVED, "the ratio of (23) to (22); its quotient by 1 - s/n tends to 1 for large n, s/n fixed"
    )


def lemma4_family(full: bool) -> list[tuple[int, int, int]]:
    """(M, S, K) of all cases of Lemma 4."""
    most, steps = (6, 4) if full else (5, 3)
    return [(M, S, K) for M in range(2, most + 1) for S in range(1, M + 1) for K in range(1, steps + 1)]


def partial_sums(statement: Statement, full: bool = False) -> Verdict:
    """Lemma 4: compares its left side, by enumeration of all ordered samples, with the statement's right side.

    For large M, S or K from the covariances of Lemma 3.
    """
    cases = [Truth({"M": M, "S": S, "K": K}, enumeration.partial_sums(M, S, K)) for M, S, K in lemma4_family(full)]
    large = ((M, S, K) for M in (7, 12, 100) for S in (2, 3, M // 2, M) for K in (1, 12, 30))
    cases += [Truth({"M": M, "S": S, "K": K}, enumeration.partial_sums_of_many(M, S, K)) for M, S, K in large]
    alone = [Truth({"zeta": 0, "M": 1, "S": 1, "K": K}, sympy.Integer(0)) for K in (1, 2)]
    return enumeration.compare(statement, symbols.partial_sums, [*alone, *cases])


def partial_sum(statement: Statement, full: bool = False) -> Verdict:
    """One (m, k) of Lemma 4's left side, by enumeration."""
    cases = [
        Truth({"M": M, "S": S, "K": K, "m": m, "k": k}, enumeration.partial_sum(M, K, m, k))
        for M, S, K in lemma4_family(full)
        for m in range(1, S + 1)
        for k in range(K)
    ]
    alone = Truth({"zeta": 0, "M": 1, "S": 1, "K": 1, "m": 1, "k": 0}, sympy.Integer(0))
    return enumeration.compare(statement, symbols.partial_sum, [alone, *cases])


def group_constants(statement: Statement, full: bool = False) -> Verdict:
    """zeta_star and delta of a quadratic group, from its printed functions, exactly."""
    claim = statement.claim_of(Relations)
    functions, printed = {}, {}
    for relation in claim.relations:
        symbols = relation.lhs.atoms(Value) or relation.lhs.free_symbols
        if len(symbols) != 1 or not isinstance(relation, sympy.Eq):
            return Verdict(
                Status.REFUTED, f"{relation} says nothing about a constant", witness={"relation": str(relation)}
            )
        (of,) = symbols
        value = relation.rhs * of / relation.lhs
        if isinstance(of, Value) and of.args[1] == x and of not in functions and value.free_symbols <= {x}:
            functions[of] = value
        elif isinstance(of, sympy.Symbol) and value.is_number:
            printed[of.name] = value
        else:
            raise ValueError(f"{relation}: expected one function of {x} for each client, and numbers")
    mean = sympy.Add(*functions.values()) / len(functions)
    (x_star,) = sympy.solve(sympy.diff(mean, x), x)
    squares = [sympy.diff(f, x).subs(x, x_star) ** 2 for f in functions.values()]
    found = {
        "zeta_star": sympy.sqrt(sympy.Add(*squares) / len(functions)),
        "delta": sympy.Max(*(sympy.Abs(sympy.diff(f - mean, x, 2)) for f in functions.values())),
    }
    common = sympy.expand(mean - x**2 / 2)
    wrong = {
        name: f"printed {printed.get(name)}, computed {value}"
        for name, value in found.items()
        if printed.get(name) != value
    }
    if common != 0:
        wrong["F"] = f"printed x^2/2, computed {mean}"
    if wrong:
        return Verdict(Status.REFUTED, "; ".join(f"{k}: {v}" for k, v in wrong.items()), witness=wrong)
    return Verdict(Status.PROVED, "F = x^2/2, zeta_star and delta computed exactly from the printed functions")


def evidence() -> Iterator[Evidence]:
    """Samples enumerated, and identities derived."""
    checks = {
        "lemma1": enumeration.check_martingale,
        "eq12": enumeration.check_law,
        "eq13": enumeration.check_population,
        "eq15": enumeration.check_population,
    }
    forms = {
        "lemma3.mean": unbiased_mean,
        "lemma3.swr": variance_with_replacement,
        "lemma3.swor": variance_without_replacement,
        "lemma3.cov": covariance,
        "lemma4": partial_sums,
        "lemma4.term": partial_sum,
        "lemma4.sum": partial_sums,
        "lemma4.closed_form": partial_sums,
    }
    yield from (Evidence(f"sfl.{name}", "enumeration", check) for name, check in checks.items())
    yield Evidence("sfl.three_point", "derivation", three_point)
    yield Evidence("sfl.lemma3.ratio", "derivation", ratio_for_large_n)
    for name, check in forms.items():
        yield from (Evidence(form, "enumeration", check) for form in catalogue.forms(f"sfl.{name}"))
    for statement in catalogue.statements("sfl"):
        if statement.kind == "problem":
            yield Evidence(statement.id, "derivation", group_constants)
