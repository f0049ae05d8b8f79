"""What the documentation takes from the program and from other files, so that nothing is written twice.

A line of a page can be one of

    {{ include FILE }}               a file of the repository
    {{ include FILE # HEADING }}     the section below a heading of it, without the heading
    {{ command NAME }}               a command of `fedtheory`: what it does, its arguments and options
    {{ names REGISTRY }}             the problems, algorithms or compressors with their settings
    {{ presets }}                    the experiments with networks
    {{ readings }}                   what the standard of charity reads into statements

Links and images are written as they are right in the file that holds them, so that they work where the file is read as
it is.  Here they are made to work in the built pages.
"""

from __future__ import annotations

import inspect
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.docstrings import escaped
from fedtheory import registries
from fedtheory.bounds import presets
from fedtheory.cli import app
from fedtheory.theory import catalogue
from fedtheory.theory.readings import RULES

ROOT = Path(__file__).resolve().parents[1]
PAGES = "docs/pages"

# Files of the repository that are pages here
_PAGE_OF = {"SYSTEMS.md": "systems.md", "course/README.md": "course.md", "README.md": "index.md"}
_DIRECTIVE = re.compile(r"^\{\{ (\w+) ?(.*?) \}\}$", re.MULTILINE)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with its directives replaced, and with links and images that work in the built pages."""
    shown = {
        "command": command,
        "names": names,
        "presets": lambda _: all_presets(),
        "readings": lambda _: all_readings(),
    }

    def replaced(found: re.Match[str]) -> str:
        what, of = found.groups()
        if what == "include":
            file, _, heading = of.partition(" # ")
            return linked(part(file, heading), file, config, files)
        if what not in shown:
            raise PluginError(f"{page.file.src_uri}: no directive {what!r}")
        return shown[what](of)

    own = linked(markdown, f"{PAGES}/{page.file.src_uri}", config, files)
    return _DIRECTIVE.sub(replaced, own)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page as HTML, with short pieces of code that no line breaks, as it would after the hyphens of an option."""
    return re.sub(r"<code>([^<]{1,30})</code>", r'<code class="short">\1</code>', html)


def part(file: str, heading: str = "") -> str:
    """A file of the repository, or the section below one of its headings."""
    text = (ROOT / file).read_text()
    if not heading:
        return text
    start = re.search(rf"^(#+) {re.escape(heading)}\n", text, re.MULTILINE)
    if start is None:
        raise PluginError(f"{file}: no heading {heading!r}")
    end = re.compile(rf"^#{{1,{len(start[1])}}} ", re.MULTILINE).search(text, start.end())
    return text[start.end() : end.start() if end else None].strip()


def linked(text: str, where: str, config: MkDocsConfig, files: Files) -> str:
    """The text of a file of the repository with links that work in the built pages; images are added to these."""

    def of(found: re.Match[str]) -> str:
        image, words, target, anchor = found.groups()
        if re.match(r"\w+:", target):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(where), target))
        if path.startswith(f"{PAGES}/"):
            return f"{image}[{words}]({path.removeprefix(f'{PAGES}/')}{anchor or ''})"
        if path in _PAGE_OF and path != where:
            return f"[{words}]({_PAGE_OF[path]}{anchor or ''})"
        if not (ROOT / path).exists():
            raise PluginError(f"{where}: a link to {target}, which does not exist")
        if not image:  # a file that is no page; the built pages lie two folders below the repository's
            return f'<a href="../../{path}">{words}</a>'
        if files.get_file_from_path(path) is None:
            files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
        return f"![{words}]({path})"

    return _LINK.sub(of, text)


def commands() -> Mapping[str, Any]:
    """All commands of `fedtheory`, those of a group by both words: "export coq"."""
    found: dict[str, Any] = {}
    for name, one in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        if hasattr(one, "commands"):
            found |= {f"{name} {inner}": of for inner, of in one.commands.items()}
        else:
            found[name] = one
    return found


def command(name: str) -> str:
    """A command as a section: what it does, its arguments and options."""
    one: Any = typer.main.get_command(app) if name == "fedtheory" else commands().get(name)
    if one is None:
        raise PluginError(f"no command {name!r}: expected one of {', '.join(commands())}")
    full = "fedtheory" if name == "fedtheory" else f"fedtheory {name}"
    rows = [
        [f"`{spelled(p)}`", one_line(p.help), f"`{p.default}`" if p.default not in (None, False) else ""]
        for p in one.params
        if not p.hidden
    ]
    title = "Options of all commands" if name == "fedtheory" else f"`{full}`"
    usage = full + (" [OPTIONS] COMMAND ..." if name == "fedtheory" else "")
    usage += "".join(f" {p.metavar or p.name.upper()}" for p in one.params if not p.opts[0].startswith("-"))
    if name != "fedtheory" and any(p.opts[0].startswith("-") for p in one.params):
        usage += " [OPTIONS]"
    anchor = "options-of-all-commands" if name == "fedtheory" else name.replace(" ", "-")
    return "\n".join(
        [f"### {title} {{ #{anchor} }}", "", one_line(one.help), "", f"    {usage}", "", *table(rows, "default")]
    )


def spelled(parameter: Any) -> str:
    """An argument or option as it is typed."""
    if not parameter.opts[0].startswith("-"):
        return str(parameter.metavar or parameter.name.upper())
    if parameter.is_flag:
        return ", ".join(parameter.opts)
    kinds = {"Path": "PATH", "float": "NUMBER", "int": "NUMBER"}
    of = [kind for kind in kinds if kind in str(parameter.type_descriptor.annotation)]
    return f"{', '.join(parameter.opts)} {parameter.metavar or (kinds[of[0]] if of else 'TEXT')}"


def table(rows: list[list[str]], last: str) -> Iterator[str]:
    """Rows as a table of Markdown; the last column is left out where it is empty in all rows."""
    few = not any(row[2] for row in rows)
    head = ["", "meaning", last]
    for row in [head, ["---"] * 3, *rows]:
        yield f"| {' | '.join(row[:2] if few else row)} |"


def one_line(text: str | None) -> str:
    """Text for a line of Markdown."""
    return escaped(" ".join((text or "").split()))


def names(registry: str) -> str:
    """The problems, algorithms or compressors, with their settings and what they are."""
    built: Mapping[str, Callable[..., Any]] = getattr(registries, registry)
    rows = []
    for name, build in built.items():
        if isinstance(build, partial):
            changed = ", ".join(f"{key}={value!r}" for key, value in build.keywords.items())
            rows.append([f"`{name}`", f"`{build.func.__name__}` with `{changed}`", ""])
            continue
        says = (inspect.getdoc(build) or "").partition("\n")[0]
        rows.append([f"`{name}`", one_line(says), f"`{settings(build)}`" if settings(build) else ""])
    return "\n".join(table(rows, "settings"))


def settings(build: Callable[..., Any]) -> str:
    """The settings of a problem, an algorithm or a compressor, with their defaults."""
    found = []
    for name, one in inspect.signature(build).parameters.items():
        if one.kind is inspect.Parameter.VAR_KEYWORD:
            return ""
        default = one.default
        shown = "..." if repr(default).startswith("<") else repr(default)
        found.append(name if default is inspect.Parameter.empty else f"{name}={shown}")
    return ", ".join(found)


def all_readings() -> str:
    """A table of the rules of charity, each with the assumptions that it adds to statements of each paper."""
    rows = ["| rule | adds | to statements that list |", "|---|---|---|"]
    for rule, says in RULES.items():
        for reading in (r for paper in catalogue.papers().values() for r in paper.readings if r.rule == rule):
            listed = ", ".join(f"`{id_}`" for id_ in sorted(reading.beside)) or "anything"
            unless = "".join(f", but not `{id_}`" for id_ in sorted(reading.unless))
            place = f", in {reading.within}" if reading.within else ""
            rows.append(f"| {says} | `{reading.adds}` | {listed}{unless}{place} |")
    return "\n".join(rows)


def all_presets() -> str:
    """The experiments of the papers with networks."""
    rows = []
    for name, build in presets.presets().items():
        preset = build()
        rows.append([f"`{name}`", one_line(preset.says), str(len(preset.cells))])
    return "\n".join(table(rows, "cells"))
