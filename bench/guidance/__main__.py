"""`python -m bench.guidance`: questions on the sample project, each in a run of its own; what was right, and what was answered."""

from bench.guidance.dataset import questions, unseen
from bench.quality import main

if __name__ == "__main__":
    main("guidance", "Questions on the sample project", {"with which the plan was made": questions, "held out": unseen})
