"""Entry point: parses the arguments, imports the requested command, and turns errors into a one-line message.

Nothing else is imported here, so that help appears at once.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable

from treadle.cli.assistant_names import list_assistant_names
from treadle.cli.exit_codes import BROKEN_PIPE, FAILED, INTERRUPTED, OK, USAGE
from treadle.cli.options import COMMANDS, build_parser
from treadle.cli.overview import HELP_TOPICS, format_overview


def main(argv: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    _prepare_streams()
    if not os.environ.get("TREADLE_DEBUG"):
        warnings.showwarning = _print_warning
    words = [_decode_argument(word) for word in (sys.argv[1:] if argv is None else argv)]
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    name = next((word for word in words if not word.startswith("-")), "")
    if words[-1:] == ["--help"] and name in HELP_TOPICS:
        return _run_guarded(lambda: _print_help(HELP_TOPICS[name]))
    if not name and (not words or words[0] in ("-h", "--help", "--")):
        return _run_guarded(lambda: _print_help(format_overview(list_assistant_names()), to_stderr=words[:1] in ([], ["--"])))
    if name and name not in BUILTIN_COMMANDS:
        return _run_guarded(lambda: _run_plugin_command(words, name))
    args = build_parser().parse_args(words)
    if args.version:
        args.command, args.json = "version", False
    return _run_guarded(lambda: _run_builtin(args))


def _print_help(text: str, *, to_stderr: bool = False) -> int:
    print(text, end="", file=sys.stderr if to_stderr else sys.stdout)
    return USAGE if to_stderr else OK


def _run_guarded(command: Callable[[], int]) -> int:
    """Run the command, and turn whatever it raises into a message and an exit code."""
    try:
        code = command()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - the last one to hear of it; a person gets a sentence, never a traceback
        code = _print_error(error)
        try:
            sys.stdout.flush()
        except OSError:  # a full disk, say; the interpreter would try again at its end, and exit with a code of its own
            _discard_stdout()
    return code


def _discard_stdout() -> None:
    """Have what is still buffered go nowhere, so that it doesn't complain either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run_builtin(args: argparse.Namespace) -> int:
    from importlib import import_module

    return import_module(f"treadle.cli.commands.{COMMAND_MODULES.get(args.command, args.command)}").run(args)


def _run_plugin_command(words: list[str], name: str) -> int:
    """Run a command of an assistant, or report that there is none."""
    from treadle.cli.plugin_commands import run

    return run(words, name)


BUILTIN_COMMANDS = frozenset(entry[0] for entry in COMMANDS)
COMMAND_MODULES = {  # commands that share a module
    **dict.fromkeys(("approve", "deny", "settle"), "approvals"),
    **dict.fromkeys(("queues", "dead-letters"), "queues"),
    **dict.fromkeys(("cancel", "retry", "wait", "watch"), "run_control"),
}


def _print_error(error: Exception) -> int:
    from treadle.cli.ui.screen import Screen
    from treadle.core.errors import SettingsError, TreadleError

    if os.environ.get("TREADLE_DEBUG"):
        import traceback

        traceback.print_exception(error)
    words = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        words = f"{error.filename}: {error.strerror}."
    elif not isinstance(error, TreadleError | OSError):
        words = f"{type(error).__name__}: {error} (unexpected; TREADLE_DEBUG=1 shows where)"
    Screen().prose(f"treadle: {words}")
    return USAGE if isinstance(error, SettingsError) else FAILED


def _print_warning(message: Warning | str, *_: object) -> None:
    """Print a warning as one line, without the place in the code that it is from."""
    print(f"treadle: {message}", file=sys.stderr)


def _prepare_streams() -> None:
    """Make the standard streams accept any text, even if a stream was closed before the process started."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123 - for as long as the process lasts
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _decode_argument(word: str) -> str:
    """Return an argument as text, even if its bytes aren't valid text."""
    return word.encode(errors="surrogateescape").decode(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
