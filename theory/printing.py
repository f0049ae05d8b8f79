"""Statements in readable mathematics: unicode for a terminal, LaTeX for documents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import sympy
from sympy.printing.latex import LatexPrinter
from sympy.printing.pretty.pretty import PrettyPrinter
from sympy.printing.pretty.stringpict import prettyForm, stringPict
from sympy.printing.printer import Printer
from sympy.printing.str import StrPrinter

from theory import catalogue
from theory.statement import Bound, Listing, Order, Record, Relations, Statement, Words

_UNICODE = {
    "eta_tilde": "η̃",
    "eta": "η",
    "mu": "μ",
    "sigma": "σ",
    "sigma_star": "σ⁎",
    "beta": "β",
    "zeta": "ζ",
    "zeta_star": "ζ⁎",
    "gamma": "γ",
    "delta": "δ",
    "alpha": "α",
    "tau": "τ",
    "pi": "π",
    "x_star": "x⁎",
    "F_star": "F⁎",
    "h_star": "h⁎",
    "x_r": "x⁽ʳ⁾",
}


class _PositiveFirst(Printer):
    """Sums start with a positive term: z - y, not -y + z."""

    def _as_ordered_terms(self, expr: sympy.Expr, order: str | None = None) -> list[sympy.Expr]:
        terms: list[sympy.Expr] = super()._as_ordered_terms(expr, order="lex")
        return sorted(terms, key=lambda term: bool(term.could_extract_minus_sign()))


class _Latex(_PositiveFirst, LatexPrinter):
    def _print_Expectation(self, e: sympy.Expr, exp: str | None = None) -> str:
        return self._power(rf"\mathbb{{E}}\left[{self._print(e.args[0])}\right]", exp)

    def _print_Norm(self, e: sympy.Expr, exp: str | None = None) -> str:
        return self._power(rf"\left\lVert {self._print(e.args[0])}\right\rVert", exp)

    def _print_Inner(self, e: sympy.Expr, exp: str | None = None) -> str:
        a, b = map(self._print, e.args)
        return self._power(rf"\left\langle {a}, {b}\right\rangle", exp)

    def _print_Grad(self, e: sympy.Expr, exp: str | None = None) -> str:
        h, x = map(self._print, e.args)
        return self._power(rf"\nabla {h}({x})", exp)

    def _print_Value(self, e: sympy.Expr, exp: str | None = None) -> str:
        h, x = map(self._print, e.args)
        return self._power(f"{h}({x})", exp)

    def _print_Bregman(self, e: sympy.Expr, exp: str | None = None) -> str:
        h, x, y = map(self._print, e.args)
        return self._power(f"D_{{{h}}}({x}, {y})", exp)

    @staticmethod
    def _power(base: str, exp: str | None) -> str:
        return base if exp is None else f"{base}^{{{exp}}}"


class _Pretty(_PositiveFirst, PrettyPrinter):
    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__({"use_unicode": True, "wrap_line": False})
        self.names = names

    def _print_Symbol(self, e: sympy.Symbol, bold_name: bool = False) -> prettyForm:
        return prettyForm(self.names.get(e.name, e.name), binding=prettyForm.ATOM)

    def _wrap(self, arguments: tuple[sympy.Basic, ...], left: str, right: str, head: str = "") -> prettyForm:
        parts: list[object] = []
        for i, argument in enumerate(arguments):
            parts += [", "] if i else []
            parts.append(self._print(argument))
        body = prettyForm(*stringPict.next(*parts))
        if left == "‖":  # sympy can stretch only its own brackets
            bars = stringPict("\n".join("‖" * body.height()), body.baseline)
            closed = prettyForm(*stringPict.next(bars, body, bars))
        elif left == "⟨" and body.height() == 1:
            closed = prettyForm(*stringPict.next(left, body, right))
        else:
            closed = prettyForm(*body.parens("(" if left == "⟨" else left, ")" if right == "⟩" else right))
        return prettyForm(*stringPict.next(head, closed), binding=prettyForm.ATOM)

    def _print_Expectation(self, e: sympy.Expr) -> prettyForm:
        return self._wrap(e.args, "[", "]", "E")

    def _print_Norm(self, e: sympy.Expr) -> prettyForm:
        return self._wrap(e.args, "‖", "‖")

    def _print_Inner(self, e: sympy.Expr) -> prettyForm:
        return self._wrap(e.args, "⟨", "⟩")

    def _print_Grad(self, e: sympy.Expr) -> prettyForm:
        return self._wrap(e.args[1:], "(", ")", f"∇{self._name(e)}")

    def _print_Value(self, e: sympy.Expr) -> prettyForm:
        return self._wrap(e.args[1:], "(", ")", self._name(e))

    def _print_Bregman(self, e: sympy.Expr) -> prettyForm:
        return self._wrap(e.args[1:], "(", ")", f"D_{self._name(e)}")

    def _name(self, e: sympy.Expr) -> str:
        return self.names.get(str(e.args[0]), str(e.args[0]))


@cache
def _latex_printer(paper: str) -> _Latex:
    table = catalogue.paper(paper).symbols
    return _Latex({"symbol_names": {s.sympy: s.latex for s in table.values()}})


@cache
def _pretty_printer(paper: str) -> _Pretty:
    names = {}
    for s in catalogue.paper(paper).symbols.values():
        names[s.name] = _UNICODE.get(s.name, s.name if len(s.name) <= 6 else readable(s.latex))
    return _Pretty({**_UNICODE, **names})


def readable(latex: str) -> str:
    """A quantity's LaTeX as one line of unicode: \\mathbb{E}\\|x^{(r)}-x^*\\|^2 -> E‖x^(r)-x*‖^2."""
    for old, new in {
        r"\mathbb{E}": "E",
        r"\mathcal{E}": "ℰ",
        r"\mathbf": "",
        r"\nabla": "∇",
        r"\langle": "⟨",
        r"\rangle": "⟩",
        r"\bar x": "x̄",
        r"\sum": "Σ",
        r"\min": "min",
        r"\left": "",
        r"\right": "",
        r"\|": "‖",
        r"\leq": "≤",
        r"\le": "≤",
        r"\pi": "π",
        r"\eta": "η",
        r"\xi": "ξ",
        r"\zeta": "ζ",
        r"\sigma": "σ",
        r"\Psi": "Ψ",
        r"\,": " ",
        r"\;": " ",
        "{": "",
        "}": "",
        "^*": "*",
    }.items():
        latex = latex.replace(old, new)
    return latex


def latex(paper: str, expression: sympy.Basic) -> str:
    """LaTeX in the paper's own symbols."""
    return _latex_printer(paper).doprint(expression)


def unicode(paper: str, expression: sympy.Basic) -> str:
    """Unicode, several lines where fractions need them."""
    return str(_pretty_printer(paper).doprint(expression))


class _Plain(StrPrinter):
    def _print_Value(self, e: sympy.Expr) -> str:
        return f"{e.args[0]}({self._print(e.args[1])})"

    def _print_Grad(self, e: sympy.Expr) -> str:
        return f"grad {e.args[0]}({self._print(e.args[1])})"


def plain(expression: sympy.Basic) -> str:
    """ASCII, one line, as it would be typed."""
    return str(_Plain().doprint(expression))


_SIGNS = {"<=": r"\le", ">=": r"\ge", "=": "="}


def claim_latex(statement: Statement) -> str:
    """The claim in one line of LaTeX (without dollar signs); empty when it has no formula."""
    claim, paper = statement.claim, statement.paper
    if isinstance(claim, Bound):
        return f"{latex(paper, claim.quantity)} {_SIGNS[claim.sign]} {_sum(paper, claim)}"
    if isinstance(claim, Order):
        o = r"\tilde{\mathcal{O}}" if claim.polylog else r"\mathcal{O}"
        return rf"{latex(paper, claim.quantity)} = {o}\left({_sum(paper, claim)}\right)"
    if isinstance(claim, Relations):
        return r",\quad ".join(latex(paper, r) for r in claim.relations)
    if isinstance(claim, Words):
        return r",\quad ".join(latex(paper, f) for f in claim.formulas)
    return ""


def _sum(paper: str, claim: Bound | Order) -> str:
    """The terms in printed order, joined by their signs."""
    pieces: list[str] = []
    for term in claim.terms:
        text = latex(paper, term.value)
        if pieces and not text.startswith("-"):
            text = f"+ {text}"
        pieces.append(text)
    return " ".join(pieces)


def claim_words(statement: Statement) -> str:
    """The words of a claim that has some; empty otherwise."""
    claim = statement.claim
    if isinstance(claim, Words):
        return claim.text
    if isinstance(claim, Relations):
        return claim.words
    if isinstance(claim, Listing):
        return f"algorithm of {len(claim.lines)} lines"
    if isinstance(claim, Record):
        return "; ".join(claim.claims) or f"settings: {', '.join(claim.settings)}"
    return ""
