"""What the theorems say of a network: bounds with estimated constants, beside trainings of the small CNN on digits.

No constant of a network's loss is certified, and smoothness does not even hold everywhere.  So this is no check: the
numbers in the bounds are estimates at a few points of the training, and the result says how far the theorems are from
practice.  Two trainings stand beside each bound: one with a step size that trains well, which no theorem admits, and one
with the step size at which the bound is smallest.  A seed fixes the starting point and all draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedtheory.bounds.evaluation import BoundValue, evaluate, parameters
from fedtheory.bounds.studies import Numbers, Study
from fedtheory.bounds.trials.arena import definitions, fixes_step, known, learning_rate, step_symbol, with_lengths
from fedtheory.bounds.trials.quantities import bounded, quantities
from fedtheory.bounds.tuning import tune
from fedtheory.simulations import partitions
from fedtheory.simulations.algorithms.base import Algorithm
from fedtheory.simulations.algorithms.fedbat import FedBAT
from fedtheory.simulations.algorithms.fedbcgd import FedBCGD, FedBCGDPlus
from fedtheory.simulations.algorithms.fedcom import FedCOM, FedCOMGATE
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.arrays import on_host
from fedtheory.simulations.compressors import RandK
from fedtheory.simulations.constants import Certified, Constants
from fedtheory.simulations.draws import Draw
from fedtheory.simulations.engine import RunState
from fedtheory.simulations.problems import Array
from fedtheory.simulations.problems.wrapped import Wrapped
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound

if TYPE_CHECKING:  # they load torch
    from fedtheory.simulations.networks.estimates import Estimates
    from fedtheory.simulations.networks.problem import Network

CLIENTS, STEPS, ROUNDS, BATCH = 6, 5, 60, 10
_KEPT = 1500  # coordinates of 6090 that are sent: q is about 3
_BLOCKS = 2
_AT = (0, 20, ROUNDS)  # rounds at which the constants are estimated
_EVERY = 4  # rounds between measurements of the gradient
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class NetworkMethod:
    """A method and its theorem for functions that are not convex.

    algorithm  of a step size
    practised  a step size of 0.01, 0.03, 0.1 and 0.3 that trains well
    given      letters of the theorem that are estimates, or numbers
    fails      an assumption of the theorem that does not hold here
    """

    statement: str
    algorithm: Callable[[Any], Algorithm]
    practised: float = 0.1
    given: Mapping[str, str | float] = field(default_factory=dict)
    fails: str = ""


METHODS: Mapping[str, NetworkMethod] = {
    "SFL": NetworkMethod("sfl.thm1.nonconvex", lambda eta: SFL(STEPS, eta), 0.03),
    "PFL": NetworkMethod("sfl.thm2.nonconvex", lambda eta: PFL(STEPS, eta)),
    "FedBCGD": NetworkMethod(
        "fedbcgd.thm1.nonconvex.corrected", lambda eta: FedBCGD(STEPS, eta, _BLOCKS, CLIENTS // _BLOCKS)
    ),
    "FedBCGD+": NetworkMethod(
        "fedbcgd.thm2.nonconvex.corrected",
        lambda eta: FedBCGDPlus(STEPS, eta, _BLOCKS, CLIENTS // _BLOCKS),
        given={"lag_0": "grads"},
    ),
    "FedCOM": NetworkMethod(
        "fedcom.thmD4.corrected",
        lambda eta: FedCOM(STEPS, eta, 1.0, RandK(_KEPT)),
        fails="all clients have the same function",
    ),
    "FedCOMGATE": NetworkMethod(
        "fedcom.thmE4.corrected",
        lambda eta: FedCOMGATE(STEPS, eta, 1.0, RandK(_KEPT, shared=True), damping=None),
        given={"G_q": 0.0, "het_start": "het_start"},
    ),
    "FedBAT": NetworkMethod(
        "fedbat.thm3.corrected", lambda eta: FedBAT(STEPS, eta, phi=0.0, step_size="max"), given={"G": "G"}
    ),
}


@cache
def network() -> Network:
    """The small CNN on digits, 6 clients with classes from a Dirichlet distribution, alpha = 1."""
    from fedtheory.simulations.networks import images
    from fedtheory.simulations.networks.problem import Network

    digits = images.load("digits")
    dealt = partitions.dirichlet_equal(digits.labels, CLIENTS, 1.0, 0)
    return Network(digits, dealt, "small CNN", batch=BATCH, precision="float64", batching="stacked")


@dataclass(frozen=True, eq=False)
class Estimated(Wrapped):
    """The network with the largest of some estimates as its constants, and 0 as the infimum of its loss."""

    own: Mapping[str, float]

    @property
    def name(self) -> str:
        """The network's."""
        return f"{self.plain.name}, with estimated constants"

    @property
    def constants(self) -> Constants:
        """Estimates in place of certified constants; F_star = 0 is a lower bound, so the initial gap is an upper one."""
        how = "an estimate, the largest at a few points of a training"
        found = {name: Certified(self.own[name], how) for name in ("L", "sigma", "zeta")}
        found |= {"beta": Certified(0.0, "all heterogeneity is in zeta"), "G": found["zeta"]}
        found |= {"F_star": Certified(0.0, "the loss is positive"), "x_star": Certified(None, "unknown")}
        return Constants(found)

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The network's, and the estimates."""
        return {**self.plain.provenance, "estimates": dict(self.own)}

    def gradient(self, x: Array, client: NDArray[np.int64], draw: Draw) -> Array:
        """The network's stochastic gradients."""
        return self.plain.gradient(x, client, draw)

    def value(self, x: Array) -> Array:
        """F(x)."""
        return np.asarray(self.plain.value(x))

    def full_gradient(self, x: Array) -> Array:
        """Gradient of F."""
        return self.plain.full_gradient(x)


@dataclass(frozen=True)
class Beside:
    """A theorem beside a network.

    at          round -> the estimates there, of the training with the practised step size
    practised   the mean squared gradient norm of that training, or its smallest, as the theorem has it
    admitted    the same with the step size `eta` of the smallest bound
    bound       the smallest bound, with its terms
    """

    at: Mapping[int, Estimates]
    practised: float
    eta: float
    admitted: float
    bound: BoundValue


def beside(name: str, seed: int) -> Beside:
    """Train twice, estimate, and evaluate the method's theorem."""
    from fedtheory.simulations.networks.problem import threads_of

    with threads_of(1):  # so small a network is faster with one
        return _beside(METHODS[name], seed)


def _beside(method: NetworkMethod, seed: int) -> Beside:
    from fedtheory.simulations.networks.estimates import Estimates

    net = network()
    x0 = net.start(seed)
    at, practised = _trained(method, method.practised, seed)
    largest = {f.name: max(getattr(one, f.name) for one in at.values()) for f in fields(Estimates)}
    first = at[0]
    numbers = largest | {"het_start": first.zeta**2, "grads": first.grads}
    statement = catalogue.find(method.statement)
    given = tuple((letter, numbers[v] if isinstance(v, str) else v) for letter, v in method.given.items())
    values = known(statement, Estimated(net, largest), x0, method.algorithm(1.0), given) | {"R": float(ROUNDS)}
    if fixes_step(statement):
        everything = with_lengths(statement, values)
        fixed = definitions(statement)[step_symbol(statement)]
        eta = float(fixed.subs({s: everything[s.name] for s in fixed.free_symbols}))
        bound = evaluate(method.statement, **{s.name: everything[s.name] for s in parameters(statement)})
    else:
        tuned = tune(method.statement, **values)
        own = method.algorithm(1.0).symbols(net)
        bound, eta = tuned.best, float(learning_rate(statement, np.array(tuned.step_size), **(own | values)))
    _, admitted = _trained(method, eta, seed, estimate=False)
    return Beside(at, practised, eta, admitted, bound)


@cache
def _at_start(seed: int) -> Estimates:
    """The estimates before the first round, the same for all methods."""
    from fedtheory.simulations.networks.estimates import estimates

    return estimates(network(), network().start(seed))


def _trained(method: NetworkMethod, eta: float, seed: int, estimate: bool = True) -> tuple[dict[int, Estimates], float]:
    """A training: estimates at some rounds, and the mean squared gradient norm, or the smallest, as the theorem has it."""
    from fedtheory.simulations.networks.estimates import estimates

    net = network()
    algorithm, at = method.algorithm(eta), [*range(0, ROUNDS, _EVERY), ROUNDS]
    running = RunState(net, algorithm, rounds=ROUNDS, seeds=[seed], x0=net.start(seed), record=("grad_sq",), at=at)
    found: dict[int, Estimates] = {}
    while True:
        if estimate and running.round in _AT:
            found[running.round] = estimates(net, on_host(running.x)[0, 0]) if running.round else _at_start(seed)
        if not running.advance():
            break
    series = running.dataset().grad_sq.values.ravel()
    statement = catalogue.find(method.statement)
    name, factor = bounded(statement.paper, statement.claim_of(Bound))
    over = quantities(statement.paper)[name].over
    return found, factor * float(series.min() if over == "smallest" else series[:-1].mean())


_NUMBERS = ("L", "sigma", "zeta", "G")


def _measured(method: str, seed: int) -> Numbers:
    found = beside(method, seed)
    numbers = {f"{n} in round {r}, an estimate": [getattr(at, n)] for r, at in found.at.items() for n in _NUMBERS}
    numbers |= {f"term of the bound: {term}": [float(value)] for term, value in found.bound.terms.items()}
    return numbers | {
        "gradient, practised step size": [found.practised],
        "gradient, step size of the theorem": [found.admitted],
        "bound": [float(found.bound.value)],
        "practised step size": [METHODS[method].practised],
        "step size of the theorem": [found.eta],
    }


def _point(method: str, seed: int) -> str:
    return f"{method}, seed {seed}"


def over_seeds(numbers: Mapping[str, Numbers]) -> dict[str, Numbers]:
    """The numbers of the study by method, for each name one of each seed, in the order of SEEDS."""
    own = {name: [numbers[_point(name, seed)] for seed in SEEDS] for name in METHODS}
    return {name: {what: [one[what][0] for one in every] for what in every[0]} for name, every in own.items()}


STUDY = Study(
    "theory_beside_networks",
    lambda: {_point(name, seed): {"method": name, "seed": seed} for name in METHODS for seed in SEEDS},
    _measured,
    ("fedtheory.simulations.networks.estimates", "fedtheory.simulations.networks.problem"),
    tuple(method.statement for method in METHODS.values()),
)
