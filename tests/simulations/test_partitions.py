"""Partitions: no sample lost or duplicated, exactly C labels a client, the moments of Dir(alpha q_c), paper's Figure 8.

Tests that rest on sampling state their confidence: for the whole test, all its comparisons together, a correct
implementation fails with probability ERROR at most (normal approximation, Bonferroni). Each of them is also shown to
fail when the claim is altered. Seeds are fixed, so a test that passes once passes always.
"""

import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import beta, norm  # type: ignore[import-untyped]

from fedtheory.simulations.partitions import (
    Partition,
    dirichlet,
    dirichlet_capped,
    dirichlet_equal,
    exdir,
    exdir_capped,
    iid,
    quantity,
    quantity_in_turn,
    shards,
)

ERROR = 1e-3
MNIST = np.repeat(np.arange(10), [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949])  # the training set

SEEDS = st.integers(0, 2**32)
ALPHAS = st.one_of(st.floats(1e-3, 1e3), st.sampled_from([1e-300, 1e-9, 1e9, 1e300]))


@st.composite
def labellings(draw: st.DrawFn, smallest: int = 0) -> np.ndarray:
    """Labels of up to 6 classes with `smallest` to 20 samples each, in random order."""
    sizes = draw(st.lists(st.integers(smallest, 20), min_size=1, max_size=6).filter(lambda sizes: sizes[-1] > 0))
    return np.random.default_rng(draw(SEEDS)).permutation(np.repeat(np.arange(len(sizes)), sizes))


def check_partition(partition: Partition, labels: np.ndarray, M: int) -> np.ndarray:
    """What holds of every partition; returns its table of counts."""
    assert len(partition.clients) == M
    assert sorted(np.concatenate(partition.clients)) == list(range(len(labels)))  # disjoint, and together all samples
    for client in partition.clients:
        assert len(client) and (np.diff(client) > 0).all()
    counts = partition.counts(labels)
    assert counts.shape == (labels.max() + 1, M)
    np.testing.assert_array_equal(counts.sum(axis=1), np.bincount(labels))
    np.testing.assert_array_equal(counts.sum(axis=0), [len(client) for client in partition.clients])
    if partition.proportions is not None:
        np.testing.assert_allclose(partition.proportions.sum(axis=1), 1, rtol=1e-12)
    return counts


def check_owned(partition: Partition, labels: np.ndarray, M: int, C: int) -> None:
    """What holds besides of a partition that allocates C classes to each client."""
    counts = check_partition(partition, labels, M)
    assert partition.owners is not None and partition.proportions is not None
    np.testing.assert_array_equal((counts > 0).sum(axis=0), C)  # every client has exactly C labels
    np.testing.assert_array_equal(counts > 0, partition.owners)
    assert (partition.proportions[~partition.owners] == 0).all()
    quotas = partition.proportions * np.bincount(labels)[:, None]
    assert (counts <= np.maximum(np.ceil(quotas + 1e-9), partition.owners)).all()
    for count, quota, own in zip(counts, quotas, partition.owners, strict=True):
        if quota[own].min() >= 1:  # nobody needs to be lent a sample: rounding moves less than one
            assert np.abs(count - quota).max() < 1 + 1e-9
            remainder, up = quota[own] % 1, count[own] > quota[own]  # largest remainder: the larger ones go up
            assert up.all() or not up.any() or remainder[up].min() >= remainder[~up].max() - 1e-9


@settings(max_examples=350, deadline=None)
@given(labellings(), st.integers(1, 9), st.one_of(st.integers(0, 4), ALPHAS), SEEDS)
def test_every_sample_is_dealt_once_and_sizes_are_equal_or_not_0(
    labels: np.ndarray, M: int, setting: float, seed: int
) -> None:
    """iid (0), so many shards a client, up to one sample of each shard apart, or Dir(alpha)."""
    whole, n = isinstance(setting, int), len(labels)
    parts = M * max(1, setting) if whole else M
    if parts > n:
        with pytest.raises(ValueError, match=rf"M = {M} clients for n = {n} samples|= {parts} shards of {n} samples"):
            dealt(labels, M, setting, seed)
        return
    sizes = check_partition(dealt(labels, M, setting, seed), labels, M).sum(axis=0)
    assert not whole or sizes.max() - sizes.min() <= max(1, setting)


def dealt(labels: np.ndarray, M: int, setting: float, seed: int) -> Partition:
    if isinstance(setting, int):
        return shards(labels, M, setting, seed) if setting else iid(labels, M, seed)
    return dirichlet(labels, M, setting, seed)


@settings(max_examples=300, deadline=None)
@given(labellings(), st.integers(1, 9), st.integers(1, 7), st.one_of(st.none(), ALPHAS), SEEDS)
def test_owned_request_is_met_or_refused(labels: np.ndarray, M: int, C: int, alpha: float | None, seed: int) -> None:
    """quantity (alpha is None) and exdir: accepted requests are met, impossible ones refused with the numbers."""

    def attempt() -> Partition:
        return quantity(labels, M, C, seed) if alpha is None else exdir(labels, M, C, alpha, seed)

    sizes = np.bincount(labels)
    classes = len(sizes)
    if len(labels) < M:
        with pytest.raises(ValueError, match=f"M = {M} clients for n = {len(labels)} samples"):
            attempt()
    elif classes < C:
        with pytest.raises(ValueError, match=f"C = {C} classes a client out of {classes} classes"):
            attempt()
    elif classes > M * C:
        with pytest.raises(ValueError, match=re.escape(f"M * C = {M} * {C} = {M * C} < {classes} classes")):
            attempt()
    else:
        try:
            partition = attempt()
        except ValueError as error:
            found = re.search(r"class (\d+) has (\d+) samples for its (\d+) owners", str(error))
            assert found, error
            c, samples, owners = map(int, found.groups())
            assert samples == sizes[c] and samples < owners <= M
        else:
            check_owned(partition, labels, M, C)


@settings(max_examples=100, deadline=None)
@given(labellings(smallest=9), st.integers(1, 9), st.integers(1, 6), ALPHAS, SEEDS)
def test_owned_request_with_enough_samples_is_never_refused(
    labels: np.ndarray, M: int, C: int, alpha: float, seed: int
) -> None:
    classes = int(labels.max()) + 1
    C = min(max(C, -(-classes // M)), classes)
    M = max(M, -(-classes // C))  # M * C >= classes, and every class has at least 9 >= M samples
    check_owned(quantity(labels, M, C, seed), labels, M, C)
    check_owned(exdir(labels, M, C, alpha, seed), labels, M, C)


LABELS, MORE = np.arange(12) % 4, np.arange(200) % 4


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: iid(LABELS, 0, 0), "M = 0: expected a number of clients >= 1"),
        (lambda: shards(LABELS, -1, 2, 0), "M = -1: expected a number of clients >= 1"),
        (lambda: shards(LABELS, 4, 0, 0), "shards_per_client = 0: expected a whole number >= 1"),
        (lambda: dirichlet(LABELS, 0, 1.0, 0), "M = 0: expected a number of clients >= 1"),
        (lambda: dirichlet(LABELS, 2, 0.0, 0), "alpha = 0.0: expected a finite number > 0"),
        (lambda: dirichlet(LABELS, 2, -1.0, 0), "alpha = -1.0"),
        (lambda: dirichlet(LABELS, 2, float("nan"), 0), "alpha = nan"),
        (lambda: dirichlet(LABELS, 2, float("inf"), 0), "alpha = inf"),
        (lambda: dirichlet(LABELS, 2, 1e308, 0), "alpha * M finite"),
        (lambda: exdir(LABELS, 4, 2, 0.0, 0), "alpha = 0.0"),
        (lambda: exdir(LABELS, 4, 2, float("nan"), 0), "alpha = nan"),
        (lambda: exdir(LABELS, 4, 0, 1.0, 0), "C = 0: expected a number of classes a client >= 1"),
        (lambda: quantity(LABELS, 4, 0, 0), "C = 0: expected a number of classes a client >= 1"),
        (lambda: quantity(LABELS, 4, 4, 0), "Quantity(4), 4 clients, seed 0: class 0 has 3 samples for its 4 owners"),
        (
            lambda: exdir(LABELS, 4, 4, 1.0, 0),
            "ExDir(4, 1.0), 4 clients, seed 0: class 0 has 3 samples for its 4 owners",
        ),
        (lambda: dirichlet_capped(MORE, 19, 0.01, 0), "in 1000 attempts some client had fewer than 10 samples"),
        (lambda: exdir_capped(MORE, 2, 1, 1.0, 0), "in 1000 attempts some class had fewer than 1 owners"),
        (lambda: exdir_capped(MORE, 4, 9, 1.0, 0), "C = 9 classes a client out of 4 classes"),
        (lambda: quantity_in_turn(MORE, 3, 1, 0), "C = 1 of 4 classes for M = 3 clients; expected C <= classes <= M"),
        (lambda: dirichlet_equal(MORE, 4, -1.0, 0), "alpha = -1.0"),
        (lambda: dirichlet_equal(MORE, 201, 1.0, 0), "M = 201 clients for n = 200 samples"),
        (lambda: iid(LABELS[:0], 1, 0), "shape (0,); expected an integer array of shape (n,), n >= 1"),
        (lambda: iid(LABELS.reshape(3, 4), 1, 0), "shape (3, 4)"),
        (lambda: iid(LABELS.astype(float), 1, 0), "float64 array"),
        (lambda: iid(LABELS - 1, 1, 0), "the smallest label is -1"),
        (lambda: iid([0, 1], 1, 0), "labels are a list"),  # type: ignore[arg-type]
        (lambda: iid(LABELS, 3, 0).counts(LABELS[1:]), "11 labels passed, expected 12"),
        (lambda: Partition((np.array([0, 2]), np.array([2, 3])), "mine"), "mine: the clients' samples are not each of"),
        (lambda: Partition((np.array([2, 0]), np.array([1, 3])), "mine"), "mine: a client's samples are not in incr"),
    ],
)
def test_impossible_request_is_refused_with_its_numbers(attempt: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        attempt()  # type: ignore[operator]


METHODS = {
    "IID, 5 clients, seed {}": lambda seed: iid(MNIST[::50], 5, seed),
    "Shards(2), 5 clients, seed {}": lambda seed: shards(MNIST[::50], 5, 2, seed),
    "Dir(0.5), 5 clients, seed {}": lambda seed: dirichlet(MNIST[::50], 5, 0.5, seed),
    "Quantity(3), 5 clients, seed {}": lambda seed: quantity(MNIST[::50], 5, 3, seed),
    "ExDir(3, 0.5), 5 clients, seed {}": lambda seed: exdir(MNIST[::50], 5, 3, 0.5, seed),
}


@pytest.mark.parametrize("name", METHODS)
def test_same_seed_same_partition_and_no_global_state(name: str) -> None:
    np.random.seed(0)
    first = METHODS[name](7)
    np.random.seed(1)
    before = np.random.get_state()[1].copy()  # type: ignore[index]
    again, other = METHODS[name](7), METHODS[name](8)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # type: ignore[index]
    assert all(np.array_equal(a, b) for a, b in zip(first.clients, again.clients, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first.clients, other.clients, strict=True))
    assert first.method == name.format(7) and other.method == name.format(8)
    with pytest.raises(ValueError):
        METHODS[name](None)  # no seed from the operating system


def test_one_client_many_clients() -> None:
    assert exdir(LABELS, 1, 4, 1.0, 0).clients[0].tolist() == list(range(12))  # one client owns everything
    big = exdir(MNIST, 500, 2, 10.0, 0)  # the paper's setting for 500 clients
    check_owned(big, MNIST, 500, 2)


def test_shards_of_a_divisible_set_are_whole() -> None:
    labels = np.repeat(np.arange(10), 60)  # McMahan et al.: 2 shards a client, at most 2 labels a client
    counts = shards(labels, 100, 2, 0).counts(labels)
    assert (counts.sum(axis=0) == 6).all() and ((counts > 0).sum(axis=0) <= 2).all()


def test_extreme_concentration_still_leaves_each_owner_a_sample() -> None:
    counts = exdir(np.zeros(100, dtype=int), 10, 1, 1e-9, 0).counts(np.zeros(100, dtype=int))
    assert sorted(counts[0]) == [1] * 9 + [91]
    counts = dirichlet(np.zeros(10, dtype=int), 10, 1e-9, 0).counts(np.zeros(10, dtype=int))
    assert (counts == 1).all()


def moments_agree(values: np.ndarray, n: int, alpha: float, comparisons: int) -> bool:
    """Do independent draws of p_{c,m} have mean 1/n and variance (1/n)(1-1/n)/(alpha n + 1), both to within chance?

    The standard errors are exact: p_{c,m} ~ Beta(alpha, (n - 1) alpha), whose fourth moment is known.
    """
    mean, variance = 1 / n, (1 / n) * (1 - 1 / n) / (alpha * n + 1)
    fourth = (3 + float(beta.stats(alpha, (n - 1) * alpha, moments="k"))) * variance**2
    z = norm.isf(ERROR / (2 * comparisons))
    deviation = values - mean
    return bool(
        abs(deviation.mean()) <= z * np.sqrt(variance / len(values))
        and abs((deviation**2).mean() - variance) <= z * np.sqrt((fourth - variance**2) / len(values))
    )


def test_moments_of_the_proportions() -> None:
    """sfl.exdir: p_{c,m} has mean 1/n and variance (1/n)(1-1/n)/(alpha n+1) for n owners; confidence 1 - ERROR.

    One owner a class and seed (the owners of one class are not independent), the first or the last in turn.
    """
    samples: dict[tuple[float, int], np.ndarray] = {}
    for alpha in (0.3, 1.0, 10.0):
        drawn: dict[int, list[float]] = {}
        for seed in range(2000):
            partition = exdir(LABELS.repeat(3), 6, 2, alpha, seed)
            assert partition.owners is not None and partition.proportions is not None
            for q, p in zip(partition.owners, partition.proportions, strict=True):
                drawn.setdefault(int(q.sum()), []).append(p[q][-(seed % 2)])
        samples |= {(alpha, n): np.array(drawn[n]) for n in (2, 3, 4)}
    comparisons = 2 * len(samples)
    assert min(map(len, samples.values())) > 1000
    for (alpha, n), values in samples.items():
        assert moments_agree(values, n, alpha, comparisons), (alpha, n)
        assert not moments_agree(values, n + 1, alpha, comparisons)
        assert not moments_agree(values, n, 1.5 * alpha, comparisons)
        assert not moments_agree(values, n, alpha / 1.5, comparisons)


def test_moments_of_the_dirichlet_baseline() -> None:
    """The same with every client an owner; confidence 1 - ERROR."""
    for alpha in (0.5, 5.0):
        drawn = [dirichlet(LABELS, 5, alpha, seed).proportions[:, seed % 5] for seed in range(1000)]  # type: ignore[index]
        assert moments_agree(np.concatenate(drawn), 5, alpha, comparisons=4)
        assert not moments_agree(np.concatenate(drawn), 5, 1.5 * alpha, comparisons=4)


@pytest.mark.parametrize(("classes", "M", "C"), [(5, 3, 2), (6, 6, 1), (4, 5, 2), (7, 3, 3)])
def test_each_client_owns_each_class_equally_often(classes: int, M: int, C: int) -> None:
    """Repair favours no client and no class: P(client m owns class c) = C / classes; confidence 1 - ERROR."""
    labels, seeds = np.repeat(np.arange(classes), M), range(1500)
    often = np.mean([quantity(labels, M, C, seed).owners for seed in seeds], axis=0)  # type: ignore[arg-type]
    chance = C / classes
    tolerance = norm.isf(ERROR / (2 * classes * M)) * np.sqrt(chance * (1 - chance) / len(seeds))
    assert np.abs(often - chance).max() <= tolerance
    assert tolerance < chance / 3  # sharp enough to see a client or class that is favoured by a third


def test_the_odd_sample_goes_to_anyone() -> None:
    """Three samples between two owners: either has two, with probability 1/2; confidence 1 - ERROR."""
    labels = np.zeros(3, dtype=int)
    first = np.array([len(quantity(labels, 2, 1, seed).clients[0]) for seed in range(1000)])
    assert set(first) == {1, 2}
    assert abs((first == 2).mean() - 0.5) <= norm.isf(ERROR / 2) * 0.5 / np.sqrt(len(first))


EQUALLY = {
    "iid": lambda labels, seed: iid(labels, 2, seed),
    "dirichlet": lambda labels, seed: dirichlet(labels, 2, 1.0, seed),
    "quantity": lambda labels, seed: quantity(labels, 2, 2, seed),
    "exdir": lambda labels, seed: exdir(labels, 2, 2, 1.0, seed),
}


@pytest.mark.parametrize("deal", EQUALLY.values(), ids=EQUALLY)
def test_each_sample_is_dealt_to_each_client_equally_often(deal: Callable[..., Partition]) -> None:
    """Which samples of a class a client gets is random; confidence 1 - ERROR."""
    labels, seeds = np.arange(8) % 2, range(1000)
    first = np.mean([np.isin(np.arange(8), deal(labels, seed).clients[0]) for seed in seeds], axis=0)
    tolerance = norm.isf(ERROR / (2 * len(labels))) * 0.5 / np.sqrt(len(seeds))
    assert np.abs(first - 0.5).max() <= tolerance


# ------------------------------------------------------------------------------------------------ as codes deal out


@given(labellings(), st.integers(1, 30), ALPHAS, SEEDS)
def test_equal_sizes(labels: np.ndarray, M: int, alpha: float, seed: int) -> None:
    M = min(M, len(labels))
    partition = dirichlet_equal(labels, M, alpha, seed)
    sizes = check_partition(partition, labels, M).sum(axis=0)
    assert sizes.max() - sizes.min() <= 1
    again = dirichlet_equal(labels, M, alpha, seed)
    assert all((a == b).all() for a, b in zip(partition.clients, again.clients, strict=True))


@pytest.mark.parametrize("alpha", [0.1, 0.6, 6.0])
def test_the_shares_of_equal_sizes_are_those_of_dirichlet(alpha: float) -> None:
    """Var q = (C - 1) / (C^2 (C alpha + 1)), less what the last turns take away: within 30 %, which tells alphas apart."""
    labels = np.arange(10_000) % 10
    shares = np.concatenate(
        [dirichlet_equal(labels, 50, alpha, seed).counts(labels) / 200 for seed in range(20)], axis=1
    )

    def variance(alpha: float) -> float:
        return 9 / (100 * (10 * alpha + 1))

    own = float(shares.var()) - (1 / 200) * float((shares * (1 - shares)).mean())  # less the noise of counting
    assert 0.7 < own / variance(alpha) < 1.05
    assert not 0.7 < own / variance(alpha / 2) < 1.05


def test_capped_partitions() -> None:
    """Everyone has 10; nobody who had n / M samples got another class."""
    labels = np.arange(3000) % 10
    for partition in (dirichlet_capped(labels, 30, 0.3, 3), exdir_capped(labels, 30, 2, 10.0, 3)):
        counts = check_partition(partition, labels, 30)
        assert counts.sum(axis=0).min() >= 10
        for c in range(1, 10):
            full = counts[:c].sum(axis=0) >= 100
            last = partition.owners[c].nonzero()[0][-1]
            assert (counts[c, full & (np.arange(30) != last)] == 0).all()
    assert (dirichlet_capped(labels, 30, 0.3, 3).counts(labels)[:8].sum(axis=0) >= 100).any()  # so something is tested
    assert ((counts > 0).sum(axis=0) <= 2).all() and (counts[~partition.owners] == 0).all()
    uncapped = dirichlet(labels, 30, 0.3, 3).counts(labels)
    assert any((uncapped[c, uncapped[:c].sum(axis=0) >= 100] > 0).any() for c in range(1, 10))


def test_classes_in_turn() -> None:
    labels = np.arange(3000) % 10
    partition = quantity_in_turn(labels, 30, 3, 0)
    check_owned(partition, labels, 30, 3)
    assert (partition.owners.sum(axis=1) == 9).all()
    assert (quantity(labels, 30, 3, 0).owners.sum(axis=1) != 9).any()
    assert (partition.owners == quantity_in_turn(labels, 30, 3, 1).owners).all()
