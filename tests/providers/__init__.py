"""A provider kit: strict mock servers for five wires, and cases that any agent library can be run against.

`servers` refuses what the real servers refuse, `cases` says what is asked and what has to come out, `adapters` runs a case with
one library, `score` counts. Nothing here knows how a library works: it is judged by its requests and by its answer.
"""
