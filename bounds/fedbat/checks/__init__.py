"""Checks of the FedBAT paper's operator, algorithm, update rules, assumptions and baselines.

Operator.      Exact, over all outcomes at rational points.
Updates.       The relations, with the symbols' values from runs with known draws.
Algorithm 1.   Its lines are executed and compared with `fedtheory.simulations.algorithms.fedbat`; they are also run at the
               ends of the parameters' range.  In (14) alpha_e of (10) is what is learned; as printed, (14) is undefined
               there.
Assumptions.   They can be met, and with no smaller constant.
Baselines.     The paper's sentences about them, compared with the implementations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fedtheory.bounds.fedbat.checks import assumptions, baselines, listings, operator, updates
from fedtheory.bounds.fedbat.checks.listings import listing
from fedtheory.simulations.algorithms.fedbat import VARIANTS
from fedtheory.theory.statement import Evidence, EvidenceKind, Statement, Verdict


def evidence() -> list[Evidence]:
    """The checks of operator, updates, listing, assumptions and baselines."""
    checks: list[tuple[str, EvidenceKind, Callable[[Statement, bool], Verdict]]] = [
        ("eq1", "run", assumptions.objective),
        ("eq2", "run", updates.aggregated),
        ("eq3", "run", updates.signs),
        ("eq6", "enumeration", operator.clipped),
        ("eq7", "enumeration", operator.stochastic),
        ("eq8", "enumeration", operator.slopes),
        ("eq9", "enumeration", operator.slopes),
        ("eq11", "run", updates.binarised),
        ("eq12", "run", updates.warming),
        ("eq13", "enumeration", operator.initial),
        ("eq14.corrected", "run", updates.aware),
        ("alg1", "run", partial(listing, build=VARIANTS["FedBAT, line 23 as printed"])),
        ("alg1", "counterexample", listings.ends),
        ("alg1.corrected", "run", partial(listing, build=VARIANTS["FedBAT, corrected"])),
        ("alg1.corrected", "counterexample", listings.ends),
        ("setting_theory", "enumeration", operator.largest),
        ("def.Gamma", "run", assumptions.heterogeneity),
        ("assump1", "run", assumptions.smooth),
        ("assump1.corrected", "run", assumptions.smooth),
        ("assump2", "run", assumptions.strongly_convex),
        ("assump3", "run", partial(assumptions.noisy, point="w_k", gradient="g_w")),
        ("assump3.corrected", "run", partial(assumptions.noisy, point="x_k", gradient="g_k")),
        ("assump4", "run", partial(assumptions.bounded, point="w_k", gradient="g_w")),
        ("assump4.corrected", "run", partial(assumptions.bounded, point="x_k", gradient="g_k")),
        ("assump5", "enumeration", operator.assumed),
        ("assump5.corrected", "enumeration", operator.largest),
        ("assump5.error", "enumeration", operator.largest),
        ("assump5.claim", "enumeration", operator.largest),
        ("assump5.sq_error", "enumeration", operator.squared),
        ("remark3", "run", operator.learned),
        ("c1.update", "run", partial(updates.updates, family=updates.appendix_c)),
        ("c1.virtual", "run", updates.virtual),
        ("c1.t0", "enumeration", operator.restarted),
        ("d1.scheme", "run", updates.schemes),
        ("d1.update", "run", partial(updates.updates, family=updates.appendix_d)),
        ("d1.update.corrected", "run", partial(updates.updates, family=updates.appendix_d)),
        ("e1.update", "run", updates.nonconvex),
        ("e1.update.corrected", "run", updates.nonconvex),
        ("baseline.fedavg", "run", updates.averaged),
        ("baseline.signsgd", "enumeration", baselines.sign),
        ("baseline.ef_signsgd", "run", baselines.error_feedback),
        ("baseline.noisy_signsgd", "run", baselines.noisy),
        ("baseline.stoc_signsgd", "enumeration", baselines.stochastic),
        ("baseline.zerofl", "run", baselines.pruned),
        ("baseline.fedpaq", "run", baselines.quantised),
        ("baseline.bifl", "run", baselines.binary),
        ("baseline.bias_claim", "enumeration", operator.biased),
    ]
    return [Evidence(f"fedbat.{name}", kind, check) for name, kind, check in checks]
