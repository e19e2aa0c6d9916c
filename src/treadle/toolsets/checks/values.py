"""Selection and outcome of a test run. Values only.

`ChecksNotRun` says why tests were never started; each message is a sentence for the model that says what to do.
"""

from typing import Literal

from msgspec import Struct

from treadle.core.errors import ToolProblem, TreadleError


class ChecksNotRun(TreadleError, ToolProblem):
    """No runner, no program, or a selection that the runner doesn't support."""


Kind = Literal["auto", "go", "npm", "python", "rust"]
Runner = Literal["pytest", "unittest", "go", "cargo", "jest", "vitest", "mocha", "node", "npm", "command", "check"]
State = Literal[
    "passed",
    "failed",  # some tests failed, or all passed and the command still said no
    "no tests",  # none ran: there are none, none fit, or all were skipped
    "crashed",  # no test could run, or the runner broke off
    "timed out",
    "not run",  # never started; the output says why
]


class CheckSelection(Struct, frozen=True):
    """Which tests to run; all of them by default.

    type     what kind of project, if not the one that its files show
    path     a file or folder of tests
    name     a test's name, or a pattern of names
    package  for Go and Rust: the package
    script   for npm: the script of package.json
    module   for Python: the module, as tests.test_shop
    count    how often, to find flaky tests; it ends with the first run that fails
    command  a shell line that runs all of them, where the user set one; any other selection takes precedence
    check    a shell line that checks the project where there are no tests, such as a compiler: its exit code alone counts
    """

    type: Kind = "auto"
    path: str = ""
    name: str = ""
    package: str = ""
    script: str = ""
    module: str = ""
    count: int = 1
    command: str = ""
    check: str = ""

    @property
    def is_all(self) -> bool:
        """Whether no particular tests are selected."""
        return not any((self.path, self.name, self.package, self.script, self.module))


class CheckFailure(Struct, frozen=True):
    """A test that failed, or an error that kept tests from running, with its location as far as known."""

    name: str
    message: str = ""
    path: str = ""
    line: int | None = None


class CheckOutcome(Struct, frozen=True):
    """Outcome of a test run. `errors` are no tests: a module that can't be imported, a fixture that broke.

    Not every failure need be among `failures`; the counts are of all. `last` is the last test begun, where the run was aborted
    and the runner reports it; `runs` is how often the tests ran.
    """

    runner: Runner | Literal[""]
    command: str
    passed: int
    failed: int
    skipped: int
    errors: int
    failures: tuple[CheckFailure, ...]
    state: State
    output: str
    seconds: float
    last: str = ""
    runs: int = 1
