"""The commands of `fedtheory`, for the tests of what is written about them."""

from __future__ import annotations

from typing import Any

import typer

from fedtheory import cli


def commands() -> dict[str, Any]:
    """All commands by name, those of a group by both words."""
    found: dict[str, Any] = {}
    for name, one in vars(typer.main.get_command(cli.app))["commands"].items():
        inner = vars(one).get("commands")
        found |= {name: one} if inner is None else {f"{name} {below}": of for below, of in inner.items()}
    return found


COMMANDS = commands()
