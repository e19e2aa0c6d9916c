"""What has been said in a conversation: what was asked last, and which spec "that one" is. Pure."""

from treadle import History
from treadle.assistants.platform.score import spec_in


def last_spec(history: History | None, words: str = "") -> str:
    """The spec that was shown or pasted last, first of all in these words; empty where none was."""
    if found := spec_in(words):
        return found
    for message in reversed(history or ()):
        if message.role in ("model", "person") and (found := spec_in(message.text)):
            return found
    return ""


def last_question(history: History | None) -> str:
    """What the person said last."""
    return next((message.text for message in reversed(history or ()) if message.role == "person"), "")
