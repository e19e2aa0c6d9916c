"""The questions, what a right answer has in it, and which tools have to have been asked. Written before they were asked first."""

from msgspec import Struct


class Question(Struct, frozen=True):
    """`has` are patterns that all have to be found, `looks` tools that have to be called; `waits` says that a change waits."""

    text: str
    has: tuple[str, ...] = ()
    looks: tuple[str, ...] = ()
    waits: bool = False


QUESTIONS = (
    Question("What constraints are in my ProblemSpec?", ("Budget", "Fares", "Drivers", "Depot"), ("get_problem_spec",)),
    Question(
        "Compare my ProblemSpec constraints with my WorldModel resources",
        ("[Bb]udget", "[Bb]us|[Dd]river"),
        ("get_problem_spec", "get_world_model"),
    ),
    Question("Which constraints are a must?", ("Fares", "Drivers"), ("get_problem_spec",)),
    Question("How heavy is the budget constraint?", (r"\b90\b",), ("get_problem_spec",)),
    Question("What are our goals?", ("three minutes|timetable", "[Pp]assengers"), ("get_problem_spec",)),
    Question("Who are the actors in my world model?", ("Passengers", "Drivers", "[Cc]ouncil"), ("get_world_model",)),
    Question("How many buses do we have?", (r"\b64\b",), ("get_world_model",)),
    Question("What do we assume about demand?", ("5 ?%|5 percent|within",), ("get_world_model",)),
    Question("Which mechanisms did we model?", ("[Bb]unching", "[Ss]ignal"), ("get_world_model",)),
    Question("What should I do next?", ("[Rr]un|search",), ()),
    Question("Has anything been run yet?", (r"\b(no|not|nothing|none|hasn't)\b",), ()),
    Question("add a budget constraint of 10k, weight 80", (), (), waits=True),
    Question("Add a goal: drivers like their shifts", (), (), waits=True),
    Question("Put the bus company in as an actor", (), (), waits=True),
)
