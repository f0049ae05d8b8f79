"""Statements in readable mathematics: unicode for a terminal, LaTeX for documents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import sympy
from latex2mathml.converter import convert
from sympy.core.relational import Relational
from sympy.printing.latex import LatexPrinter
from sympy.printing.pretty.pretty import PrettyPrinter
from sympy.printing.pretty.pretty_symbology import greek_unicode
from sympy.printing.pretty.stringpict import prettyForm, stringPict
from sympy.printing.printer import Printer
from sympy.printing.str import StrPrinter

from fedtheory.theory import catalogue
from fedtheory.theory.listing import Listing
from fedtheory.theory.statement import Bound, Claim, Order, Rate, Rates, Record, Relations, Statement, Words

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
    "lam": "λ",
    "reg": "λ",
    "eps": "ε",
    "eta_max": "η_max",
    "tau": "τ",
    "pi": "π",
    "x_star": "x⁎",
    "F_star": "F⁎",
    "h_star": "h⁎",
    "x_r": "x⁽ʳ⁾",
}
_SUBSCRIPT = re.compile(r"(.*)_\{(.*)\}")
_SYMBOL = re.compile(r"(.*)_(\w)")


class _Last(sympy.Symbol):
    """A measured quantity; it comes last in a product, as in L eta E||x_mk - x||^2."""

    @classmethod
    def class_key(cls) -> tuple[int, int, str]:
        return 9, 0, cls.__name__


class _Least(sympy.Function):
    """A minimum that sympy does not evaluate: sympy fails on a minimum in an exponent."""


def quantities_last(expression: sympy.Basic, names: Mapping[str, str]) -> sympy.Basic:
    """The expression with every expectation moved to the end of its product; `names` holds the symbols' LaTeX."""
    measured = [s for s in expression.free_symbols if r"\mathbb{E}" in names.get(s.name, "")]
    expression = expression.replace(sympy.Min, _Least)
    return expression.xreplace({s: _Last(s.name, **s.assumptions0) for s in measured})


_PIECE = re.compile(r"\\\||\\langle|\\rangle|[(\[{]|[)\]}]|[+-]")


@cache
def is_sum(latex: str) -> bool:
    """Whether a quantity is written as a sum or a difference, such as f(x)-f^*: in a product it needs brackets."""
    depth, norms = 0, 0
    for piece in _PIECE.findall(latex):
        norms += piece == r"\|"
        depth += (piece in (*"([{", r"\langle")) - (piece in (*")]}", r"\rangle"))
        if piece in "+-" and not depth and not norms % 2:
            return True
    return False


def indexed(name: str, indices: str) -> str:
    """LaTeX of an indexed symbol: x_{\\pi} at i is x_{\\pi_{i}}, p_c at m is p_{c,m}.

    A name that already shows its indices stays as it is.
    """
    shown = re.escape(indices)
    if re.search(rf"_({{{shown}}}|{shown}(?![A-Za-z0-9]))", name) or name.endswith(f"^{indices}"):
        return name
    if symbol := _SYMBOL.fullmatch(name):
        return f"{symbol[1]}_{{{symbol[2]},{indices}}}"
    inner = _SUBSCRIPT.fullmatch(name)
    return f"{inner[1]}_{{{inner[2]}_{{{indices}}}}}" if inner else f"{name}_{{{indices}}}"


class _PositiveFirst(Printer):
    """Sums start with a positive term: z - y, not -y + z."""

    def _as_ordered_terms(self, expr: sympy.Expr, order: str | None = None) -> list[sympy.Expr]:
        terms: list[sympy.Expr] = super()._as_ordered_terms(expr, order="lex")
        return sorted(terms, key=lambda term: bool(term.could_extract_minus_sign()))


class _Latex(_PositiveFirst, LatexPrinter):
    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self.names = names

    def doprint(self, expr: sympy.Basic) -> str:
        return str(super().doprint(quantities_last(expr, self.names)))

    def _in_brackets(self, e: sympy.Basic) -> bool:
        return isinstance(e, sympy.Symbol) and is_sum(self.names.get(e.name, ""))

    def _needs_mul_brackets(self, expr: sympy.Expr, first: bool = False, last: bool = False) -> bool:
        return self._in_brackets(expr) or bool(super()._needs_mul_brackets(expr, first, last))

    def _needs_add_brackets(self, expr: sympy.Expr) -> bool:
        return self._in_brackets(expr) or bool(super()._needs_add_brackets(expr))

    def parenthesize(self, item: sympy.Expr, level: int, is_neg: bool = False, strict: bool = False) -> str:
        bracket = self._in_brackets(item)
        return (
            rf"\left({self._print(item)}\right)" if bracket else str(super().parenthesize(item, level, is_neg, strict))
        )

    def _print_Mul(self, expr: sympy.Mul) -> str:
        sign, *others = expr.args
        if sign == -1 and len(others) == 1 and self._in_brackets(others[0]):
            return rf"- \left({self._print(others[0])}\right)"
        return str(super()._print_Mul(expr))

    def _print_Symbol(self, e: sympy.Symbol, style: str = "plain") -> str:
        return self.names[e.name] if e.name in self.names else str(super()._print_Symbol(e, style))

    def _print_Indexed(self, e: sympy.Indexed) -> str:
        return indexed(self._print(e.base.label), ",".join(map(self._print, e.indices)))

    def _print_Expectation(self, e: sympy.Expr, exp: str | None = None) -> str:
        return self._power(rf"\mathbb{{E}}\left[{self._print(e.args[0])}\right]", exp)

    def _print_Norm(self, e: sympy.Expr, exp: str | None = None) -> str:
        return self._power(rf"\left\lVert {self._print(e.args[0])}\right\rVert", exp)

    def _print__Least(self, e: sympy.Expr, exp: str | None = None) -> str:
        return self._power(rf"\min\left({', '.join(map(self._print, e.args))}\right)", exp)

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
    def __init__(self, latex_names: Mapping[str, str]) -> None:
        super().__init__({"use_unicode": True, "wrap_line": False})
        self.latex_names = latex_names
        self.names = {name: _UNICODE.get(name, readable(text)) for name, text in latex_names.items()}

    def doprint(self, expr: sympy.Basic, sign: str = "") -> str:
        form = self._print(quantities_last(expr, self.latex_names))
        return str(prettyForm(*form.right(f"  {sign}" if sign else "")).render(**self._settings))

    def _print_Symbol(self, e: sympy.Symbol, bold_name: bool = False) -> prettyForm:
        binding = prettyForm.ADD if is_sum(self.latex_names.get(e.name, "")) else prettyForm.ATOM
        return prettyForm(self.names.get(e.name, e.name), binding=binding)

    def _print_Indexed(self, e: sympy.Indexed) -> prettyForm:
        name, indices = e.base.label.name, ",".join(str(self._print(i)) for i in e.indices)
        return prettyForm(readable(indexed(self.latex_names.get(name, name), indices)), binding=prettyForm.ATOM)

    def _print__Least(self, e: sympy.Expr) -> prettyForm:
        return self._wrap(e.args, "(", ")", "min")

    def _print_Max(self, e: sympy.Expr) -> prettyForm:
        return self._wrap(e.args, "(", ")", "max")

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
    return _Latex(_latex_names(paper))


@cache
def _pretty_printer(paper: str) -> _Pretty:
    return _Pretty(_latex_names(paper))


def _latex_names(paper: str) -> dict[str, str]:
    return {s.name: s.latex for s in catalogue.paper(paper).symbols.values()}


def readable(latex: str) -> str:
    """A quantity's LaTeX as one line of unicode: \\mathbb{E}\\|x^{(r)}-x^*\\|^2 -> E‖x^(r)-x*‖²."""
    for pattern, new in _READABLE:
        latex = re.sub(pattern, new, latex)
    return latex


_READABLE = (
    (r"\\mathbb\{E\}(?=\w)", "E "),
    (r"\\mathbb\{E\}", "E"),
    (r"\\mathcal\{(.)\}", lambda m: {"E": "ℰ", "B": "ℬ"}.get(m[1], m[1])),
    (r"\\(?:math(?:bf|rm|bb)|boldsymbol|operatorname)\{([^{}]*)\}", r"\1"),
    (r"\\partial\s*", "∂"),
    (r"\\infty", "∞"),
    (r"\\bar\s*\{?(\w)\}?", "\\1\u0304"),
    (r"\\hat\s*\{?(\w)\}?", "\\1\u0302"),
    (r"\\in(?![a-z])\s*", "∈"),
    (r"\\cdot\s*", "·"),
    (r"\\sum_\{([^{}]*)\}\^\{([^{}]*)\}", r"Σ[\1..\2] "),
    (r"\\sum_\{((?:[^{}]|\{[^{}]*\})*)\}", r"Σ[\1] "),
    (r"\\leq?\s*", "≤"),
    (r"\\nabla\s*", "∇"),
    (r"\\min_\{([^{}]*)\}", r"min[\1] "),
    (r"\\left|\\right", ""),
    (r"\\langle\s*", "⟨"),
    (r"\\rangle\s*", "⟩"),
    (r"\\\|", "‖"),
    (r"\\frac(\w|\\\w+)(?:\{(\w+)\}|(\w))", lambda m: f"{m[1]}/{m[2] or m[3]} "),
    (r"\\frac\\?(\w)\\(\w+)", r"\1/\\\2"),
    (r"\\tilde\s*\{?(?:\\mathbf\{)?(\w)\}?\}?", "\\1\u0303"),
    (r"\\sum_(\w)", r"Σ[\1] "),
    (rf"\\({'|'.join(greek_unicode)})(?![a-z])", lambda m: greek_unicode[m[1]]),
    (r"\\[,;]", " "),
    (r"\^\{-1\}", "⁻¹"),
    (r"([_^])\{([^{}()]*[+\-][^{}()]*)\}", r"\1(\2)"),
    (r"[{}]", ""),
    (r"\^\*", "*"),
    (r"\^2", "²"),
    (r" +", " "),
)


@cache
def latex(paper: str, expression: sympy.Basic) -> str:
    """LaTeX in the paper's own symbols."""
    return _latex_printer(paper).doprint(expression)


def unicode(paper: str, expression: sympy.Basic, sign: str = "") -> str:
    """Unicode, with a sign behind it; on several lines where there are fractions."""
    return _pretty_printer(paper).doprint(expression, sign)


class _Plain(StrPrinter):
    def _print_Value(self, e: sympy.Expr) -> str:
        return f"{e.args[0]}({self._print(e.args[1])})"

    def _print_Grad(self, e: sympy.Expr) -> str:
        return f"grad {e.args[0]}({self._print(e.args[1])})"

    def _print_Expectation(self, e: sympy.Expr) -> str:
        return f"E[{self._print(e.args[0])}]"

    def _print_Norm(self, e: sympy.Expr) -> str:
        return f"norm({self._print(e.args[0])})"

    def _print_Inner(self, e: sympy.Expr) -> str:
        return f"<{self._print(e.args[0])}, {self._print(e.args[1])}>"

    def _print_Relational(self, e: Relational) -> str:
        return f"{self._print(e.lhs)} {'=' if e.rel_op == '==' else e.rel_op} {self._print(e.rhs)}"

    def _print_Sum(self, e: sympy.Sum) -> str:
        ranges = ", ".join(f"{index} = {self._print(low)}..{self._print(high)}" for index, low, high in e.limits)
        return f"sum({self._print(e.function)}, {ranges})"

    def _print_Bregman(self, e: sympy.Expr) -> str:
        return f"D_{e.args[0]}({self._print(e.args[1])}, {self._print(e.args[2])})"


def plain(expression: sympy.Basic) -> str:
    """ASCII on one line, as one would type it."""
    return str(_Plain().doprint(expression))


class _InLine(_Plain):
    """One line of unicode, in a paper's symbols."""

    def __init__(self, latex_names: Mapping[str, str], names: Mapping[str, str]) -> None:
        super().__init__()
        self.latex_names, self.names = latex_names, names

    def parenthesize(self, item: sympy.Expr, level: int, strict: bool = False) -> str:
        bracket = isinstance(item, sympy.Symbol) and is_sum(self.latex_names.get(item.name, ""))
        return f"({self._print(item)})" if bracket else str(super().parenthesize(item, level, strict))

    def _print_Symbol(self, e: sympy.Symbol) -> str:
        return self.names.get(e.name, e.name).replace("*", "⁎")  # another star than that of a product

    def _print_Relational(self, e: Relational) -> str:
        sign = ({"==": "=", "!=": "≠"} | UNICODE_SIGNS).get(e.rel_op, e.rel_op)
        return f"{self._print(e.lhs)} {sign} {self._print(e.rhs)}"


def in_line(paper: str, expression: sympy.Basic) -> str:
    """Unicode on one line, in the paper's own symbols."""
    printer = _pretty_printer(paper)
    text = _InLine(printer.latex_names, printer.names).doprint(quantities_last(expression, printer.latex_names))
    for plain_, shown in (("**2", "²"), ("**3", "³"), ("**", "^"), ("*", " "), ("sqrt(", "√(")):
        text = text.replace(plain_, shown)
    return str(text)


SIGNS = {"<=": r"\le", ">=": r"\ge", "=": "="}  # of a bound
UNICODE_SIGNS = {"<=": "≤", ">=": "≥", "=": "="}


_WIDE, _LINES = 300, 8


def _claim_in_lines(claim: Claim) -> list[str]:
    if isinstance(claim, Bound):
        return [f"{plain(claim.quantity)} {claim.sign} " + " + ".join(plain(t.value) for t in claim.terms)]
    if isinstance(claim, Order):
        return [f"{plain(claim.quantity)} = {claim.letter}({plain(claim.value)})"]
    if isinstance(claim, Rates):
        return [f"{rate.case}: R = O({plain(rate.rounds)}), tau = O({plain(rate.steps)})" for rate in claim.rates]
    if isinstance(claim, Listing):
        return [f"{line.number}: {'  ' * line.depth}{'; '.join(map(str, line.steps))}" for line in claim.lines]
    if isinstance(claim, Record):
        return [", ".join(claim.settings), *([f"{len(claim.table)} rows"] if claim.table else [])]
    return [claim.text] if isinstance(claim, Words) else [plain(f) for f in claim.relations]


def in_lines(statement: Statement) -> list[str]:
    """A statement in at most ten lines of plain text."""
    claims = _claim_in_lines(statement.claim)
    lines = [f"{statement.id} ({statement.kind}, {statement.place})", *(f"    {one}" for one in claims[:_LINES])]
    lines += [f"    when {'; '.join(map(str, statement.when))}"] if statement.when else []
    lines = lines[: _LINES + 1] + ([f"    assumes {', '.join(statement.assumes)}"] if statement.assumes else [])
    return [one if len(one) <= _WIDE else f"{one[: _WIDE - 4]} ..." for one in lines]


def in_markdown(statement: Statement) -> str:
    """A statement for a notebook: its claim and conditions as formulas."""
    about = f"**{statement.id}** ({statement.kind}, {statement.place})"
    claim = claim_latex(statement)
    when = ", ".join(f"${latex(statement.paper, c.relation)}$" for c in statement.when)
    shown = [about, f"$$ {claim} $$" if claim else "\n".join(in_lines(statement)[1:])]
    return "\n\n".join([*shown, *([f"when {when}"] if when else [])])


def claim_latex(statement: Statement) -> str:
    """The claim and the further claims in one line of LaTeX (without dollar signs); empty without a formula."""
    found = [_latex_of(claim, statement.paper) for claim in (statement.claim, *statement.also)]
    return r";\quad ".join(text for text in found if text)


def _latex_of(claim: Claim, paper: str) -> str:
    if isinstance(claim, Bound):
        return f"{latex(paper, claim.quantity)} {SIGNS[claim.sign]} {_sum(paper, claim)}"
    if isinstance(claim, Order):
        return rf"{latex(paper, claim.quantity)} = {claim.latex}\left({_sum(paper, claim)}\right)"
    if isinstance(claim, Relations):
        return r",\quad ".join(latex(paper, r) for r in claim.relations)
    if isinstance(claim, Words):
        return r",\quad ".join(latex(paper, f) for f in claim.formulas)
    if isinstance(claim, Rates):
        return r",\quad ".join(rate_latex(paper, rate) for rate in claim.rates)
    return ""


def rate_latex(paper: str, rate: Rate) -> str:
    """A rate in LaTeX: the case, the rounds, the local steps."""
    o = r"\tilde{\mathcal{O}}" if rate.polylog else r"\mathcal{O}"
    rounds = rf"{o}\left({latex(paper, rate.rounds)}\right)"
    steps = "1" if rate.steps == 1 else rf"\mathcal{{O}}\left({latex(paper, rate.steps)}\right)"
    given = "".join(rf",\; {latex(paper, relation)}" for relation in rate.given)
    return rf"\text{{{rate.case}: }} R = {rounds}, \tau = {steps}{given}"


def _sum(paper: str, claim: Bound | Order) -> str:
    """The terms in printed order, with their signs."""
    pieces: list[str] = []
    for term in claim.terms:
        text = latex(paper, term.value)
        if pieces and not text.startswith("-"):
            text = f"+ {text}"
        pieces.append(text)
    return " ".join(pieces)


def named_latex(paper: str, claim: Bound | Order) -> str:
    """A bound or an order in LaTeX, each term with a brace and its name below."""
    if isinstance(claim, Bound):
        sign, left, right = SIGNS[claim.sign], "", ""
    else:
        sign, left, right = "=", rf"{claim.latex}\left(", r"\right)"
    return f"{latex(paper, claim.quantity)} {sign} {left}{' '.join(named_terms(paper, claim))}{right}"


def named_terms(paper: str, claim: Bound | Order) -> list[str]:
    """The terms of a bound or an order in LaTeX, each with its sign, a brace and its name below."""
    pieces: list[str] = []
    for term in claim.terms:
        text = latex(paper, term.value)
        minus = text.startswith("-") and not isinstance(term.value, sympy.Add)
        braced = (
            rf"\underbrace{{{text.removeprefix('-') if minus else text}}}_{{\text{{{term.name.replace('_', ' ')}}}}}"
        )
        pieces.append(f"{'-' if minus else '+' if pieces else ''} {braced}")
    return pieces


_BOLD_ITALIC = re.compile(r'<mi mathvariant="bold-italic">([A-Za-z])</mi>')
_NAMESPACE = ' xmlns="http://www.w3.org/1998/Math/MathML"'
_BY_NUMBER = re.compile(r"&#x0*([0-9A-F]+);")
_RESERVED = ("3C", "3E", "26")  # < > &, which stay escaped


@cache
def mathml(text: str, display: bool = False) -> str:
    """MathML, for use in HTML, of a LaTeX formula that this module printed; display: on a line of its own."""
    found = convert(text, display="block" if display else "inline").replace(_NAMESPACE, "", 1)
    found = _BY_NUMBER.sub(lambda m: m[0] if m[1] in _RESERVED else chr(int(m[1], 16)), found)
    # Browsers show a bold italic symbol only by its own code point
    return _BOLD_ITALIC.sub(lambda m: f"<mi>{chr(ord(m[1]) + (0x1D421 if m[1].islower() else 0x1D427))}</mi>", found)


def claim_words(statement: Statement) -> str:
    """The words of a claim; empty if it has none."""
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
