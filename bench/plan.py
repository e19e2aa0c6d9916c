"""How much to measure: the full plan and the quick one. Sizes only, no measuring."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """Peers are a hundred times slower, so they get fewer of everything."""

    name: str
    rounds: tuple[int, ...]
    peer_rounds: tuple[int, ...]
    calls: tuple[int, ...]
    wire_rounds: tuple[int, ...]
    turns: int
    sample_seconds: float
    patience: float
    peer_patience: float
    longest_peer_cell: float
    events: int
    levels: tuple[int, ...]
    peer_levels: tuple[int, ...]
    load_waves: int
    load_turns: int
    import_turns: int
    import_patience: float
    first_answers: bool


FULL = Plan(
    name="full",
    rounds=(10, 50, 200),
    peer_rounds=(10, 50, 200),
    calls=(1, 4),
    wire_rounds=(10, 200),
    turns=15,
    sample_seconds=0.04,
    patience=3.0,
    peer_patience=1.0,
    longest_peer_cell=20.0,
    events=2000,
    levels=(1, 100, 1000),
    peer_levels=(1, 100, 1000),
    load_waves=2,
    load_turns=2,
    import_turns=7,
    import_patience=3.0,
    first_answers=True,
)

QUICK = Plan(
    name="quick",
    rounds=(10, 200),
    peer_rounds=(10,),
    calls=(1, 4),
    wire_rounds=(10, 200),
    turns=7,
    sample_seconds=0.03,
    patience=0.8,
    peer_patience=0.3,
    longest_peer_cell=5.0,
    events=1000,
    levels=(100, 1000),
    peer_levels=(),
    load_waves=2,
    load_turns=1,
    import_turns=3,
    import_patience=0.8,
    first_answers=False,
)
