"""Plain-text mathematics as HTML: eta_tilde <= 1/(6 L) in an erratum, a witness or a note becomes readable."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_LETTERS = (
    "alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ kappa κ lambda λ mu μ nu ν xi ξ pi π rho ρ sigma σ tau τ "
    "phi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Phi Φ Psi Ψ Omega Ω eps ε lam λ"
)
_GREEK = dict(re.findall(r"(\w+) (\w)", _LETTERS))
_OTHER = {"grad": "∇", "inf": "∞", "infinity": "∞"}
_LARGE = {"sum": "Σ", "prod": "∏"}  # only with an index: a sum in words stays one
_ACCENTS = {"tilde": "\u0303", "bar": "\u0304", "hat": "\u0302"}
_WORDS = ("that", "what", "chat")  # t, w and c with no hat
_SIGNS = (
    ("&lt;=", "≤"),
    ("&gt;=", "≥"),
    ("!=", "≠"),
    ("+-", "±"),
    ("-+", "∓"),
    ("-&gt;", "→"),
    ("||", "‖"),
    ("...", "…"),
)

_SHORT = 20  # characters that fit on a line of a phone
_SCRIPT = r"(?:\{[^{}]*\}|-?\([^()]*\)|-?\w+(?:\*(?![\w(]))?(?:,\w+)*|\*|\+(?![\w(]))"  # what may stand after _ or ^
_NAME = re.compile(
    r"(?<![\w.])(?<![A-Za-z]')(?P<base>[A-Za-z]+)(?P<prime>'?)(?P<scripts>(?:[_^]" + _SCRIPT + r")*)(?!\w|\.[a-z0-9])",
    re.ASCII,
)
_AFTER = r"(<i>[^<]*</i>|" + _SCRIPT + ")"
_POWER = re.compile(r"(?<=[\w)\]‖>])\^" + _AFTER)
_INDEX = re.compile(r"(?<=‖)_" + _AFTER)
_TIMES = re.compile(r"(?<!<sub>)(?<!<sup>)(?<=[\w)>])\*(?=[\w(<])")
_MINUS = re.compile(r"(?<=[\w)>‖*] )-(?= [\w(<√∇‖])|(?<=[)>])-(?=[\d<(√])|(?<=[\s(=,>])-(?=[\d<√])")


def breakable(id_: str) -> Markup:
    """The id of a statement; in a long one places where a line may end: after its dots and underscores."""
    return Markup(re.sub(r"(?<=[._])", "<wbr>", str(escape(id_))) if len(id_) > _SHORT else escape(id_))


def typeset(text: str) -> Markup:
    """The text as HTML, escaped, with Greek letters, indices, powers and signs; words and ids stay as they are.

    Only names of one letter, Greek names and a few signs (grad, inf, sum_k) count as mathematics.
    """
    safe = str(escape(" ".join(text.split()))).replace("&#39;", "'").replace("**", "^")
    safe = re.sub(r"sqrt(?=\()", "√", safe)
    for plain, sign in _SIGNS:
        safe = safe.replace(plain, sign)
    safe = re.sub(r"(?<![\w.])E(?=‖|\[)", "𝔼", safe)
    safe = _NAME.sub(_name, safe).replace("∇ ", "∇")
    safe = _POWER.sub(lambda m: f"<sup>{_bare(m[1])}</sup>", safe)
    safe = _INDEX.sub(lambda m: f"<sub>{_OTHER.get(m[1], _bare(m[1]))}</sub>", safe)
    return Markup(_TIMES.sub("\u202f", _MINUS.sub("−", safe)))


def _name(match: re.Match[str]) -> str:
    """A name with its indices and powers; the same text if it is a word."""
    base, accent = match["base"], ""
    for ending, mark in _ACCENTS.items():
        if len(base) == len(ending) + 1 and base.endswith(ending) and base.lower() not in _WORDS:  # xbar
            base, accent = base[0], mark
    scripts = re.findall(r"([_^])(" + _SCRIPT + r")", match["scripts"])
    letter = _GREEK.get(base) or _OTHER.get(base) or (_LARGE.get(base) if scripts else None)
    if letter is None and (len(base) > 1 or not (accent or scripts or match["prime"] or base not in "aAI")):
        return match[0]
    tags = []
    for kind, script in scripts:
        if kind == "_" and script in _ACCENTS:
            accent = _ACCENTS[script]
        else:
            tag = "sub" if kind == "_" else "sup"
            iterate = kind == "^" and re.fullmatch(r"\([^-/]*\)", script)  # x^(r) is no power
            inside = "*" if script == "star" else script if iterate else _bare(script)
            tags.append(f"<{tag}>{_NAME.sub(_name, inside)}</{tag}>")
    upright = base in _OTHER or base in _LARGE
    shown = letter if upright else f"<i>{letter or base}{accent}</i>"
    return f"{shown}{'′' if match['prime'] else ''}{''.join(tags)}"


def _bare(script: str) -> str:
    """What stands in an index or a power, without the outer brackets."""
    return script[1:-1] if script[0] in "{(" else script
