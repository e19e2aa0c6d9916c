"""What a process is told before it lives: which run, where, what to call, and how it is going to die. Values only."""

from typing import Literal

from msgspec import Struct

Action = Literal["kill", "stop"]


class Order(Struct, frozen=True):
    """One life of one process.

    folder      where the world file and the log of lives are
    home        the folder of the stores
    plan        which calls are to be made (see `plans`)
    store       `postgresql://…`; a SQLite file in the home where it is empty
    tail        seconds that a tool goes on after its effect
    bulk        characters of each result
    streamed    whether the model's replies come in pieces
    watched     whether somebody watches the run, and so is told of it
    point       where the process ends itself, at which passing of it, and whether it dies or only freezes
    kill_at     seconds after the run began in this process at which it is killed
    freeze_for  seconds for which it stays frozen where it froze itself
    cold        a new interpreter, instead of one that has everything imported
    wait        seconds that a write waits for a locked file; as ever where it is 0
    lease       seconds of a lease under which the run is carried on; none where it is 0
    at_once     runs that a worker carries on at the same time
    how         what else a peer has to know
    patience    seconds after which a process counts as stuck
    """

    folder: str
    home: str
    run_id: str
    plan: str
    store: str = ""
    tail: float = 0.0
    bulk: int = 0
    streamed: bool = True
    watched: bool = False
    point: str = ""
    passing: int = 1
    action: Action = "kill"
    kill_at: float | None = None
    freeze_for: float = 0.0
    cold: bool = False
    wait: float = 0.0
    lease: float = 0.0
    at_once: int = 10
    how: str = ""
    patience: float = 90.0
    born: float = 0.0


class Life(Struct, frozen=True):
    """How a life ended: killed, stuck (and then killed), or with a report.

    seconds  those after its run began
    born     when, by the machine's steady clock
    died     when it was killed, in seconds since 1970
    pid      of its process
    """

    killed: bool = False
    stuck: bool = False
    error: str = ""
    stopped: str = ""
    text: str = ""
    interrupted: tuple[str, ...] = ()
    passed: dict[str, int] = {}
    audit: str = ""
    seconds: float = 0.0
    born: float = 0.0
    died: float = 0.0
    pid: int = 0
