"""Which tests to run, and what came of them. Values only."""

from typing import Literal

from msgspec import Struct

Kind = Literal["auto", "go", "npm", "python", "rust"]
Runner = Literal["pytest", "unittest", "go", "cargo", "jest", "vitest", "mocha", "node", "npm", "command"]
State = Literal[
    "passed",
    "failed",  # some tests failed, or all passed and the command still said no
    "no tests",  # none ran: there are none, none fit, or all were skipped
    "crashed",  # no test could run, or the runner broke off
    "timed out",
    "not run",  # never started; the output says why
]


class Wanted(Struct, frozen=True):
    """Which tests to run; all of them, if nothing else is said.

    type     what kind of project, if not the one that its files show
    path     a file or folder of tests
    name     a test's name, or a pattern of names
    package  for Go and Rust: the package
    script   for npm: the script of package.json
    module   for Python: the module, as tests.test_shop
    count    how often, to find tests that fail now and then; it ends with the first run that fails
    command  a shell line that runs all of them, where a person settled on one; what else is wanted comes before it
    """

    type: Kind = "auto"
    path: str = ""
    name: str = ""
    package: str = ""
    script: str = ""
    module: str = ""
    count: int = 1
    command: str = ""

    @property
    def is_all(self) -> bool:
        """Whether nothing in particular is wanted."""
        return not any((self.path, self.name, self.package, self.script, self.module))


class Failure(Struct, frozen=True):
    """A test that failed, or something that kept tests from running; where, as far as that is known."""

    name: str
    message: str = ""
    path: str = ""
    line: int | None = None


class Outcome(Struct, frozen=True):
    """What came of a run of tests. `errors` are no tests: a module that can't be imported, a fixture that broke.

    Not every failure need be among `failures`; the counts are of all. `last` is the last test begun, where the run was broken off
    and the runner tells; `runs` is how often the tests ran.
    """

    runner: Runner | Literal[""]
    command: str
    passed: int
    failed: int
    skipped: int
    errors: int
    failures: tuple[Failure, ...]
    state: State
    output: str
    seconds: float
    last: str = ""
    runs: int = 1
