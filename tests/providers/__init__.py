"""A provider kit: strict mock servers for five wires, and cases that any agent library can be run against.

`servers` refuses what the real servers refuse, `cases` says what is asked and what has to come out, `adapters` runs a case with
one library, `score` counts. Nothing here knows how a library works: it is judged by its requests and by its answer. A request
that breaks the protocol fails its case. One with a parameter that this very model doesn't take is refused in the server's words,
as it would be, and the case goes on if the library then does without it. Another library needs one module in `adapters`.
"""
