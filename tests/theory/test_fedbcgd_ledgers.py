"""The FedBCGD proofs: which algorithm they follow, and what symbols mean in them."""

from __future__ import annotations

from fedtheory.theory import catalogue
from fedtheory.theory.fedbcgd.checks.ledgers import PROOFS, REPAIRS
from fedtheory.theory.fedbcgd.checks.quantities import LANGUAGE
from fedtheory.theory.fedbcgd.checks.tuning import ORDERS, PRINTED
from fedtheory.theory.proofs import units
from fedtheory.theory.proofs.argument import Argument
from fedtheory.theory.statement import Statement, Status, Verdict

ALL_PROOFS = {**PROOFS, **PRINTED, **REPAIRS, **ORDERS}


def find(name: str) -> Statement:
    return catalogue.find(f"fedbcgd.{name}")


def argued(name: str, statement: Statement) -> Verdict:
    """The proof of a statement, of the statement with something changed."""
    argument = Argument(statement, LANGUAGE)
    ALL_PROOFS[name](argument)
    return argument.verdict()


def test_no_proof_mixes_the_two_algorithms() -> None:
    """G^r and the drift are those of FedBCGD or of FedBCGD+: a proof that follows one uses no claim about the other's."""
    uses, follows = {}, {}
    for name in ALL_PROOFS:
        found = argued(name, find(name))
        if found.status is not Status.PROVED:
            continue  # paper_check.md says at which step
        premises = found.premises
        uses[name] = [p.name.removeprefix("fedbcgd.") for p in premises if p.kind == "claim"]
        follows[name] = {p.name for p in premises if p.kind == "algorithm"} - {"fedbcgd.momentum_form.corrected"}

    def of(name: str) -> set[str]:
        return follows.get(name, set()).union(*(of(used) for used in uses.get(name, ())))

    followed = {name: of(name) for name in follows}
    assert all(len(algorithms) <= 1 for algorithms in followed.values())
    assert {name for name, algorithms in followed.items() if algorithms == {"fedbcgd.alg3.corrected"}} >= {
        *(f"lemma{n}.corrected" for n in (11, 13, 14, 15, 16, 17, 18)), "lemma11.nonconvex", "thm2.nonconvex.corrected",
    }  # fmt: skip


def test_symbols_in_another_meaning_have_the_dimension_that_is_told() -> None:
    statement = find("thm1.nonconvex")
    assert units.check(statement).status is Status.PROVED
    assert units.check(Statement(**{**statement.__dict__, "reads": {}})).status is Status.REFUTED
