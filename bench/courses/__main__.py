"""`python -m bench.courses`: questions on the sample courses, each in a run of its own; what was right, and what was answered."""

from bench.courses.dataset import fresh, seen, unseen
from bench.quality import main

if __name__ == "__main__":
    main(
        "courses",
        "Questions on the sample courses",
        {"with which the plan may have been made": seen, "whose first run was looked at": unseen, "held out": fresh},
    )
