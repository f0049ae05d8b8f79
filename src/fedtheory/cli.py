"""The command line: the commands by their names, and how it ends."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from typing import Annotated, NoReturn

import typer
from typer.exceptions import Abort, TyperException

from fedtheory import plugins
from fedtheory.commands import (
    bounds,
    comparisons,
    constants,
    experiments,
    records,
    reports,
    statements,
    trainings,
    verdicts,
)
from fedtheory.simulations.checked import brief, shortened
from fedtheory.theory.names import UnknownName

# Without this, torch's waiting threads spin: three times slower beside other work.  torch reads it on import, later.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
record = typer.Typer(no_args_is_help=True)
export = typer.Typer(no_args_is_help=True)

_LONGEST_ERROR = 300  # characters

# Packages that only an extra installs, with that extra
EXTRAS = {
    "torch": "networks",
    "z3": "proofs",
    "cvxpy": "proofs",
    "flint": "proofs",
    "clarabel": "proofs",
    "marimo": "course",
    "distributed": "cluster",
}


def print_version(asked: bool) -> None:
    """Print the version and end."""
    if asked:
        from importlib.metadata import version

        print(f"fedtheory {version('fedtheory')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="print the version")
    ] = False,
    path: Annotated[
        str | None, typer.Option("--path", help="folder with papers of your own (see new-paper)", metavar="FOLDER")
    ] = None,
) -> None:
    """Verify the convergence theory of federated optimisation: statements, evidence, runs."""
    if path is not None:
        plugins.add_folder(path)


COMMANDS: Mapping[typer.Typer, Mapping[str, Callable[..., None]]] = {
    app: {
        "new-paper": statements.new_paper_command,
        "list": statements.list_command,
        "show": statements.show,
        "glossary": statements.glossary_command,
        "bound": bounds.bound,
        "tune": bounds.tune,
        "compare": comparisons.compare,
        "sharpen": constants.sharpen_command,
        "tight": constants.tight,
        "check": statements.check_command,
        "verify": verdicts.verify,
        "figures": reports.figures_command,
        "simulate": experiments.simulate_command,
        "confront": experiments.confront_command,
        "train": trainings.train_command,
        "table": trainings.table_command,
        "paper-check": reports.paper_check_command,
        "report": reports.report,
    },
    record: {
        "experiments": records.record_experiments_command,
        "brackets": records.record_brackets_command,
        "scores": records.record_scores_command,
        "coq": records.record_coq_command,
        "shelf": records.record_shelf_command,
    },
    export: {"coq": records.export_coq_command},
}
for group, commands in COMMANDS.items():
    for name, command in commands.items():
        group.command(name)(command)
app.add_typer(record, name="record", help="Measure again what is kept on record.")
app.add_typer(export, name="export", help="Write the proofs for other programs.")


def main() -> None:
    """Entry point: exit status 0 done, 2 bad usage (one line); 1 a check ended in an exception, or --expect-clean."""
    gc.set_threshold(50_000)  # a paper is many small objects that stay: looking through them again and again takes time
    sys.stderr = sys.stderr or StringIO()  # closed
    if sys.stdout is None:
        refuse("standard output is closed: expected it open, such as > /dev/null")
    try:
        with ended_like_ctrl_c() as signals:
            status = app(standalone_mode=False)
        sys.exit(128 + signals[0] if signals else status if isinstance(status, int) else 0)
    except TyperException as error:
        refuse(f"{error.format_message()} See fedtheory --help.")
    except Abort:
        sys.exit(130)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRAS:
            raise
        refuse(f"this needs {missing}: expected pip install '.[{EXTRAS[missing]}]' in the folder of fedtheory")
    except ImportError as error:  # such as of a library that finds no memory
        refuse(f"{error}; expected a library that can be loaded, and memory for it")
    except MemoryError as error:
        refuse(f"not enough memory: {error or 'expected a smaller request'}")
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        refuse(f"cannot print {letter!a} as {error.encoding}: expected UTF-8, such as by PYTHONIOENCODING=utf-8")
    except (ValueError, UnknownName, OSError) as error:
        if isinstance(error, OSError) and error.filename:  # the system's own, such as for a name that is too long
            refuse(f"{brief(str(error.filename))}: {error.strerror}; expected a path that can be read or written")
        refuse(str(error))


@contextmanager
def ended_like_ctrl_c() -> Iterator[list[int]]:
    """SIGTERM and SIGHUP interrupt the work, so that worker processes end and a training keeps its rounds; yields which."""
    received: list[int] = []

    def interrupt(number: int, frame: object) -> NoReturn:
        received.append(number)
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # Windows has one
    before = {n: signal.signal(n, interrupt) for n in numbers if signal.getsignal(n) is signal.SIG_DFL}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def refuse(what: str) -> NoReturn:
    """Say in one line of at most 300 characters what was wrong, and exit with status 2."""
    try:
        print(shortened(f"fedtheory: {' '.join(what.split())}", _LONGEST_ERROR), file=sys.stderr)
    finally:
        sys.exit(2)


if __name__ == "__main__":
    main()
