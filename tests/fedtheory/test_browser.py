"""The site in a real browser: its numbers are those of `bounds.evaluate`, sliders, filters and links do what they say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from fedtheory.bounds.browser import curves, following, sliders, with_tied
from fedtheory.bounds.evaluation import BoundValue, evaluate, has_terms
from fedtheory.bounds.sfl import ARENAS
from fedtheory.bounds.trials.arena import confront, constants_for
from fedtheory.drawing import committed
from fedtheory.figures.gallery import DRAWN
from fedtheory.simulations import expectation
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.site import build, search
from fedtheory.store import Store
from fedtheory.tasks import Workshop
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Evidence, Statement, Status, Verdict
from fedtheory.verification import Checked, verify
from tests.bounds.points import random_points

VERIFIED = ("sfl.lemma9", "sfl.lemma4.sum", "sfl.eq54")  # put to their evidence for these tests
MEASURED = [a for a in ARENAS if a.statement == "sfl.eq54"]  # by exact expectation and by seeds
BOUNDS = [s for s in catalogue.statements() if has_terms(s)]
STATEMENTS = ("sfl.lemma9", "fedbcgd.alg3")  # with evidence; with an algorithm beside its corrected form
EVERY = (
    "index",
    *catalogue.names(),
    "sfl.report",
    *STATEMENTS,
    "explorer",
    "glossary",
    "sharper",
    "winners",
    "networks",
)  # pages
THEOREM = "sfl.thm1.strongly_convex"


@pytest.fixture(scope="module")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, most of its statements not put to any evidence."""
    workshop = Workshop(Store())
    known = {c.statement.id: c for c in verify(VERIFIED, workshop=workshop)}
    out: Path = tmp_path_factory.mktemp("site")
    drawn = {path.stem: committed(path.stem) for path in DRAWN.glob("*.csv")}
    build(out, [known.get(s.id, Checked(s, ())) for s in catalogue.statements()], drawn, workshop=workshop)
    return out


@contextmanager
def opened(browser: Browser) -> Iterator[Page]:
    """A page that may neither fail nor reach for the network."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("request", lambda r: wrong.append(r.url) if not r.url.startswith(("file:", "data:", "blob:")) else None)
    yield page
    context.close()
    assert wrong == []


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with opened(browser) as fresh:
        yield fresh


@pytest.fixture(scope="module")
def explorer(browser: Browser, site: Path) -> Iterator[Page]:
    """The explorer, opened once."""
    with opened(browser) as page:
        page.goto((site / "explorer.html").as_uri())
        page.wait_for_function("window.explorer !== undefined")
        yield page


def explore(explorer: Page, id_: str, **more: Any) -> None:
    """Go to a bound, as a link does."""
    explorer.evaluate(
        "hash => { history.replaceState(null, '', hash); dispatchEvent(new HashChangeEvent('hashchange')) }",
        "#" + urlencode({"id": id_, **more}),
    )


def assert_close(found: Any, expected: Any, told: str) -> None:
    np.testing.assert_allclose(np.array(found, float), np.array(expected, float), rtol=1e-9, err_msg=told)


def numbers_of(text: list[str]) -> list[float]:
    """JavaScript's numbers, as text."""
    return [float(t.replace("Infinity", "inf")) for t in text]


def numbers_in(value: BoundValue) -> list[float]:
    """The terms, and the value where there is one."""
    return [*value.terms.values(), *([] if value.value is None else [value.value])]


def test_every_bound_is_computed_as_python_computes_it(explorer: Page) -> None:
    explore(explorer, THEOREM)
    points = {s.id: random_points(s, 6, seed) for seed, s in enumerate(BOUNDS)}
    found = explorer.evaluate(
        """points => Object.fromEntries(Object.entries(points).map(([id, values]) => [id, values.map(v => {
            const e = explorer.evaluate(id, v);
            const numbers = e.value === null ? e.terms : [...e.terms, e.value];
            return [numbers.map(String), e.conditions.filter(c => !c.holds).map(c => c.condition.text)];
        })]))""",
        points,
    )
    assert len(found) == len(BOUNDS) > 300
    outside = 0
    for s in BOUNDS:
        for values, (numbers, failing) in zip(points[s.id], found[s.id], strict=True):
            ours = evaluate(s.id, strict=False, **with_tied(s, values))
            assert_close(numbers_of(numbers), numbers_in(ours), f"{s.id} at {values}")
            assert failing == [v.split(" is violated")[0] for v in ours.violations], (s.id, values)
            outside += bool(failing)
    assert 100 < outside < 6 * len(BOUNDS) - 100  # both sides of the conditions were seen


@pytest.mark.parametrize("fifth", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, 5))])
def test_every_bound_is_shown_with_these_numbers(explorer: Page, fifth: int) -> None:
    explore(explorer, THEOREM)
    for seed, s in list(enumerate(BOUNDS))[fifth::5]:
        (values,) = random_points(s, 1, 1000 + seed)
        explore(explorer, s.id, over=next(iter(values)), **{f"_{name}": x for name, x in values.items()})
        rows = explorer.evaluate("[...document.querySelectorAll('#terms [data-value]')].map(e => e.dataset.value)")
        failing = explorer.evaluate(
            "[...document.querySelectorAll('#conditions [data-fails]')].map(e => e.dataset.fails)"
        )
        ours = evaluate(s.id, strict=False, **with_tied(s, values))
        assert_close(numbers_of(rows), numbers_in(ours), s.id)
        assert failing == [v.split(" is violated")[0] for v in ours.violations], s.id


def curve(explorer: Page, label: str) -> list[tuple[float, float]]:
    """The points of a line of the chart."""
    points = explorer.evaluate(
        "label => explorer.chart().data.datasets.find(d => d.label === label).data.map(p => [p.x, p.y])", label
    )
    return [tuple(p) for p in points]


def labels(explorer: Page) -> list[str]:
    """The lines of the chart."""
    return explorer.evaluate("explorer.chart().data.datasets.map(d => d.label)")


def test_a_definition_is_drawn_as_what_it_defines(explorer: Page) -> None:
    """The exponent is a minimum of two terms: neither stacked nor added."""
    symbols = {"_M": 51, "_K": 7, "_N": 2, "_alpha": 1, "_beta": 37.0047, "_mu": 0.134963}
    explore(explorer, "fedbcgd.thm2.strongly_convex.exponent", over="beta", **symbols)
    assert labels(explorer) == ["value", "clients", "condition"]
    expect(explorer.locator("#formula")).to_contain_text("min")
    expect(explorer.locator("#says")).to_contain_text("Value: 2.2513e-5")
    expect(explorer.locator("[data-term=sum]")).to_contain_text("value")
    lines = {label: np.array([y for _, y in curve(explorer, label)]) for label in labels(explorer)}
    assert_close(lines["value"], np.minimum(lines["clients"], lines["condition"]), "the smaller of the two")
    assert (lines["value"] < lines["clients"]).any() and (lines["value"] < lines["condition"]).any()


def test_a_condition_is_drawn_by_its_sides_alone(explorer: Page) -> None:
    """What does not add up has no shares, and cannot be stacked."""
    explore(explorer, "fedcom.cond61", over="eta")
    expect(explorer.locator("#stacked")).to_be_disabled()
    expect(explorer.locator("#terms")).not_to_contain_text("share")
    assert labels(explorer) == ["first", "second"] and explorer.locator("[data-term=sum]").count() == 0
    expect(explorer.locator("#says")).to_contain_text("Parts: first")
    explorer.locator("#chart").hover()
    expect(explorer.locator("#hover")).to_contain_text("second")


def test_a_slider_moves_the_curve_by_keyboard(explorer: Page) -> None:
    explore(explorer, THEOREM, over="R")
    before = curve(explorer, "bound (sum)")
    explorer.locator("#r-sigma").focus()
    for _ in range(30):
        explorer.keyboard.press("ArrowRight")
    explorer.evaluate(
        "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )  # drawn once a frame
    values = explorer.evaluate("explorer.state.values")
    after = curve(explorer, "bound (sum)")
    assert after != before and values["sigma"] > 1
    R = np.array([x for x, _ in after])
    ours = evaluate(THEOREM, strict=False, **{**values, "R": R})
    assert_close([y for _, y in after], ours.value, "the curve")
    assert explorer.evaluate("explorer.chart().$fed.inside") == ours.admissible.tolist()
    assert explorer.locator("#n-sigma").input_value() == f"{values['sigma']:.6g}"


def test_the_keys_of_a_count_go_by_one(explorer: Page) -> None:
    explore(explorer, THEOREM, over="R", _M=10, _K=1)
    for name, keys, value in (("M", ["ArrowRight"] * 3, 13), ("K", ["ArrowUp", "PageUp", "ArrowLeft"], 11)):
        explorer.locator(f"#r-{name}").focus()
        for key in keys:
            explorer.keyboard.press(key)
        assert explorer.evaluate(f"explorer.state.values.{name}") == value
        assert explorer.locator(f"#n-{name}").input_value() == str(value)
        assert explorer.locator(f"#r-{name}").get_attribute("aria-valuetext") == str(value)
    for _ in range(15):
        explorer.keyboard.press("ArrowLeft")
    assert explorer.evaluate("explorer.state.values.K") == 1


def test_the_pointer_reads_every_curve(explorer: Page) -> None:
    explore(explorer, "sfl.eq54")
    explorer.locator("#chart").hover()
    text = explorer.locator("#hover").text_content() or ""
    own = [t.name.replace("_", " ") for t in catalogue.find("sfl.eq54").claim.terms]
    assert all(f"{name} " in text for name in own) and "sfl.eq54.corrected " in text
    x, measured = text.split("measured at ")[1].split(": ")
    run = curve(explorer, next(label for label in labels(explorer) if label.startswith("measured")))
    assert (float(x), float(measured.split(" ")[0])) in [(float(f"{a:.3g}"), float(f"{b:.6g}")) for a, b in run]


def test_on_a_phone_the_chart_keeps_half_of_the_screen(page: Page, site: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto((site / "explorer.html").as_uri() + "#id=sfl.eq54")
    page.wait_for_function("window.explorer !== undefined")
    page.locator("#r-sigma").scroll_into_view_if_needed()
    page.locator("#reset").scroll_into_view_if_needed()
    box = page.locator("#chart").bounding_box()
    assert box is not None and box["y"] >= 0 and box["height"] > 0.45 * 800 and box["width"] > 340


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_can_be_seen_and_the_legend_is_short(explorer: Page, scheme: Any) -> None:
    """Every bound, as it opens: colours against the page by the formula of WCAG, entries of the legend."""
    explorer.emulate_media(color_scheme=scheme)
    explore(explorer, THEOREM)
    found = explorer.evaluate(
        """() => Object.keys(FEDTHEORY.bounds).map(id => {
            history.replaceState(null, "", `#id=${id}`);
            dispatchEvent(new HashChangeEvent("hashchange"));
            const legend = explorer.chart().legend.legendItems.map(item => item.text);
            const lines = explorer.chart().data.datasets;
            return [id, legend, lines.map(d => [d.label, d.borderColor, d.data.some(p => p.y !== null)])];
        })"""
    )
    explorer.emulate_media(color_scheme="light")

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    paper = luminance("#ffffff" if scheme == "light" else "#17181a")
    assert len(found) == len(BOUNDS)
    for id_, legend, lines in found:
        assert len(legend) <= 8 and set(legend) <= {label for label, _, drawn in lines if drawn}, id_
        for label, colour, _ in lines:
            if label not in ("", "99.9 % interval"):
                low, high = sorted((luminance(colour), paper))
                assert (high + 0.05) / (low + 0.05) >= 3, (id_, label)


def test_terms_are_stacked_and_can_be_lines(explorer: Page) -> None:
    explore(explorer, THEOREM, over="R")
    top = curve(explorer, "heterogeneity")  # the last of the terms
    assert_close([y for _, y in top], [y for _, y in curve(explorer, "bound (sum)")], "the stack ends at the sum")
    explorer.locator("#stacked").uncheck()
    values = explorer.evaluate("explorer.state.values")
    lines = curve(explorer, "heterogeneity")
    ours = evaluate(THEOREM, strict=False, **{**values, "R": np.array([x for x, _ in lines])})
    assert_close([y for _, y in lines], ours.terms["heterogeneity"], "a term alone")


def test_a_violated_condition_is_named_and_a_bad_number_refused(explorer: Page) -> None:
    explore(explorer, THEOREM, over="R")
    assert explorer.locator("[data-fails]").count() == 0
    explorer.locator("#n-eta_tilde").fill("0.5")
    explorer.wait_for_selector('[data-fails="eta_tilde <= 1/(6*L)"]')
    expect(explorer.locator("#conditions")).to_contain_text("Outside its conditions: 1 of 3 fail")
    explorer.locator("#n-eta_tilde").fill("-1")
    expect(explorer.locator("#e-eta_tilde")).to_have_text("expected a number above 0; the chart keeps 0.5")
    assert explorer.evaluate("explorer.state.values.eta_tilde") == 0.5
    explorer.locator("#n-K").fill("2.5")
    expect(explorer.locator("#e-K")).to_contain_text("expected a whole number above 0")
    explorer.locator("#n-K").fill("2")
    expect(explorer.locator("#e-K")).to_be_empty()
    explorer.locator("#reset").click()
    assert explorer.locator("[data-fails]").count() == 0


def test_a_second_bound_stands_beside(explorer: Page) -> None:
    explore(explorer, "sfl.eq54", over="R")
    assert (
        explorer.locator("#second option").nth(1).get_attribute("value") == "sfl.eq54.corrected"
    )  # its other form first
    explorer.locator("#second").select_option("sfl.eq54.corrected")
    values = explorer.evaluate("explorer.state.values")
    shown = explorer.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#terms tr[data-term]')].map(r => "
        "[r.dataset.term, r.querySelector('[data-second]')?.dataset.second]))"
    )
    wanted = [s.symbol.name for s in sliders(catalogue.find("sfl.eq54.corrected"))]
    ours = evaluate("sfl.eq54.corrected", strict=False, **{name: values[name] for name in wanted})
    assert_close([float(shown[t]) for t in ours.terms], list(ours.terms.values()), "beside it")
    assert_close(float(shown["sum"]), ours.value, "beside it")
    second = curve(explorer, "sfl.eq54.corrected")
    assert len(second) == len(curve(explorer, "bound (sum)"))
    assert "second=sfl.eq54.corrected" in explorer.url  # a link to just this can be sent


def test_a_refuted_bound_opens_at_its_witness_beside_its_corrected_form(explorer: Page) -> None:
    statement = catalogue.find("sfl.eq54")
    explore(explorer, statement.id)
    assert explorer.locator("#second").input_value() == "sfl.eq54.corrected"
    values = explorer.evaluate("explorer.state.values")
    ((x, measured),) = curve(explorer, "refuted here")
    assert x == values[explorer.evaluate("explorer.state.along")]
    own = [s.symbol.name for s in sliders(statement)]
    ours = evaluate(statement.id, **{name: values[name] for name in own})  # strict: inside its conditions
    assert ours.value is not None and measured > ours.value
    corrected = [s.symbol.name for s in sliders(catalogue.find("sfl.eq54.corrected"))]
    beside = evaluate("sfl.eq54.corrected", strict=False, **{name: values[name] for name in corrected})
    assert beside.value is not None and measured < beside.value
    # it is the farthest point of all runs above the bound, here less than a hundred times
    ratios = []
    for arena in MEASURED:
        data = confront(arena, statement)
        ratios.append(float((data.low / data.bound).where(data.admissible).max()))
    assert measured / ours.value == pytest.approx(max(ratios), rel=1e-4)
    expect(explorer.locator("#witness")).to_contain_text("Refuted by")
    explorer.locator("#n-L").fill("3")  # elsewhere nothing is marked, and a button leads back
    explorer.wait_for_function("!explorer.chart().data.datasets.some(d => d.label === 'refuted here')")
    explorer.locator("#to-witness").click()
    assert "refuted here" in labels(explorer)


def test_a_refuted_bound_without_a_run_says_why(explorer: Page) -> None:
    explore(explorer, "sfl.lemma9")
    expect(explorer.locator("#witness")).to_contain_text("left side 1/72, right side 0")
    expect(explorer.locator("#witness")).to_contain_text("The witness is an exact instance")
    assert explorer.locator("#witness .witness dt").count() > 5
    explore(explorer, THEOREM)
    assert explorer.locator("#witness").is_hidden()


def test_an_order_names_its_unknown_constant(explorer: Page) -> None:
    explore(explorer, "sfl.eq55", over="R")
    expect(explorer.locator("#says")).to_contain_text("The theorem gives an order only: ")
    expect(explorer.locator("#says")).to_contain_text("times an unknown constant")
    assert labels(explorer)[0] == "sum, times an unknown constant"


def test_terms_are_stacked_on_a_linear_axis_and_lines_beside_a_run(explorer: Page) -> None:
    explore(explorer, "sfl.thm1.strongly_convex", over="R")
    assert explorer.locator("#stacked").is_checked() and not explorer.locator("#log").is_checked()
    expect(explorer.locator("#terms")).to_contain_text("share")
    assert explorer.evaluate("explorer.chart().options.scales.y.type") == "linear"
    explore(explorer, "sfl.eq54")
    assert explorer.locator("#log").is_checked() and not explorer.locator("#stacked").is_checked()
    explorer.locator("#stacked").check()
    assert "stacked=1" in explorer.url


def test_measured_curves_are_laid_over_at_the_symbols_of_their_run(explorer: Page) -> None:
    statement = catalogue.find("sfl.eq54")
    explore(explorer, statement.id)
    assert explorer.locator("#curve option").count() == 2 + len(curves(statement))  # none, and one that follows
    explorer.locator("#curve").select_option("0")
    at = confront(MEASURED[0], statement).isel({"eta_tilde": 0})
    label = explorer.evaluate("explorer.chart().data.datasets.map(d => d.label).find(l => l.startsWith('measured'))")
    measured = curve(explorer, label)
    assert [x for x, _ in measured] == at.R.values.tolist()
    np.testing.assert_allclose([y for _, y in measured], at["mean"].values, rtol=1e-5)
    assert_close(
        float(explorer.locator("[data-term=sum] [data-value]").get_attribute("data-value") or ""), at.bound[-1], "sum"
    )
    explorer.locator("#n-L").fill("3")
    expect(explorer.locator("#says")).to_contain_text(
        "The recorded run has other values of L. The run is computed here"
    )
    assert not any(label.startswith("measured") for label in labels(explorer))
    random = next(i for i, c in enumerate(curves(statement)) if c.seeds)
    explorer.locator("#curve").select_option(str(random))
    low, high = curve(explorer, "99.9 % interval"), curve(explorer, "")
    assert all(a <= b for (_, a), (_, b) in zip(low, high, strict=True) if a is not None)


def test_a_run_that_cannot_follow_the_sliders_leaves_the_chart(explorer: Page) -> None:
    """A bound without a run that follows, and values for which there is no problem."""
    explorer.evaluate(
        "{ const bound = FEDTHEORY.bounds['sfl.eq54']; bound.kept = bound.follows; bound.follows = null }"
    )
    explore(explorer, "sfl.eq54", run=0)
    assert any(label.startswith("measured") for label in labels(explorer))
    explorer.locator("#n-L").fill("3")
    expect(explorer.locator("#says")).to_contain_text("The run was made at other values of L, so it is not drawn.")
    assert not any(label.startswith("measured") for label in labels(explorer))
    explorer.evaluate("{ const bound = FEDTHEORY.bounds['sfl.eq54']; bound.follows = bound.kept }")
    explore(explorer, "sfl.eq54", run=-2, _M=4, _S=5)
    expect(explorer.locator("#says")).to_contain_text("There is no run at these values: S is larger than M.")
    assert not any(label.endswith("exact expectation") for label in labels(explorer))


def followed_by(statement: Statement, values: dict[str, float]) -> tuple[Quadratic, SFL | PFL, float, float]:
    """The problem of `follow.js` with these constants, the algorithm, the start, and the ratio of averaging weights."""
    told = following(statement)
    assert told is not None
    v = with_tied(statement, values)
    M, zeta = int(v["M"]), v.get("zeta_star", v.get("zeta", 0.0))
    h = np.array([v["L"], v.get("mu", v["L"] / 10)])
    signs = np.repeat([1.0, -1.0, 0.0], [M // 2, M // 2, M % 2]) * np.sqrt(M / max(1, 2 * (M // 2)))
    problem = Quadratic(np.tile(np.diag(h), (M, 1, 1)), np.outer(signs, [zeta, 0.0]), sigma=v["sigma"])
    start = v["D"] / np.sqrt(2) if "D" in v else np.sqrt(2 * v["A"] / h.sum())
    rate, ratio = (
        float(told[name].subs({s: v[s.name] for s in told[name].free_symbols})) for name in ("rate", "ratio")
    )
    method = {"SFL": SFL, "PFL": PFL}[told["method"]]
    return problem, method(K=int(v["K"]), S=int(v.get("S", M)), eta=rate), float(start), ratio


def test_the_run_that_follows_the_sliders_is_that_of_the_exact_engine(explorer: Page) -> None:
    follow = [s for s in BOUNDS if following(s)]
    assert len(follow) > 20
    rng, points = np.random.default_rng(0), []
    for s in follow:
        free = {x.symbol.name: x.start for x in sliders(s)}
        M, R = int(rng.integers(2, 7)), int(rng.integers(3, 400))
        free |= {
            "M": M,
            "R": R,
            "K": int(rng.integers(1, 6)),
            "sigma": rng.uniform(0, 2),
            "eta_tilde": rng.uniform(0.02, 0.5),
        }
        free |= {
            "L": rng.uniform(0.5, 2),
            "mu": rng.uniform(0.05, 0.4),
            "zeta_star": rng.uniform(0, 2),
            "zeta": rng.uniform(0, 2),
        }
        free |= {"S": int(rng.integers(1, M + 1)), "beta": 0.0, "A": rng.uniform(0.5, 3), "D": rng.uniform(0.5, 3)}
        points.append((s.id, {x.symbol.name: float(free[x.symbol.name]) for x in sliders(s)}))
    found = explorer.evaluate("points => points.map(([id, v]) => explorer.followed(id, v))", points)
    for (id_, values), ours in zip(points, found, strict=True):
        statement, told = catalogue.find(id_), following(catalogue.find(id_))
        problem, method, x0, ratio = followed_by(statement, values)
        own = constants_for(id_, problem, method, x0)
        assert own == pytest.approx({name: with_tied(statement, values)[name] for name in own}, rel=1e-9, abs=1e-9)
        recorded = told["measures"]
        data = expectation(problem, method, rounds=int(values["R"]), x0=x0, record=(recorded,), average=[ratio])
        series = data[recorded].isel(step_size=0).values
        assert_close(ours, series.min() if recorded == "grad_sq" else series[-1], f"{id_} at {values}")


def test_the_search_puts_the_best_first_and_stands_in_the_address(page: Page, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    page.locator("#f-text").fill("lemma9")
    assert shown(page)[0] == "sfl.lemma9"  # before those that only speak of it
    assert len(shown(page)) > 2
    again = page.url
    assert again.endswith("#text=lemma9")
    page.goto("about:blank")
    page.goto(again)
    assert shown(page)[0] == "sfl.lemma9"
    page.locator("#f-text").fill("")
    assert shown(page) == GRAVEST_FIRST  # in the old order again


@pytest.fixture(scope="module")
def findable(browser: Browser, site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page with a search in which every finding is borne out, as in a whole report."""
    out: Path = tmp_path_factory.mktemp("findable")
    found = {f.statement for paper in catalogue.papers().values() for f in paper.findings}
    refuted = Verdict(Status.REFUTED, "planted")
    known = [
        Checked(s, ((Evidence(s.id, "counterexample", lambda *_: refuted), refuted),) if s.id in found else ())
        for s in catalogue.statements()
    ]
    (out / "assets").mkdir()
    (out / "glossary.html").write_bytes((site / "glossary.html").read_bytes())
    for name in ("search.js", "style.css", "math.woff2"):
        (out / "assets" / name).write_bytes((site / "assets" / name).read_bytes())
    (out / "assets" / "index.js").write_text(search.index(known))
    with opened(browser) as page:
        page.goto((out / "glossary.html").as_uri())
        yield page


@pytest.mark.parametrize(
    ("text", "kind", "title"),
    [
        ("diverges", "finding", "FedCOMGATE diverges"),
        ("wrong sign", "finding", "FedBCGD+ as printed"),
        ("plainly false", "list", "breaks the statement"),
        ("missing hypothesis", "list", "missing hypothesis"),
        ("equation 54", "finding", "Sampled clients cost a term that (54)"),
        ("eq. 54", "finding", "Sampled clients cost a term that (54)"),
        ("lemma 9", "lemma", "sfl.lemma9"),
        ("Theorem E.6", "theorem", "fedcom.thmE6"),
        ("thmE6", "theorem", "fedcom.thmE6"),
        ("eta_tilde", "symbol", "eta_tilde"),
        ("η", "symbol", "eta"),
        ("step size too large", "finding", "Algorithm 1 of FedBAT"),
    ],
)
def test_the_search_finds_what_a_stranger_types(findable: Page, text: str, kind: str, title: str) -> None:
    found = findable.evaluate("text => fedsearch.find(text)[0].entry", text)
    assert found["kind"] == kind and found["title"].startswith(title)


def test_the_search_forgives_typing_errors(findable: Page) -> None:
    ids = "text => fedsearch.find(text).map(({ entry }) => entry.url)"
    right = findable.evaluate(ids, "heterogeneity")
    assert len(right) > 50
    for wrong in ("heterogenity", "heterogeniety", "hetrogeneity"):
        assert findable.evaluate(ids, wrong) == right
    assert findable.evaluate(ids, "zqxwv") == []
    assert findable.evaluate(ids, "lemma 999999") == findable.evaluate(ids, "lemma")  # a number is never another one


def test_every_address_of_the_search_is_there(page: Page, site: Path) -> None:
    """A list's address filters the overview; every other one is a place on a page."""
    page.goto((site / "winners.html").as_uri())
    addresses = set(page.evaluate("FEDTHEORY_INDEX.map(row => row[4])"))
    assert len(addresses) > len(catalogue.statements())
    for address in addresses:
        name, _, place = address.partition("#")
        assert not place or "=" in place or f'id="{place}"' in (site / name).read_text(), address
        assert (site / name).is_file(), address


def test_the_search_is_used_by_keyboard_on_every_page(page: Page, site: Path) -> None:
    for name in EVERY:
        page.goto((site / f"{name}.html").as_uri())
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.id") == "q", name
    page.keyboard.type("lemma 9")
    expect(page.locator("#found")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent").startswith("sfl.lemma9.corrected")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "q" and page.locator("#found").is_hidden()
    page.keyboard.press("Enter")
    page.wait_for_url("**/sfl.lemma9.html")


def test_a_tile_lists_the_statements_that_it_counts(page: Page, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    for i, number in enumerate(page.locator(".tiles b").all_text_contents()):
        page.goto((site / "index.html").as_uri())
        page.locator(".tiles a").nth(i).click()
        page.wait_for_function("n => document.querySelector('#f-count').textContent.startsWith(`${n} of`)", arg=number)
        assert len(shown(page)) == int(number) > 0
    page.locator("#f-severity").select_option("misprint")
    assert "severity=misprint" in page.url


REFUTED = ("sfl.lemma9", "sfl.eq54", "sfl.lemma4.sum")  # here: two that break the statement, and a misprint
GRAVEST_FIRST = [*REFUTED, *(s.id for s in catalogue.statements() if s.id not in REFUTED)]


def shown(page: Page) -> list[str]:
    """The ids of the rows that a filter leaves."""
    return page.evaluate("[...document.querySelectorAll('[data-item]:not([hidden]) code')].map(e => e.textContent)")


def test_filters_leave_what_they_say(page: Page, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    everything = GRAVEST_FIRST
    assert shown(page) == everything
    page.locator("#f-paper").select_option("sfl")
    page.locator("#f-kind").select_option("lemma")
    assert shown(page) == [i for i in GRAVEST_FIRST if i.startswith("sfl.") and catalogue.find(i).kind == "lemma"]
    for verdict in ("proved", "conditional", "tested", "broken", "vacuous", "analogue", "definition", "open"):
        page.locator(f"input[value={verdict}]").uncheck()
    assert shown(page) == ["sfl.lemma9"]
    page.locator("#f-text").fill("no such words")
    assert shown(page) == [] and page.locator("#f-none").is_visible()
    expect(page.locator("#f-count")).to_have_text(f"0 of {len(everything)} statements")
    page.locator("#f-clear").click()
    expect(page.locator("#f-count")).to_have_text(f"{len(everything)} of {len(everything)} statements")
    page.locator("#f-form").select_option("corrected")
    assert shown(page) == [i for i in GRAVEST_FIRST if catalogue.find(i).form == "corrected"]
    page.locator("#f-text").fill("lemma 9")
    assert "sfl.lemma9.corrected" in shown(page)


def test_an_overview_bar_leads_to_the_statements_it_counts(page: Page, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    page.locator('a[href="sfl.html#form=printed&verdict=refuted"]').click()
    page.wait_for_function("document.querySelector('#f-count')?.textContent.startsWith('3 of')")
    left = page.evaluate("[...document.querySelectorAll('article:not([hidden])')].map(e => e.id)")
    assert left == ["sfl.lemma4.sum", "sfl.lemma9", "sfl.eq54"]
    page.evaluate("location.hash = '#sfl.lemma3'")  # a link to one that the filter hides shows it
    expect(page.locator('[id="sfl.lemma3"]')).to_be_visible()


def test_a_refuted_statement_tells_its_witness_and_leads_to_the_explorer(page: Page, site: Path) -> None:
    page.goto((site / "sfl.html").as_uri() + "#sfl.lemma9")
    entry = page.locator('[id="sfl.lemma9"]')
    expect(entry).to_be_in_viewport()
    expect(entry).to_contain_text("breaks the statement")
    entry.get_by_role("link", name="sfl.lemma9").click()
    expect(page.locator("main")).to_contain_text("left side 1/72, right side 0, in exact arithmetic")
    expect(page.locator(".witness").last).to_contain_text("1/72")
    assert page.locator("main math").count() >= 3
    page.get_by_role("link", name="sfl.lemma9.corrected").first.click()
    expect(page.locator("h1")).to_contain_text("sfl.lemma9.corrected")
    page.go_back()
    page.go_back()
    expect(entry).to_be_in_viewport()
    page.goto((site / "sfl.eq54.html").as_uri())
    page.get_by_role("link", name="open in the explorer").click()
    page.locator("#says").get_by_role("link", name="sfl.eq54").click()
    expect(page.locator("h1")).to_contain_text("sfl.eq54")


@pytest.mark.parametrize("width", [390, 1400])
def test_a_link_into_the_page_of_a_paper_lands_on_the_statement(page: Page, site: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for id_ in ("fedcom.thmE4", "fedbcgd.claim.factor_1_over_N", "fedbat.c1.sync"):  # far down
        page.goto((site / f"{id_.partition('.')[0]}.html").as_uri() + f"#{id_}")
        page.evaluate("document.fonts.ready")
        assert 0 <= page.locator(f'[id="{id_}"]').evaluate("e => e.getBoundingClientRect().top") < 120


def test_the_statements_of_a_paper_can_be_read_one_after_the_other(page: Page, site: Path) -> None:
    first, second, *_ = catalogue.statements("sfl")
    page.goto((site / f"{first.id}.html").as_uri())
    assert page.locator("[rel=prev]").count() == 0
    page.locator("[rel=next]").click()
    expect(page.locator("h1")).to_contain_text(second.id)
    expect(page.locator("[rel=prev]")).to_contain_text(first.id)
    page.get_by_role("link", name="all of sfl").click()
    expect(page.locator(f'[id="{second.id}"]')).to_be_in_viewport()


def test_the_pieces_of_a_formula_stand_on_one_line_in_the_font_of_the_site(page: Page, site: Path) -> None:
    page.set_viewport_size({"width": 1400, "height": 900})
    page.goto((site / "fedbat.html").as_uri() + "#fedbat.thm1")
    pieces = page.locator('[id="fedbat.thm1"] .formula').first
    signs = pieces.evaluate(
        """box => [...box.querySelectorAll("math")].map(math => {
            const outer = [...math.querySelectorAll("mo")].filter(mo => mo.closest("mfrac, munder") === null);
            const sign = outer.find(mo => ["≤", "+", "−"].includes(mo.textContent));
            const { top, bottom } = sign.getBoundingClientRect();
            return (top + bottom) / 2;
        })"""
    )
    assert len(signs) == 3 and max(signs) - min(signs) < 1  # E[F(w)] − F*, ≤ noise, + start
    ((family, status),) = page.evaluate(
        "document.fonts.ready.then(() => [...document.fonts].map(font => [font.family, font.status]))"
    )
    assert family.strip('"') == "fedtheory math" and status == "loaded"


@pytest.mark.parametrize("width", [390, 1400])
def test_no_formula_of_the_sharper_page_touches_another(page: Page, site: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto((site / "sharper.html").as_uri())
    assert page.locator("math").count() > 200
    touching = page.evaluate(
        """() => {
            const all = [...document.querySelectorAll("math")].map(e => e.getBoundingClientRect());
            const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
            return all.flatMap((a, i) => all.slice(i + 1).filter(b => meet(a, b))).length;
        }"""
    )
    assert touching == 0


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("width", [360, 1200])
def test_no_page_is_wider_than_its_window(page: Page, site: Path, name: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto((site / f"{name}.html").as_uri())
    page.add_style_tag(content="* { content-visibility: visible !important }")  # lay out all of it
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.evaluate("document.querySelectorAll('math merror').length") == 0


def test_the_keyboard_reaches_everything(page: Page, site: Path) -> None:
    page.goto((site / "explorer.html").as_uri())
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
    assert {"paper", "bound", "along", "stacked", "log", "r-L", "n-L", "r-eta_tilde", "reset"} <= reached
    assert page.evaluate("getComputedStyle(document.querySelector('.skip')).position") == "absolute"


def test_an_unknown_bound_in_the_address_is_said_to_be_unknown(explorer: Page) -> None:
    explore(explorer, "sfl.no_such")
    expect(explorer.locator("#says")).to_have_text("There is no bound sfl.no_such; this is another one.")


PAGES = ("index", "fedcom", "sfl.lemma9", "explorer", "sharper", "winners", "shelf", "glossary")


# Every page in light colours; in dark ones those with elements of their own, the other papers' pages in `make test-full`
SCHEMES = [(name, "light") for name in PAGES] + [
    pytest.param(name, "dark", marks=pytest.mark.slow) if name in ("fedcom", "glossary") else (name, "dark")
    for name in PAGES
]


@pytest.mark.parametrize(("name", "scheme"), SCHEMES)
def test_axe_finds_nothing_serious(page: Page, site: Path, name: str, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto((site / f"{name}.html").as_uri())
    page.add_style_tag(content="* { content-visibility: visible !important }")
    found = Axe().run(page, options={"resultTypes": ["violations"], "preload": False})
    serious = [v for v in found.response["violations"] if v["impact"] in ("serious", "critical")]
    assert [(v["id"], v["nodes"][0]["html"][:200]) for v in serious] == []


def test_the_dark_page_is_dark_and_its_figures_are_grey(page: Page, site: Path) -> None:
    """Their colours stay true: a filter makes all of them darker by one factor."""
    page.emulate_media(color_scheme="dark")
    page.goto((site / "index.html").as_uri())
    background = "getComputedStyle(document.querySelector('{}')).backgroundColor"
    assert page.evaluate(background.format("body")) == "rgb(23, 24, 26)"
    assert page.evaluate(background.format("figure img")) == "rgb(255, 255, 255)"
    dimmed = "getComputedStyle(document.querySelector('figure img')).filter"
    assert page.evaluate(dimmed) == "brightness(0.84)"
    page.emulate_media(color_scheme="light")
    assert page.evaluate(dimmed) == "none"


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("name", ["sfl", "fedcom", "index"])
def test_the_texts_in_a_picture_can_be_read(page: Page, site: Path, name: str, width: int) -> None:
    """Tick labels have 8 points, 12 pixels in the file; 9 pixels are left, in the whole width or in one that is moved."""
    page.set_viewport_size({"width": width, "height": 900})
    page.goto((site / f"{name}.html").as_uri())
    shares = page.evaluate(
        "[...document.querySelectorAll('figure img')].map(i => i.getBoundingClientRect().width / i.getAttribute('width'))"
    )
    assert shares and min(shares) > 0.74 and max(shares) <= 1
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_on_a_phone_a_table_shows_every_cell(page: Page, site: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    for name, table in (("glossary", "table.stack"), ("sfl", "table.errata")):
        page.goto((site / f"{name}.html").as_uri())
        page.add_style_tag(content="* { content-visibility: visible !important }")
        out = page.evaluate(
            "selector => [...document.querySelectorAll(`${selector} td`)].filter(td => td.textContent.trim() "
            "&& (td.getBoundingClientRect().right > innerWidth || td.getBoundingClientRect().width < 20)).length",
            table,
        )
        assert out == 0, name


def test_in_print_the_glossary_keeps_its_columns(page: Page, site: Path) -> None:
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 1000})  # A4 at 96 dots per inch, without margins
    page.goto((site / "glossary.html").as_uri())
    right = page.evaluate(
        "Math.max(...[...document.querySelectorAll('td')].map(td => td.getBoundingClientRect().right))"
    )
    assert right <= 700
    assert page.locator("nav").first.is_hidden()


def test_the_first_screen_has_the_findings_that_are_borne_out(page: Page, site: Path) -> None:
    """A finding about a statement that no evidence refutes, here because it was not put to any, is not shown."""
    page.goto((site / "index.html").as_uri())
    (finding,) = [f for paper in catalogue.papers().values() for f in paper.findings if f.statement in VERIFIED]
    assert page.locator(".finding h3").count() == 1
    expect(page.locator(".finding")).to_contain_text(finding.title)
    expect(page.locator(".finding")).to_contain_text("exact expectation")
    assert page.locator(".finding img").get_attribute("src") == f"figures/{finding.figure}.png"
