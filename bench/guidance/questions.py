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

# Held out: written before they were asked first, and nothing is changed for them.
UNSEEN = (
    Question("What weight does the depot constraint have?", (r"\b60\b",), ("get_problem_spec",)),
    Question("List the constraints with a weight below 95", ("Budget", "Depot"), ("get_problem_spec",)),
    Question("What does my spec say about fares?", ("stay|same|not be raised|unchanged|as they are",), ("get_problem_spec",)),
    Question("How punctual do we want the buses to be?", ("three minutes|3 minutes",), ("get_problem_spec",)),
    Question("How many drivers are missing?", (r"\b12\b|twelve",), ("get_world_model",)),
    Question("How many kilometres of bus lanes are there?", (r"4\.5",), ("get_world_model",)),
    Question("What is bunching?", ("late", "catch|passengers"), ("get_world_model",)),
    Question("What did we leave out of the model to keep it simple?", ("[Ss]now|[Ww]eather",), ("get_world_model",)),
    Question(
        "Which resources does the world model have?", ("[Bb]uses", "[Dd]rivers", "[Bb]udget", "[Ll]anes"), ("get_world_model",)
    ),
    Question("Who decides on signals?", ("[Cc]ouncil",), ("get_world_model",)),
    Question("What is this project about?", ("[Bb]us",), ()),
    Question("How far along is this project?", ("[Rr]un|spec|model|complete|step",), ()),
    Question("Change the weight of the depot constraint to 40", (), (), waits=True),
    Question("Please remove the goal about passengers", (), (), waits=True),
    Question("Add an assumption: fuel prices stay the same", (), (), waits=True),
    Question("New constraint: noise at night, weight 50", (), (), waits=True),
)
