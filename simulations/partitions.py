"""Partitions: how the samples of one data set are dealt out to M clients.

Five ways, from no heterogeneity to any amount of it (SFL paper, Section 4.2 and Appendix G.1): `iid`; `dirichlet`
and `quantity`, the two baselines of Appendix G.1; `shards`, the original form of the latter; and `exdir`, the paper's
Extended Dirichlet partition, which combines them.

`dirichlet`, `quantity` and `exdir` choose a table of proportions (classes, M), round it to whole samples, and deal each
class out at random in these numbers. They use no rejection sampling, so every step ends, whatever the arguments.

All take `labels` (n,), the class of each sample, 0, 1, ...; `M`, the number of clients; and the `seed` of a generator: the
same seed gives the same partition.  `alpha` > 0 is the concentration of a Dirichlet law: small is heterogeneous, large is
homogeneous.  `C` is the number of classes of each client: 1 is the most heterogeneous.  All raise ValueError for M < 1 or
M > n, an alpha that is not positive, alpha * M that is not finite, C < 1 and C > classes.

`dirichlet_equal` gives all clients the same number of samples (FedBCGD). Three more follow authors' codes, where these
differ from their papers: `dirichlet_capped` and `quantity_in_turn` (FedBAT), `exdir_capped` (SFL).
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from fedtheory.simulations.checked import number, whole

_TURNS = 20  # of `dirichlet_equal`
_ATTEMPTS, _LEAST = 1000, 10  # draws, and samples of a client, where all is drawn again


@dataclass(frozen=True, eq=False)
class Partition:
    """Who holds which samples.

    Attributes:
        clients: one int64 array a client, the increasing indices of its samples; disjoint, together 0..n-1.
        method: readable, e.g. "ExDir(2, 10.0), 10 clients, seed 0".
        owners: (classes, M) bool, the classes allocated to each client (the priors q_c, one a row), where a method
            allocates classes.
        proportions: (classes, M) float, p_{c,m} before rounding to whole samples, rows sum to 1, where a method has
            them.

    Raises ValueError if the clients' samples are not increasing, not disjoint, or not all of 0..n-1.
    """

    clients: tuple[np.ndarray, ...]
    method: str
    owners: np.ndarray | None = None
    proportions: np.ndarray | None = None

    def __post_init__(self) -> None:
        samples = np.sort(np.concatenate(self.clients))
        if not np.array_equal(samples, np.arange(len(samples))):
            raise ValueError(
                f"{self.method}: the clients' samples are not each of 0..{len(samples) - 1} exactly once, as expected"
            )
        if any((np.diff(client) <= 0).any() for client in self.clients):
            raise ValueError(f"{self.method}: a client's samples are not in increasing order, as expected")

    def __repr__(self) -> str:
        return f"<Partition: {self.method}>"

    def counts(self, labels: np.ndarray) -> np.ndarray:
        """How many samples of each class each client holds: the cells of the paper's Figure 8.

        labels  (n,) int, the labels that were partitioned.

        Returns (classes, M) int array.

        Raises ValueError if there are not as many labels as samples in the partition.
        """
        n = sum(len(client) for client in self.clients)
        if len(labels) != n:
            raise ValueError(f"{self.method}: {len(labels)} labels passed, expected {n}, one for each sample")
        classes = int(labels.max()) + 1
        return np.stack([np.bincount(labels[client], minlength=classes) for client in self.clients], axis=1)


def iid(labels: np.ndarray, M: int, seed: int) -> Partition:
    """Samples dealt out at random, whatever their labels; the clients' sizes differ by at most one."""
    _sizes(labels, M)
    rng = _generator(seed)
    clients = tuple(np.sort(part) for part in np.array_split(rng.permutation(len(labels)), M))
    return Partition(clients, f"IID, {M} client{'s' * (M > 1)}, seed {seed}")


def shards(labels: np.ndarray, M: int, shards_per_client: int, seed: int) -> Partition:
    """Samples sorted by label, cut into M * shards_per_client shards, each client dealt shards_per_client of them.

    The first form of the quantity-based partition (McMahan et al., 2017, Section 3). Sizes of shards differ by at most
    one. A client has about shards_per_client labels: fewer if two of its shards share a label, more if one of them
    straddles two.

    shards_per_client  shards dealt to each client.

    Raises ValueError for shards_per_client < 1, or fewer samples than shards.
    """
    _sizes(labels, M)
    total = M * whole("shards_per_client", shards_per_client)
    if total > len(labels):
        raise ValueError(
            f"shards: M * shards_per_client = {M} * {shards_per_client} = {total} shards of {len(labels)} samples; "
            f"expected shards_per_client >= 1 and at least one sample a shard"
        )
    pieces = np.array_split(np.argsort(labels, kind="stable"), total)
    dealt = _generator(seed).permutation(total).reshape(M, shards_per_client)
    clients = tuple(np.sort(np.concatenate([pieces[shard] for shard in hand])) for hand in dealt)
    return Partition(clients, f"Shards({shards_per_client}), {M} clients, seed {seed}")


def dirichlet(labels: np.ndarray, M: int, alpha: float, seed: int) -> Partition:
    """Distribution-based class imbalance: p_c ~ Dir(alpha * 1) for each class c (Appendix G.1, b).

    The partition of Yurochkin et al. (2019). Client m is given a p_{c,m} proportion of class c, rounded by largest
    remainder. No client is left empty: each empty one in turn receives one sample from the client that has most at that
    moment, of that client's largest class (lowest number first in a tie).
    """
    sizes = _sizes(labels, M)
    _check_alpha(alpha, M)
    rng = _generator(seed)
    proportions = rng.dirichlet(np.full(M, float(alpha)), size=len(sizes))
    counts = np.stack([_apportion(row, size) for row, size in zip(proportions, sizes, strict=True)])
    # An empty client leaves n >= M samples to M - 1 others, so the largest has at least two and stays non-empty.
    for empty in np.flatnonzero(counts.sum(axis=0) == 0):
        largest = counts.sum(axis=0).argmax()
        label = counts[:, largest].argmax()
        counts[label, largest] -= 1
        counts[label, empty] += 1
    clients = _deal(labels, counts, rng)
    return Partition(clients, f"Dir({alpha}), {M} clients, seed {seed}", proportions=proportions)


def quantity(labels: np.ndarray, M: int, C: int, seed: int) -> Partition:
    """Quantity-based class imbalance: C different classes a client, each split equally by its owners (Appendix G.1, a).

    The partition of Li et al. (2022). Which samples an owner gets is random; where a class cannot be split equally,
    owners drawn at random have one sample more.

    Raises ValueError for M * C < classes, or a class with fewer samples than owners.
    """
    sizes = _sizes(labels, M)
    rng = _generator(seed)
    owners = _allocate(len(sizes), M, C, rng)
    return _dealt_equally(labels, sizes, owners, f"Quantity({C}), {M} clients, seed {seed}", rng)


def exdir(labels: np.ndarray, M: int, C: int, alpha: float, seed: int) -> Partition:
    """The Extended Dirichlet partition ExDir(C, alpha) (SFL paper, Section 4.2 and Appendix G.1).

    Allocating classes: C different classes to each client at random; the prior q_c marks the owners of class c.
    Allocating samples: p_c ~ Dir(alpha q_c), and client m is given a p_{c,m} proportion of the samples of class c.

    The paper leaves two things open, decided here so that a client has exactly C labels: no class is left without an
    owner (`_allocate`), and no owner of a class is rounded down to no sample of it (`_deal_to_owners`).

    Raises ValueError for M * C < classes, or a class with fewer samples than owners.
    """
    sizes = _sizes(labels, M)
    _check_alpha(alpha, M)
    rng = _generator(seed)
    owners = _allocate(len(sizes), M, C, rng)
    proportions = np.zeros(owners.shape)
    for c, q in enumerate(owners):
        proportions[c, q] = rng.dirichlet(np.full(q.sum(), float(alpha)))
    method = f"ExDir({C}, {alpha}), {M} clients, seed {seed}"
    return Partition(_deal_to_owners(labels, sizes, owners, proportions, method, rng), method, owners, proportions)


def dirichlet_equal(labels: np.ndarray, M: int, alpha: float, seed: int) -> Partition:
    """Each client draws the shares of its classes, q_m ~ Dir(alpha * 1), and all clients get the same number of samples.

    The samples are dealt out in 20 turns, in each to the clients in a new random order. A class that is used up is left
    out of the shares from then on; so the last turns depart from them, for all clients alike. The clients' sizes differ by
    at most one.

    Raises ValueError where alpha times the number of classes is not finite.
    """
    left = _sizes(labels, M)
    _check_alpha(alpha, max(M, len(left)))
    rng = _generator(seed)
    shares = rng.dirichlet(np.full(len(left), float(alpha)), size=M)
    counts = np.zeros((len(left), M), np.int64)
    goal = np.full(M, len(labels) // M)
    goal[rng.permutation(M)[: len(labels) % M]] += 1
    for turn in range(1, _TURNS + 1):
        for m in rng.permutation(M):
            while (need := goal[m] * turn // _TURNS - counts[:, m].sum()) > 0:
                wanted = shares[m] * (left > 0)
                wanted = wanted / wanted.sum() if wanted.sum() > 0 else left / left.sum()
                dealt = np.minimum(rng.multinomial(need, wanted), left)
                counts[:, m] += dealt
                left = left - dealt
    clients = _deal(labels, counts, rng)
    return Partition(clients, f"Dir({alpha}) with equal sizes, {M} clients, seed {seed}")


def dirichlet_capped(labels: np.ndarray, M: int, alpha: float, seed: int) -> Partition:
    """As in FedBAT's code: a client that has n / M samples gets no more of the next classes; at least 10 for everyone.

    Classes in turn, p_c ~ Dir(alpha * 1) over the clients that have less than n / M samples; all is drawn again until
    every client has 10 samples.

    Raises ValueError for a client with fewer than 10 samples in each of 1000 attempts.
    """
    sizes = _sizes(labels, M)
    _check_alpha(alpha, M)
    owners = np.ones((len(sizes), M), bool)
    return _capped(labels, sizes, owners, alpha, f"Dir({alpha}), capped, {M} clients, seed {seed}", _generator(seed))


def exdir_capped(labels: np.ndarray, M: int, C: int, alpha: float, seed: int) -> Partition:
    """`exdir` as in the SFL paper's code: with the cap and the least size of `dirichlet_capped`.

    Each client draws C classes, again until every class has a fifth of the mean number of owners. What rounding leaves of
    a class goes to its last owner. A client may be left without one of its C classes.

    Raises ValueError as `dirichlet_capped` does, and where no allocation of classes is found in 1000 attempts.
    """
    sizes = _sizes(labels, M)
    _check_alpha(alpha, M)
    _check_C(C, len(sizes))
    rng, method = _generator(seed), f"ExDir({C}, {alpha}), capped, {M} clients, seed {seed}"
    least = max(C * M // len(sizes) // 5, 1)
    for _ in range(_ATTEMPTS):
        owners = _drawn_classes(len(sizes), M, C, rng)
        if owners.sum(axis=1).min() >= least:
            return _capped(labels, sizes, owners, alpha, method, rng)
    raise ValueError(
        f"{method}: in {_ATTEMPTS} attempts some class had fewer than {least} owners; expected more clients"
    )


def quantity_in_turn(labels: np.ndarray, M: int, C: int, seed: int) -> Partition:
    """`quantity` as in FedBAT's code: client after client gets the C classes that have the fewest owners so far.

    Only the samples are random.

    Raises ValueError for M * C < classes, or a class with fewer samples than owners.
    """
    sizes = _sizes(labels, M)
    if not whole("C", C, what="a number of classes a client") <= len(sizes) <= M * C:
        raise ValueError(f"C = {C} of {len(sizes)} classes for M = {M} clients; expected C <= classes <= M * C")
    owners = np.zeros((len(sizes), M), bool)
    for m in range(M):
        owners[np.argsort(owners.sum(axis=1), kind="stable")[:C], m] = True
    method = f"Quantity({C}) in turn, {M} clients, seed {seed}"
    return _dealt_equally(labels, sizes, owners, method, _generator(seed))


def _capped(
    labels: np.ndarray, sizes: np.ndarray, owners: np.ndarray, alpha: float, method: str, rng: np.random.Generator
) -> Partition:
    """Classes in turn to those of their owners who have less than n / M samples, until all clients have 10."""
    M = owners.shape[1]
    for _ in range(_ATTEMPTS):
        counts = np.zeros(owners.shape, np.int64)
        for c, size in enumerate(sizes):
            open_to = owners[c] & (counts.sum(axis=0) < len(labels) / M)
            shares = rng.dirichlet(np.full(M, float(alpha))) * open_to
            if shares.sum() == 0:
                break
            ends = np.cumsum(shares / shares.sum()) * size
            counts[c] = np.diff(ends.astype(np.int64), prepend=0)
            counts[c, np.flatnonzero(owners[c])[-1]] += size - counts[c].sum()
        else:
            if counts.sum(axis=0).min() >= _LEAST:
                return Partition(_deal(labels, counts, rng), method, owners)
    raise ValueError(
        f"{method}: in {_ATTEMPTS} attempts some client had fewer than {_LEAST} samples; expected fewer clients, or a "
        "larger alpha"
    )


def _generator(seed: int) -> np.random.Generator:
    # default_rng(None) would draw a seed from the operating system
    return np.random.default_rng(whole("seed", seed, 0))


def _sizes(labels: np.ndarray, M: int) -> np.ndarray:
    """Number of samples of each class 0..max(labels), after checking `labels` and `M`."""
    expected = "expected an integer array of shape (n,), n >= 1, with values 0, 1, ..."
    if not isinstance(labels, np.ndarray):
        raise ValueError(f"labels are a {type(labels).__name__}; {expected}")
    if labels.ndim != 1 or labels.size == 0 or not np.can_cast(labels.dtype, np.int64):
        raise ValueError(f"labels are a {labels.dtype} array of shape {labels.shape}; {expected}")
    if labels.min() < 0:
        raise ValueError(f"the smallest label is {labels.min()}; {expected}")
    if whole("M", M, what="a number of clients") > len(labels):
        raise ValueError(f"M = {M} clients for n = {len(labels)} samples; expected 1 <= M <= n")
    return np.bincount(labels)


def _check_alpha(alpha: float, M: int) -> None:
    # NaN fails the first comparison; the generator adds up M gamma variates of mean alpha, which must not overflow.
    number("alpha", alpha, "> 0")
    if not np.isfinite(float(alpha) * M):
        raise ValueError(f"alpha = {alpha} for M = {M} clients; expected alpha > 0 and alpha * M finite")


def _check_C(C: int, classes: int) -> None:
    if whole("C", C, what="a number of classes a client") > classes:
        raise ValueError(f"C = {C} classes a client out of {classes} classes; expected 1 <= C <= {classes}")


def _drawn_classes(classes: int, M: int, C: int, rng: np.random.Generator) -> np.ndarray:
    """C different classes of each client, drawn uniformly: (classes, M) bool."""
    owners = np.zeros((classes, M), dtype=bool)
    subsets = rng.permuted(np.tile(np.arange(classes), (M, 1)), axis=1)[:, :C]
    owners[subsets, np.arange(M)[:, None]] = True
    return owners


def _allocate(classes: int, M: int, C: int, rng: np.random.Generator) -> np.ndarray:
    """Allocate C different classes to each of M clients at random, every class to at least one client.

    Each client draws a C-subset of the classes uniformly. The samples of a class without an owner would be lost, so a
    client receives it in exchange for one of its classes that has another owner too.

    Returns (classes, M) bool; columns sum to C, rows to at least 1. Clients are treated alike, and so are classes (any class
    that needs repair ends with one owner): each client owns each class with probability C / classes.
    """
    _check_C(C, classes)
    if classes > M * C:
        raise ValueError(
            f"M * C = {M} * {C} = {M * C} < {classes} classes: expected at least as many, for each class an owner"
        )
    owners = _drawn_classes(classes, M, C, rng)
    # The repair ends, one exchange for each class without an owner:
    # - an exchange is possible. While some class has no owner, the M * C >= classes marks in `owners` lie in fewer than
    #   `classes` rows, so some row has two or more of them (pigeonhole), and `spare` is not empty;
    # - an exchange gives one class an owner. The client did not own the new class (nobody did), so it keeps C different
    #   classes; the class that it gives up keeps an owner. So there is one class less without an owner.
    for orphan in np.flatnonzero(~owners.any(axis=1)):
        spare = np.argwhere(owners & (owners.sum(axis=1, keepdims=True) >= 2))
        given_up, client = spare[rng.integers(len(spare))]
        owners[given_up, client] = False
        owners[orphan, client] = True
    return owners


def _apportion(proportions: np.ndarray, total: int) -> np.ndarray:
    """Round proportions (k,) of a total to whole numbers (k,) that add up to it, by largest remainder."""
    quotas = proportions * total
    counts: np.ndarray = np.floor(quotas).astype(np.int64)
    # Between 0 and k are missing: the quotas add up to `total`, up to rounding errors far below 1.
    missing = total - counts.sum()
    counts[np.argsort(counts - quotas, kind="stable")[:missing]] += 1
    return counts


def _dealt_equally(
    labels: np.ndarray, sizes: np.ndarray, owners: np.ndarray, method: str, rng: np.random.Generator
) -> Partition:
    """Each class in equal parts to its owners."""
    proportions = owners / owners.sum(axis=1, keepdims=True)
    return Partition(_deal_to_owners(labels, sizes, owners, proportions, method, rng), method, owners, proportions)


def _deal_to_owners(
    labels: np.ndarray,
    sizes: np.ndarray,
    owners: np.ndarray,
    proportions: np.ndarray,
    method: str,
    rng: np.random.Generator,
) -> tuple[np.ndarray, ...]:
    """Deal each class out to its owners by their proportions, at least one sample to each owner.

    Largest remainder; then each owner without a sample receives one from the owner with most. A class where every owner
    has a sample already keeps |count - proportion * size| < 1.
    """
    short = np.flatnonzero(sizes < owners.sum(axis=1))
    if len(short):
        c = short[0]
        raise ValueError(
            f"{method}: class {c} has {sizes[c]} samples for its {owners[c].sum()} owners; expected >= 1 each"
        )
    counts = np.zeros(owners.shape, dtype=np.int64)
    for c, size in enumerate(sizes):
        # In random order, so that ties (all of them, when the split is equal) favour nobody.
        who = rng.permutation(np.flatnonzero(owners[c]))
        share = _apportion(proportions[c, who], size)
        for none in np.flatnonzero(share == 0):  # at least as many samples as owners: the largest has >= 2
            share[share.argmax()] -= 1
            share[none] += 1
        counts[c, who] = share
    return _deal(labels, counts, rng)


def _deal(labels: np.ndarray, counts: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Deal the samples of each class out at random, counts[c, m] of class c to client m; rows sum to class sizes."""
    holder = np.empty(len(labels), dtype=np.int64)
    for c, row in enumerate(counts):
        holder[rng.permutation(np.flatnonzero(labels == c))] = np.repeat(np.arange(len(row)), row)
    return tuple(np.flatnonzero(holder == m) for m in range(counts.shape[1]))


def as_given(clients: np.ndarray) -> Partition:
    """The clients' own samples: (n,), for each sample its client, 0 ... M-1."""
    owned = tuple(np.flatnonzero(clients == m) for m in range(int(clients.max()) + 1))
    return Partition(owned, f"as given, {len(owned)} clients")


PARTITIONS: Mapping[str, Callable[..., Partition]] = {
    way.__name__: way
    for way in (
        iid,
        dirichlet,
        exdir,
        quantity,
        shards,
        dirichlet_equal,
        dirichlet_capped,
        exdir_capped,
        quantity_in_turn,
    )
}


def partition_settings(way: str) -> tuple[str, ...]:
    """What a partition takes besides labels, M and seed, such as alpha."""
    return tuple(name for name in inspect.signature(PARTITIONS[way]).parameters if name not in ("labels", "M", "seed"))
