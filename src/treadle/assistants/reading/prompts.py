"""Prompts of the execution paths. Short: every token is read before the first word comes, and a small machine reads slowly.

The forms of answers have no words of their own: a small model takes the content of an example for that of the file.
"""

from collections.abc import Iterable, Sequence

import msgspec

from treadle.assistants.reading.reading_types import Range

_TASK = "You tell a developer what a source file is for, before they read it: why it is there and what its parts do, never how."
_ANSWER = """\
Answer with one JSON object and nothing else, of this form:
{"file_intent": "…", "responsibilities": [{"label": "…", "description": "…", "ranges": [[1, 2]]}]}
file_intent says in 1 to 4 lines why the file exists. Give 3 to 6 responsibilities, each with a label of 2 to 5 words of its own. \
Each holds all that serves one purpose: functions, state, imports, types and constants, also where they are scattered. Every \
definition belongs to exactly one; give line ranges as they are numbered. No catch-all such as "helpers" or "misc"."""
OPTIONAL = """
A responsibility may also have "elements": {"functions": [], "state": [], "imports": [], "types": [], "constants": []}, names as \
the file has them, for what its ranges don't make clear; and the object "metadata": {"notes": "…"}, for what a reader should know \
besides."""

FAST = f"{_TASK}\nYou get the file with numbered lines.\n{_ANSWER}"
OUTLINE = f"{_TASK}\nYou get its outline: line ranges, definitions, the first words of comments.\n{_ANSWER}"
TOOLS = f"""\
{_TASK}
You get its outline: line ranges, definitions, the first words of comments. Where names and comments leave open what a part is \
for (names such as process, handle, data; long code without a comment), read its lines with refer_to_source_code, several \
ranges in one reply. What is clear needs no reading.
{_ANSWER}"""
IDENTIFY = f"""\
{_TASK}
You get the file's shallow syntax tree. Which lines have to be read before that can be said? Answer with one JSON object and \
nothing else: {{"ranges_to_read": [{{"start_line": 1, "end_line": 9, "reason": "…", "element_type": "function", \
"element_name": "…", "priority": "high"}}]}}. What is clear from names and comments needs no reading."""
ANALYSE = f"{_TASK}\nYou get the file's shallow syntax tree, and the lines that had to be read.\n{_ANSWER}"
AGAIN = "That can't be used yet:\n{problems}\nGive the whole JSON object again, put right."


def format_echoes(phrases: Iterable[str]) -> str:
    """Format the problem of an answer that repeats its instructions."""
    said = ", ".join([f'"{phrase}"' for phrase in phrases])
    return f"{said} is in your instructions and not in the code. Say what this code does, in its own words."


def number_source_lines(lines: Sequence[str]) -> str:
    """Prefix source lines with their numbers: models count badly."""
    return "\n".join([f"{number}|{line}" for number, line in enumerate(lines, 1)])


def format_file_prompt(filename: str, language: str, what: str, content: str) -> str:
    """Format the one message about a file."""
    return f"{filename} ({language}), {what}:\n{content}"


def format_snippets_prompt(filename: str, language: str, tree: str, snippets: Iterable[tuple[Range, str]]) -> str:
    """Format the second message of the two-stage path: the tree again, and the lines that were read."""
    read = {f"{start}-{end}": text for (start, end), text in snippets}
    return format_file_prompt(filename, language, "its syntax tree", f"{tree}\n\nLines read:\n{msgspec.json.encode(read).decode()}")
