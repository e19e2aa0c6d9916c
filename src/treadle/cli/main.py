"""The way in: reads what was typed, imports the command that was asked for, and turns what goes wrong into a sentence.

Nothing else is imported here, so that help is there at once.
"""

import argparse
import os
import sys
from collections.abc import Callable

from treadle.cli.codes import FAILED, FINE, INTERRUPTED, UNREAD, USAGE
from treadle.cli.names import names_of_assistants
from treadle.cli.options import COMMANDS, parser
from treadle.cli.overview import ENVIRONMENT, EXIT_CODES, overview


def main(argv: list[str] | None = None) -> int:
    """Carry a command out; its exit code."""
    _prepare_streams()
    words = [_text(word) for word in (sys.argv[1:] if argv is None else argv)]
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    name = next((word for word in words if not word.startswith("-")), "")
    if words[-1:] == ["--help"] and name in TOPICS:
        return _carry_out(lambda: _print(TOPICS[name]))
    if not name and (not words or words[0] in ("-h", "--help", "--")):
        return _carry_out(lambda: _print(overview(names_of_assistants()), to_stderr=words[:1] in ([], ["--"])))
    if name and name not in OWN:
        return _carry_out(lambda: _brought(words, name))
    args = parser().parse_args(words)
    if args.version:
        args.command, args.json = "version", False
    return _carry_out(lambda: _command(args))


def _print(text: str, *, to_stderr: bool = False) -> int:
    print(text, end="", file=sys.stderr if to_stderr else sys.stdout)
    return USAGE if to_stderr else FINE


def _carry_out(command: Callable[[], int]) -> int:
    """The command, with whatever it raises made into a sentence."""
    try:
        code = command()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still buffered must not complain either
        return UNREAD
    except Exception as error:  # noqa: BLE001 - the last one to hear of it; a person gets a sentence, never a traceback
        return _complain(error)
    return code


def _command(args: argparse.Namespace) -> int:
    from importlib import import_module

    return import_module(f"treadle.cli.{HOMES.get(args.command, args.command)}").run(args)


def _brought(words: list[str], name: str) -> int:
    """A command of an assistant, or nobody's."""
    from treadle.cli.brought import run

    return run(words, name)


OWN = frozenset(entry[0] for entry in COMMANDS)
TOPICS = {"environment": f"{EXIT_CODES}\n{ENVIRONMENT}", "exit-codes": EXIT_CODES}
HOMES = {"approve": "approvals", "deny": "approvals", "settle": "approvals"}  # commands that share a module


def _complain(error: Exception) -> int:
    from treadle.cli.render import clean
    from treadle.core.errors import SettingsError, TreadleError

    if os.environ.get("TREADLE_DEBUG"):
        import traceback

        traceback.print_exception(error)
    words = str(error)
    if not isinstance(error, TreadleError | OSError):
        words = f"{type(error).__name__}: {error} (unexpected; TREADLE_DEBUG=1 shows where)"
    print(f"treadle: {clean(words)}", file=sys.stderr)
    return USAGE if isinstance(error, SettingsError) else FAILED


def _prepare_streams() -> None:
    """Streams that take any text, also where a stream was closed before we began."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123 - for as long as the process lasts
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _text(word: str) -> str:
    """A word of the command line as text, also where its bytes were none."""
    return word.encode(errors="surrogateescape").decode(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
