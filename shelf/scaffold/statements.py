"""SCAFFOLD in the field's letters: M for N, L for beta, Delta for F.  Of the paper Theorems I and III were read.  The lemmas
are as others restate them, with constants that were derived again; the explicit theorems follow from them."""

from dataclasses import dataclass
from functools import cache, partial
from itertools import product

import numpy as np
from sympy import Min, Rational, cbrt, exp, sqrt

from fedtheory.bounds.trials.arena import Arena, build
from fedtheory.paper import *
from fedtheory.simulations.algorithms.base import Memory, Watch, everyone, to_clients
from fedtheory.simulations.algorithms.fedcom import SCAFFOLD
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.engine import run
from fedtheory.simulations.problems import Array, Problem
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.theory.proofs import units


@dataclass(frozen=True)
class WarmSCAFFOLD(SCAFFOLD):
    """Algorithm 1 with Option II from a warm start: each c_i begins as the mean of K stochastic gradients at the start."""

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d); the gradients of the warm start are of round 0, the run's own begin in round 1."""
        if "c_j" not in memory:
            clients, y = everyone(problem), to_clients(x, problem.M)
            draw = draws.of(clients + problem.M, self.tau)  # clients that do not take part have these draws
            memory["c_j"] = sum(problem.gradient(y, clients, draw.step(k)) for k in range(self.tau)) / self.tau
            memory["c"] = memory["c_j"].mean(axis=2)
        return super().round(problem, x, eta, draws, watch, memory)

    def symbols(self, problem: Problem) -> dict[str, float]:
        """M clients, S of them a round, K local steps."""
        return {"M": float(problem.M), "S": float(self.participants(problem)), "K": float(self.tau)}


# fmt: off
paper = paper("scaffold", "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning", citation="ICML 2020")
paper.algorithm(WarmSCAFFOLD, "SCAFFOLD, warm start")
_s, _one, _sq = partial(paper.symbol, nonnegative=True), partial(paper.symbol, positive=True), F**2 / X**2
eta_g, B, a = _one("eta_g", r"\eta_g", "global step"), _one("B", "B", "relative dissimilarity"), _one("a", "a", "a number")
paper.where, eta_max = {h: K * eta * eta_g}, _one("eta_max", r"\eta_{\max}", "largest step size", X**2 / F)
G, epsilon = _s("G", "G", "absolute dissimilarity", F / X), _s("epsilon", r"\epsilon", "accuracy", F)
Psi, d_0 = _s("Psi", r"\Psi_R", "what a recursion bounds", F), _s("d_0", "d_0", "first distance of a recursion", X**2)
c_1, c_2 = _s("c_1", "c_1", "noise of a recursion", _sq), _s("c_2", "c_2", "drift of a recursion", F**3 / X**4)
E_sq, sum_sq = _s("E_sq", r"E\|\Xi\|^2", "second moment of a sum", _sq), _s("sum_sq", r"\|\xi\|^2", "that of means", _sq)
e_sq = _s("e_sq", r"\epsilon", "accuracy of the squared gradient", _sq)
alike = paper.assume("A1", "(1/M) sum ||grad f_i||^2 <= G^2 + B^2 ||grad f||^2; all f_i convex: G^2 + 2 L B^2 (f - f*).")
every = [alike, strongly_convex, noise, smooth]

grid, last = (1e-3, 0.1, 1.0, 30.0), (1 - mu * eta) ** (R + 1)  # of a recursion with weights (1 - mu eta)^(1 - r)
lemma1 = paper.lemma(Psi <= 3 * mu * d_0 * exp(-mu * eta * R) + c_1 * eta, when=[mu * eta <= 1, 2 * mu * eta * R >= 1])
cases = {"mu": (0.2, 1.0, 3.0), "eta": (1e-3, 0.03, 0.1, 0.3, 1.0, 3.0), "R": (1, 9, 1000), "d_0": grid, "c_1": (0.0, *grid)}
paper.cases(lemma1, cases, mu * d_0 * last / (1 - last) + c_1 * eta)
best = Min(eta_max, sqrt(d_0 / (c_1 * (R + 1))), cbrt(d_0 / (c_2 * (R + 1))))  # the step size of the proof
tuned = 2 * sqrt(c_1 * d_0 / (R + 1)) + 2 * (d_0 / (R + 1)) ** Rational(2, 3) * cbrt(c_2)
lemma2 = paper.lemma(Psi <= d_0 / (eta_max * (R + 1)) + tuned)
cases = {"R": (1, 7, 1000), **dict.fromkeys(("eta_max", "d_0", "c_1", "c_2"), grid)}
paper.cases(lemma2, cases, d_0 / (best * (R + 1)) + c_1 * best + c_2 * best**2)
(x, y, z), f = points("x y z"), function("f", smooth=L, strongly_convex=mu)
lemma3 = paper.lemma((x + y).norm2 <= (1 + a) * x.norm2 + (1 + 1 / a) * y.norm2)
lemma4 = paper.lemma(E_sq <= sum_sq + K**2 * sigma**2, given=[noise])  # K equal errors are the worst
paper.cases(lemma4, {"K": (1, 2, 5), "sigma": (0.0, 0.5, 2.0), "sum_sq": (0.0, 1.0, 3.0)}, sum_sq + (K * sigma) ** 2)
lemma5 = paper.lemma(f.grad(x).dot(z - y) >= f(z) - f(y) + mu / 4 * (y - z).norm2 - L * (z - x).norm2)
lemma6 = paper.lemma((x - eta * f.grad(x) - y + eta * f.grad(y)).norm2 <= (1 - mu * eta) * (x - y).norm2, when=eta <= 1 / L)
small = [h <= 1 / (8 * L * (1 + B**2)), eta_g >= 1, S <= M, M >= 2]
sampling, drifted = (1 - S / M) * 4 * h**2 * G**2 / S, h**2 * sigma**2 / (2 * K * eta_g**2) + 18 * L * h**3 * G**2
bound = {"noise": h**2 * sigma**2 / (K * S), "sampling": sampling, "gap": -h * gap, "drift": 3 * L * h * drift}
progress = at_most(dist2.next, contraction=(1 - mu * h / 2) * dist2, **bound)
lemma7 = paper.lemma(progress, when=small, given=every, rests_on=[lemma4, lemma5])
lemma8 = paper.lemma(3 * L * h * drift <= 2 * h / 3 * gap + drifted, when=small, given=every, rests_on=[lemma3, lemma4])


@cache
def rounds() -> list[dict[str, float]]:
    """Rounds of FedAvg: two clients in one dimension, S = 2 or 1, averaged over samples; (G, B) = sqrt(2) (zeta_*, 1)."""
    found = []
    grid = product(((1.0, 1.0), (1.0, 0.2), (1.0, 0.0)), (0.0, 1.0), (-2.0, 0.1, 1.0), (1, 2), (1, 2, 5), (1.0, 0.3))
    for pair, slope, x0, count, n, share in grid:
        root = np.sqrt(np.array(pair))[:, None]
        functions, step = Quadratic(root[..., None] ** 2, np.array([[slope], [-slope]]) * root), share / 24
        known, one = functions.constants, partial(run, functions, rounds=1, x0=[x0], record=("dist2", "drift"))
        ends = [one(PFL(n, step / n, count), orders=[o]).dist2[0, 0, 1] for o in ([[0, 1]] if count == 2 else [[0], [1]])]
        case = {"M": 2, "S": count, "K": n, "L": 1.0, "mu": min(pair), "sigma": 0.0, "eta_g": 1.0, "eta": step / n}
        case |= {"B": np.sqrt(2), "G": np.sqrt(2) * known["zeta_star"], "eta_tilde": step}
        case |= {"gap": float(functions.value(np.array([x0]))) - known["F_star"], "dist2": (x0 - known["x_star"][0]) ** 2}
        moved = one(PFL(n, step / n), orders=[[0, 1]]).drift[0, 0, 0]
        found.append(case | {"dist2_next": float(np.mean(ends)), "drift": float(moved) / n})
    return found

paper.cases(lemma7, rounds, dist2.next)
paper.cases(lemma8, rounds, 3 * L * h * drift)

# Theorems with explicit constants
left = mu / 2 * (1 - mu * h / 2) ** (R + 1) / (1 - (1 - mu * h / 2) ** (R + 1))  # 1 / (h sum of the weights)
weights, variance = {w_r: (1 - mu * h / 2) ** (-r - 1)}, h * sigma**2 / (K * S) * (1 + S / eta_g**2)
fedavg = {"noise": 3 * variance, "sampling": 12 * h * G**2 / S * (1 - S / M), "drift": 54 * L * h**2 * G**2}
summed = {"when": small, "rests_on": [lemma7, lemma8], "note": "Lemmas 7 and 8, summed.", "given": every}
noisy = {"noise": 5 * L * variance, "sampling": 10 * L * h * G**2 / S * (1 - S / M), "drift": 135 * L**2 * h**2 * G**2 / 8}
start, when = D**2 + 9 * M * h**2 / S * zeta**2, [h <= 1 / (81 * L), eta_g >= 1, S <= M]
zero = {"given": every[1:], "when": when, "note": "From c_i = 0: one round of progress, summed with the weights."}
warm = {"given": [noise, smooth], "when": [h <= (S / M) ** Rational(2, 3) / (24 * L), *when[1:]], "note": "From means."}
_say = paper.theorem
_say(at_most(gap.average, optimisation=3 * left * D**2, **fedavg), "fedavg.strongly_convex", where=weights, **summed)
_say(at_most(gap.average, optimisation=3 * D**2 / (h * (R + 1)), **fedavg), "fedavg.general_convex", **summed)
summed |= {"given": [alike, noise, smooth], "rests_on": (), "note": "Derived here."}
_say(at_most(grad_sq.mean, optimisation=5 * Delta / (h * R), **noisy), "fedavg.nonconvex", **summed)
_say(at_most(gap.average, optimisation=start / (h * (R + 1)), noise=12 * variance), "scaffold.general_convex", **zero)
zero |= {"when": [*when, mu * h <= S / (15 * M)], "where": weights}
_say(at_most(gap.average, optimisation=left * start, noise=12 * variance), "scaffold.strongly_convex", **zero)
_say(at_most(grad_sq.mean, optimisation=14 * Delta / (h * R), noise=70 * L * variance), "scaffold.nonconvex", **warm)

# Theorems I and III as printed: rounds to an accuracy, of the gap or (non-convex) of the squared gradient
much, sampled, e, root = sigma**2 / (K * S), (1 - S / M) * G**2 / S, epsilon, Rational(3, 2)
strongly = (much + sampled) / (mu * e) + sqrt(L) * G / (mu * sqrt(e)) + B**2 * L / mu
general, non = (much + sampled) * D**2 / e**2 + B**2 * L * D**2 / e, L * much * Delta / e_sq**2 + B**2 * L * Delta / e_sq
first = partial(rates, ["strongly_convex"], strongly_convex=strongly)
less, lower = general + sqrt(L) * G / e**root, non + sampled * Delta / e_sq**2 + sqrt(L) * G / e_sq**root
thm1 = _say(first(general_convex=less, non_convex=lower), "thm1", given=every)
full, whole = general + D**2 * sqrt(L) * G / e**root, non + L * sampled * Delta / e_sq**2 + L * Delta * G / e_sq**root
strongly, general = much / (mu * e) + L / mu + M / S, much * D**2 / e**2 + L * D**2 / e
non = L * much * Delta / e_sq**2 + (M / S) ** Rational(2, 3) * L * Delta / e_sq
third = partial(rates, ["strongly_convex", "general_convex"], strongly_convex=strongly, non_convex=non)
thm3, right = _say(third(general_convex=general + M * Delta / S), "thm3", given=every[1:]), general + M * Delta / (S * e)
corrected = (first(general_convex=full, non_convex=whole), "D^2, L, sqrt(L) F"), (third(general_convex=right), "epsilon")
for said, (rate, lost) in zip((thm1, thm3), corrected, strict=True):
    name = said.id.partition(".")[2]
    for one in (said, paper.correct(name, rate)):
        paper.test(one, units.check, "units")
    paper.erratum(name, "misprint", "as above", f"without {lost} the dimensions differ", f"{name}.corrected")


def dissimilar(arena: Arena, name: str) -> float:
    """G or B of A1: sqrt(2) zeta_* and sqrt(2) on convex quadratics; on others by the deviations, zeta and sqrt(1 + b^2)."""
    known, convex = build(arena.problem).constants, "nonconvex" not in arena.statement
    G, B = (np.sqrt(2) * known["zeta_star"], np.sqrt(2)) if convex else (known["zeta"], np.sqrt(1 + known["beta"] ** 2))
    return float(G if name == "G" else B)


given = (("eta_g", 1.0), *((name, partial(dissimilar, name=name)) for name in "GB"))
for case, (count, noisy) in product(("strongly_convex", "general_convex", "nonconvex"), ((4, 0.5), (2, 0.5), (1, 0.0))):
    least, kind = (-0.2, WarmSCAFFOLD) if case == "nonconvex" else (0.1, SCAFFOLD)
    quadratics = problem("quadratic", d=3, M=4, L=1.0, mu=least, zeta_star=1.0, delta=0.3, sigma=noisy)
    name = f"S = {count}, sigma = {noisy:g}"
    paper.arena(paper.statements[f"scaffold.fedavg.{case}"], quadratics, 300, PFL, name, given=given, K=3, S=count)
    paper.arena(paper.statements[f"scaffold.scaffold.{case}"], quadratics, 100, kind, name, given=given[:1], tau=3, S=count)
