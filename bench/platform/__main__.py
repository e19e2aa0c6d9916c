"""`python -m bench.platform`: questions on the demo platform, each in a run of its own; what was right, and what was answered."""

from bench.platform.dataset import seen, unseen
from bench.quality import main

if __name__ == "__main__":
    main(
        "platform",
        "Questions on the demo platform",
        {"asked as alice, with which the plan was made": seen, "asked as bob, held out": unseen},
    )
