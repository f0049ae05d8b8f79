"""The rules, best constants and means over samples in Coq: what it accepts, what this rests on, and what it refuses."""

import inspect
import random
import re
import subprocess
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy
from sympy import Rational

from fedtheory import coq
from fedtheory.bounds import worst_cases
from fedtheory.brackets import needed
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import enumerations, every_lemma, every_record, rules, scenes, sequences, squares
from fedtheory.theory.proofs.library import FILES, against, prepared
from fedtheory.theory.proofs.tight import Bracket, GramInstance, Programme, quadratic
from fedtheory.theory.sfl.checks.samples import lemmas
from fedtheory.theory.statement import Bound
from tests.theory.coq_files import AXIOMS, TEXTS, needs_coq

LIBRARY = {file.name: file.read_text() for file in FILES}
RULES = LIBRARY["rules.v"]
x, y, f = sympy.symbols("x y f")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("library")
    prepared(found)
    return found


def accepts(folder, prelude, lemma):
    return against(f"{prelude}\n{lemma}", folder / "some.v") == ""


# why: the check computes to false; the claim, or a condition, is another one; no linear combination of what is known
_WHY = re.compile(r'expected to have type\s+"(proves|given|0 <=)|Unable to unify|Cannot find witness')


def refuses(folder, prelude, lemma):
    return bool(_WHY.search(against(f"{prelude}\n{lemma}", folder / "some.v")))


# Rules


def test_every_rule_with_a_proof_is_named_by_a_lemma():
    named = set(re.findall(r"\b[A-Z_]{4,}\b", " ".join(re.findall(r"\(\*(.*?)\*\)", RULES, re.DOTALL))))
    proved = {
        name
        for name, rule in vars(rules).items()
        if isinstance(rule, rules.Rule) and rule.prove.__name__ != "_means"
    }  # fmt: skip
    assert len(proved) > 40 and not proved - named


def test_every_way_from_a_round_to_a_run_is_named_by_a_lemma():
    no_inferences = {"at_start"}  # it only writes out a quantity
    public = {
        name
        for name, found in vars(sequences).items()
        if inspect.isfunction(found) and found.__module__ == sequences.__name__ and not name.startswith("_")
    }
    assert len(public) > 8
    assert {name for name in public - no_inferences if not re.search(rf"\(\* [^*]*\b{name}\b", RULES)} == set()


@pytest.mark.parametrize("name", [*LIBRARY, *TEXTS])
def test_nothing_is_admitted(name):
    """A hypothesis of a section is one of its lemmas, when the section ends; outside it would be an axiom."""
    text, depth = (LIBRARY | TEXTS)[name], 0
    assert not re.search(r"\b(Admitted|admit|Axioms?|Parameters?|Conjecture|Abort)\b", text)
    for line in text.splitlines():
        depth += line.startswith("Section ") - line.startswith("End ")
        assert depth > 0 or not re.match(r"(Hypothes|Variable|Context)", line), line


@needs_coq
@pytest.mark.slow
def test_all_lemmas_rest_on_the_axioms_of_the_real_numbers_only(folder):
    modules = {name.removesuffix(".v"): text for name, text in LIBRARY.items()}
    every = [
        f"@{m}.{one}" for m, text in modules.items() for one in re.findall(r"^(?:Lemma|Theorem) (\w+)", text, re.M)
    ]
    assert len(every) > 150
    text = f"Require Import {' '.join(modules)}.\nDefinition every := ({', '.join(every)}).\nPrint Assumptions every.\n"
    found = set(re.findall(r"^([\w.]+)\s*:", printed(folder, text), re.MULTILINE)) - {"Axioms"}
    assert found and found <= {*AXIOMS, "Classical_Prop.classic"}


def printed(folder, text):
    """What coqc prints for a file."""
    (folder / "printed.v").write_text(text)
    done = subprocess.run(["coqc", "-Q", ".", "", "printed.v"], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


# A number in the statement of a lemma, and another one
CHANGED = {
    "sum_of_squares": ("(2 * INR n - 1) / 6.\nProof. induction", "(2 * INR n - 1) / 5.\nProof. induction"),
    "young": ("2 * ip u v <= s * sq u + sq v / s.", "3 * ip u v <= s * sq u + sq v / s."),
    "cauchy_schwarz": ("ip u v ^ 2 <= sq u * sq v.", "2 * ip u v ^ 2 <= sq u * sq v."),
    "jensen": ("<= INR n * sum n (fun i => sq (v i)).\nProof.\n  induction n; [simpl; products",
               "<= (INR n - 1) * sum n (fun i => sq (v i)).\nProof.\n  induction n; [simpl; products"),
    "second_moment": ("= sum n (fun i => sq (v i)) - INR n * sq m.", "= sum n (fun i => sq (v i)) + INR n * sq m."),
    "successive": ("-> sq (vsum n v) = sum n (fun i => sq (v i)).\nProof.\n  induction",
                   "-> sq (vsum n v) = 2 * sum n (fun i => sq (v i)).\nProof.\n  induction"),
    "sums_before": ("INR n * (INR n - 1) / 2 * sum n (fun t => sq (v t)).",
                    "INR n * (INR n - 1) / 3 * sum n (fun t => sq (v t))."),
    "sample_of": ("= INR s * (INR m - INR s) / (INR m - 1) * (sum m", "= INR s * (INR m - INR s) / INR m * (sum m"),
    "partial_sums": ("* (2 * INR k * INR s - INR k - 3) / 6", "* (2 * INR k * INR s - INR k - 2) / 6"),
    "cocoercive": ("+ sq (sub (g y) (g x)) / (2 * L).", "+ sq (sub (g y) (g x)) / L."),
    "small_gradient": ("sq (g x) <= 2 * L * (f x - lowest).", "sq (g x) <= 1 * L * (f x - lowest)."),
    "decayed": ("(1 - u) ^ n <= exp (- u * INR n).", "(1 - u) ^ n <= exp (- 2 * u * INR n)."),
    "averaged": ("sum n g / INR n <= (a O / INR n + c) / P.", "sum n g / INR n <= (a O / INR n + c) / (2 * P)."),
    "telescope": ("/ sum n w <= (a O / sum n w + c) / P.", "/ sum n w <= (a O / sum n w - c) / P."),
    "contracted": ("q <= times * u * start * exp (- u * INR n) + rest.",
                   "q <= u * start * exp (- u * INR n) + rest."),
    "discounted_sums": ("<= 1 / (1 - lam) * sum n g.", "<= 1 * sum n g."),
}  # fmt: skip


@needs_coq
@pytest.mark.slow
def test_another_number_in_a_rule_is_refused(tmp_path):
    for name, (number, other) in CHANGED.items():
        assert RULES.count(number) == 1, name
        says = against(RULES.replace(number, other), tmp_path / "rules.v")
        line = int(re.search(r"line (\d+)", says)[1])
        before = "\n".join(RULES.splitlines()[:line])
        assert re.findall(r"^Lemma (\w+)", before, re.MULTILINE)[-1] == name, says


# Best constants


def brackets(paper, count):
    """Some of a paper's brackets, with their programmes."""
    kept = scenes.kept(paper)
    known = {scenes.key(one): one for _, one in needed(paper)}
    keys = sorted(key for key in known if isinstance(kept.get(key), dict) and kept[key]["multipliers"])
    return [(known[key], scenes.read(kept[key], known[key])) for key in random.Random(1).sample(keys, count)]


def small():
    """||x||^2 + f where <x, y> >= ||x||^2 / 2 and f <= 0: at most 4 ||y||^2."""
    conditions = {"angle": quadratic(x * y - x**2 / 2), "value": quadratic(-f)}
    return Programme(quadratic(x**2 + f), quadratic(y**2), conditions), proved(4, angle=4, value=1)


def proved(upper, **multipliers):
    """A bracket without an instance."""
    nothing = GramInstance((), (), {})
    return Bracket(Fraction(0), Fraction(upper), nothing, {name: Fraction(m) for name, m in multipliers.items()})


def test_a_bracket_is_stated_with_its_conditions_written_out():
    programme, bracket = small()
    assert squares.statement(programme, bracket.upper, list(programme.conditions)).splitlines() == [
        "forall (V : Inner) (v_x v_y : V) (n_f : R),",
        "  0 <= -1 / 2 * ip v_x v_x + 1 * ip v_x v_y ->",
        "  0 <= -1 * n_f ->",
        "  1 * ip v_x v_x + 1 * n_f <= 4 * (1 * ip v_y v_y)",
    ]


@needs_coq
@pytest.mark.slow
def test_a_small_bracket_is_accepted_and_refused_with_another_number(folder):
    programme, bracket = small()
    lemma = squares.lemma("small", programme, bracket)
    assert accepts(folder, squares.PRELUDE, lemma)
    for other in (
        proved(Fraction(39, 10), angle=4, value=1),
        proved(4, angle=Fraction(41, 10), value=1),
        proved(4, angle=4, value=2),
        proved(4, angle=4),
    ):
        assert refuses(folder, squares.PRELUDE, squares.lemma("small", programme, other))
    with_negative = Programme(quadratic(-f), quadratic(y**2), {"value": quadratic(f)})
    assert refuses(folder, squares.PRELUDE, squares.lemma("small", with_negative, proved(1, value=-1)))
    assert refuses(folder, squares.PRELUDE, lemma.replace("4 * (1 * ip v_y v_y)", "3 * (1 * ip v_y v_y)"))
    assert refuses(folder, squares.PRELUDE, lemma.replace("0 <= -1 * n_f", "0 <= 1 * n_f"))


def for_every_count(entry, term="all terms"):
    """The family and the certificate of a constant on file."""
    told = {term: every_record.kept(entry.partition(".")[0])[entry][term]}
    (one,) = every_record.read(entry, told, worst_cases.rounds(entry.partition(".")[0]))
    return one.search.above, one.proof


FORMULA = "fedcom.lemmaD1.corrected tau=1 L=1 q=1 eta=1/2 sigma=0"  # (M + 1)/(M + 2)


def test_a_constant_for_every_number_of_clients_is_stated_with_m_as_a_variable():
    text = every_lemma.lemma("formula", *for_every_count(FORMULA))
    assert "(M : R),\n  2 <= M ->\n  0 <= " in text and "<= (((1) * M + (1)) / (((1) * M + (2)))) * (" in text
    assert " M " not in every_lemma.lemma(
        "steady", *for_every_count("fedbcgd.lemma6.corrected T=1 beta=1 eta_tilde=1 sigma=0 K=M")
    )


def test_a_constant_whose_polynomials_have_a_root_near_has_no_lemma():
    for name in coq.WITHOUT_FOR_EVERY_COUNT:
        with pytest.raises(ValueError, match="has no root near"):
            every_lemma.lemma("none", *for_every_count(*name.split(": ")))


@needs_coq
@pytest.mark.slow
def test_constants_for_every_number_of_clients_are_accepted_and_refused_with_other_numbers(folder):
    family, found = for_every_count(FORMULA)
    sampled = for_every_count("fedbat.eq64.corrected K=2 tau=1 L=1 q=1/2 sigma=0 eta_t=1")  # a pivot is 0 for M = 2
    for own in ((family, found), sampled):
        assert accepts(folder, squares.PRELUDE, every_lemma.lemma("own", *own))
    lemma = every_lemma.lemma("own", family, found)
    for right, wrong in (("2 <= M", "-2 <= M"), ("0 <= (-1)", "0 <= (-2)"), ("<= (((1) * M + (1))", "<= (((1) * M)")):
        assert right in lemma and refuses(folder, squares.PRELUDE, lemma.replace(right, wrong))
    more = {name: x * 2 for name, x in found.multipliers.items()}
    for other in (replace(found, constant=found.constant / 2), replace(found, multipliers=more)):
        with pytest.raises(ValueError, match="expected one that is >= 0"):
            every_lemma.lemma("own", family, other)


@needs_coq
@pytest.mark.slow
def test_roots_that_are_told_are_checked(folder):
    """||x_1 + ... + x_9||^2 <= 9 (||x_1||^2 + ... + ||x_9||^2), and with 19/2, where the form is positive definite."""
    xs = sympy.symbols("x_0:9")
    amount = quadratic(sympy.Add(*(v**2 for v in xs)))
    programme = Programme(quadratic((sympy.Add(*xs) ** 2).expand()), amount, {})
    lemma = squares.lemma("nine", programme, proved(Fraction(19, 2)))
    assert "map inject_Z" in lemma
    assert accepts(folder, squares.PRELUDE, lemma)
    again = squares.lemma("nine", programme, proved(9))  # singular: left to elimination
    assert "map inject_Z" not in again
    assert accepts(folder, squares.PRELUDE, again)
    smaller = lemma.replace("<= 19 / 2 *", "<= 17 / 2 *").replace("(19 # 2)%Q", "(17 # 2)%Q")
    assert refuses(folder, squares.PRELUDE, smaller)
    assert refuses(folder, squares.PRELUDE, re.sub(r"\(1 # (\d+)\)%Q \(map", r"(2 # \1)%Q (map", lemma))
    assert refuses(folder, squares.PRELUDE, re.sub(r"\(1 # (\d+)\)%Q \(map", r"(-1 # \1)%Q (map", lemma))


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("paper", catalogue.names())
def test_brackets_are_accepted_and_refused_with_a_smaller_constant(folder, paper):
    accepted, refused = [], 0
    for number, (programme, bracket) in enumerate(brackets(paper, 8)):
        accepted.append(squares.lemma(f"bracket_{number}", programme, bracket))
        if number < 2:
            low = bracket.lower - Fraction(1, 1000)
            text = squares.lemma("too_small", programme, replace(bracket, upper=low))
            refused += refuses(folder, squares.PRELUDE, text)
    assert accepts(folder, squares.PRELUDE, "\n".join(accepted))
    assert refused == 2


# Means over samples


@needs_coq
@pytest.mark.slow
def test_means_over_samples_are_what_the_paper_says(folder):
    found = lemmas()
    assert len(found) > 150
    assert accepts(folder, enumerations.PRELUDE, "\n".join(found.values()))


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize(
    ("id_", "mean", "units", "at", "other"),
    [
        ("lemma3.swr", enumerations.of_mean(3, 2, True), "n", {"n": 3, "s": 2}, Rational(99, 100)),
        ("lemma3.swor", enumerations.of_mean(4, 2, False), "n", {"n": 4, "s": 2}, Rational(101, 100)),
        ("lemma3.cov", enumerations.of_pair(4), "n", {"n": 4}, Rational(-1)),
        ("lemma4.term", enumerations.of_step(4, 2, 3, 1), "M", {"M": 4, "K": 2, "m": 3, "k": 1}, Rational(99, 100)),
        ("lemma4", enumerations.of_steps(3, 2, 2), "M", {"M": 3, "S": 2, "K": 2}, Rational(1, 4)),
    ],
    ids=["swr", "swor", "cov", "term", "sums"],
)
def test_another_number_in_a_mean_is_refused(folder, id_, mean, units, at, other):
    statement = catalogue.find(f"sfl.{id_}")
    assert isinstance(statement.claim, Bound)
    printed_ = enumerations.lemma("printed", mean, units, statement, at)
    changed = enumerations.lemma("changed", mean, units, statement.with_claim(statement.claim.scaled(other)), at)
    assert accepts(folder, enumerations.PRELUDE, printed_)
    assert refuses(folder, enumerations.PRELUDE, changed)
