"""Errors of the outline; each message is a sentence for the user.

TreadleError
└── OutlineError
    ├── UnknownLanguage     no such language
    ├── GrammarMissing      its grammar isn't installed
    ├── NotText             binary
    ├── SourceTooLarge      more than the limit
    └── OutlineFailed       the child process crashed, or took too long
"""

from treadle import TreadleError


class OutlineError(TreadleError):
    """No outline can be made."""


class UnknownLanguage(OutlineError):
    """The language isn't supported."""


class GrammarMissing(OutlineError):
    """The package with a language's grammar isn't installed."""


class NotText(OutlineError):
    """The bytes aren't text."""


class SourceTooLarge(OutlineError):
    """More bytes than the limit allows."""


class OutlineFailed(OutlineError):
    """The parsing process crashed or took too long."""
