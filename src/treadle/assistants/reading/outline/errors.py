"""What can go wrong with an outline; each message is a sentence for a person.

TreadleError
└── OutlineError
    ├── UnknownLanguage     no such language
    ├── GrammarMissing      its grammar isn't installed
    ├── NotText             binary
    ├── TooLarge            more than the limit
    └── OutlineFailed       the child process crashed, or took too long
"""

from treadle import TreadleError


class OutlineError(TreadleError):
    """No outline can be made."""


class UnknownLanguage(OutlineError):
    """No language by that name."""


class GrammarMissing(OutlineError):
    """The package with a language's grammar isn't installed."""


class NotText(OutlineError):
    """Bytes that are no text."""


class TooLarge(OutlineError):
    """More bytes than the limit allows."""


class OutlineFailed(OutlineError):
    """The parsing process crashed or took too long."""
