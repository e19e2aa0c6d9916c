"""What a model is asked, and what is right: words that have to be in the answer and others that mustn't, and what it is from.

Written before any of it was asked. The plan may be made with `SEEN` in view. `UNSEEN` was held out until its first run; what was
wrong then has been looked at since. `FRESH` is held out now: written from the lessons, and never asked while the plan was made.
"""

from msgspec import Struct

from bench.courses.questions import BOTS, BREAD, DATABASES, GARDEN, GIT, NETWORKS, SKY, STATISTICS

Place = tuple[str, int | None]  # a lesson; with None, the course itself, by its outline

NO = r"\b(no|not|none|nothing|cannot)\b|\b(do|does|is|are|can)n.t\b"
EVERY = (BREAD, BOTS, DATABASES, NETWORKS, GARDEN, GIT, STATISTICS, SKY)


class Question(Struct, frozen=True):
    """Something to ask. `has` are patterns that all have to be found in the answer, `lacks` patterns that mustn't be.

    `sources` are where it may be from: at least one of them is named as a source, and with `alone` nothing else is. An empty
    tuple says that there mustn't be any source; None, that it doesn't matter.
    """

    kind: str
    text: str
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    sources: tuple[Place, ...] | None = None
    alone: bool = False


SEEN = (
    Question(
        "fact", "How much salt goes into bread made with 500 grams of flour?", (r"\b10\b|\b2 ?(%|percent)",), (), ((BREAD, 1),)
    ),
    Question("fact", "How far from the Sun can Venus get in the sky?", (r"\b47\b|forty-seven",), (), ((SKY, 3),)),
    Question("fact", "What is the usual setting of k1 in BM25?", (r"\b1\.2\b",), (), ((BOTS, 3),)),
    Question(
        "lesson",
        "What does lesson 5 of Baking Bread at Home say about steam?",
        ("crust|skin|shell|condens",),
        (),
        ((BREAD, 5),),
        alone=True,
    ),
    Question(
        "lesson",
        "In the networks course, what does lesson 2 say about traceroute?",
        ("TTL|counter",),
        (),
        ((NETWORKS, 2),),
        alone=True,
    ),
    Question(
        "lesson 0",
        "What is lesson 0 of Statistics without Fear about?",
        ("average|mean|median",),
        (),
        ((STATISTICS, 0),),
        alone=True,
    ),
    Question(
        "outline",
        "What are the lessons of Baking Bread at Home?",
        ("Flour and Water", "Yeast and Salt", "Kneading", "Shaping", "Proofing", "Steam", "Sourdough"),
        (),
        ((BREAD, None),),
    ),
    Question(
        "outline",
        "Outline of the git course please",
        ("Staging", "Branches", "Merging", "Undoing", "Remotes", "Bisect"),
        (),
        ((GIT, None),),
    ),
    Question("instructor", "Who teaches Talking to Databases?", ("Ingrid Mwangi",), (), ((DATABASES, None),)),
    Question("courses", "Which courses do you have?", EVERY),
    Question(
        "two looks",
        "Is there a course on the same topic as lesson 4 of Chatbots That Look Things Up?",
        ("Databases|Vector Search",),
        (),
        ((DATABASES, 5),),
    ),
    Question("not said", "What does the git course say about GitHub Actions?", (NO,), ("CI/CD|ya?ml|automat",)),
    Question("wrong name", "What are the lessons of Underwater Basket Weaving?", (NO,), (r"\bLesson 1:",), ()),
    Question("talk", "Hello, how are you?", (r"\w",), (), ()),
)

UNSEEN = (
    Question(
        "fact", "How high does the sun stand at noon in June at 50 degrees of latitude?", (r"\b63\b",), (r"\b17\b",), ((GARDEN, 1),)
    ),
    Question("fact", "In which year did Linus Torvalds write Git?", ("2005",), (), ((GIT, 0),)),
    Question(
        "fact",
        "How many people have to be in a room before two of them probably share a birthday?",
        (r"\b23\b",),
        (),
        ((STATISTICS, 2),),
    ),
    Question("fact", "For how many days does the reflog keep its entries?", (r"\b90\b",), (), ((GIT, 4),)),
    Question("fact", "Which port do encrypted web servers listen on?", (r"\b443\b",), (), ((NETWORKS, 3),)),
    Question("fact", "How hot is the middle of a plain loaf when it's done?", (r"\b9[5-8]\b",), (), ((BREAD, 5),)),
    Question("fact", "How many aphids does one ladybird larva eat?", (r"\b400\b|four hundred",), (), ((GARDEN, 5),)),
    Question("fact", "Why should money be stored as whole cents?", ("exact|binary|drift|fraction",), (), ((DATABASES, 0),)),
    Question(
        "lesson",
        "What does lesson 3 of Talking to Databases say about the leftmost prefix rule?",
        ("first|order|left",),
        (),
        ((DATABASES, 3),),
        alone=True,
    ),
    Question(
        "lesson",
        "According to lesson 2 of Reading the Night Sky, how long is it from one new moon to the next?",
        (r"\b29\b|29\.5|twenty-nine",),
        (r"\b27\b",),
        ((SKY, 2),),
        alone=True,
    ),
    Question(
        "lesson",
        "what does the garden course say in lesson 4 about basil from the supermarket",
        ("cram|seedling|divide|clump",),
        (),
        ((GARDEN, 4),),
        alone=True,
    ),
    Question(
        "lesson 0",
        "How many bits does an IPv6 address have, according to lesson 0 of How networks find things?",
        (r"\b128\b",),
        (),
        ((NETWORKS, 0),),
        alone=True,
    ),
    Question(
        "lesson 0",
        "What is lesson 0 of Git from the Start about?",
        ("snapshot|histor|Torvalds|state",),
        (),
        ((GIT, 0),),
        alone=True,
    ),
    Question(
        "outline",
        "Which topics does Statistics without Fear go through, lesson by lesson?",
        ("Averages", "Spread", "Chance", "Samples", "Correlation", "Tests"),
        (),
        ((STATISTICS, None),),
    ),
    Question("outline", "How many lessons does A Garden on the Balcony have?", (r"\b(5|five)\b",), (), ((GARDEN, None),)),
    Question("instructor", "Who is the instructor of Statistics without Fear?", ("Leilani Petrov",), (), ((STATISTICS, None),)),
    Question(
        "link",
        "Where do I find the course How networks find things online?",
        ("example.org/courses/how-networks-find-things",),
        (),
        ((NETWORKS, None),),
    ),
    Question("courses", "Give me a list of all the courses that are on offer", EVERY),
    Question(
        "two looks",
        "Which other course covers what lesson 3 of Chatbots That Look Things Up is about?",
        ("Databases|Full-Text",),
        (),
        ((DATABASES, 5),),
    ),
    Question(
        "two looks",
        "Is there a lesson elsewhere on the same subject as lesson 5 of Talking to Databases?",
        ("Chatbots|Finding by (Words|Meaning)|Retrieval",),
        (),
        ((BOTS, 3), (BOTS, 4), (BOTS, 5)),
    ),
    Question(
        "not said", "Which brand of flour does Baking Bread at Home recommend?", (NO,), ("King Arthur|Gold Medal|Bob's|Dove",)
    ),
    Question("not said", "Does any course explain how to make croissants?", (NO,), ("laminat|puff",)),
    Question(
        "wrong name",
        "Who teaches Woodworking for Absolute Beginners?",
        (NO,),
        ("Brandt|Mwangi|Petrov|Okonjo|Halloran|Achterberg",),
        (),
    ),
    Question("wrong name", "What does lesson 1 of Conversational Finnish say?", (NO,), (), ()),
    Question("talk", "Thanks, that helped a lot!", (r"\w",), (), ()),
    Question("talk", "What is 12 times 12?", (r"\b144\b",), (), ()),
)

FRESH = (
    Question("fact", "How many pages does a lookup in a B-tree read?", ("three|four|3|4",), (), ((DATABASES, 3),)),
    Question("fact", "At what angle is the razor blade held when scoring a loaf?", (r"\b30\b",), (), ((BREAD, 3),)),
    Question(
        "fact", "How many networks that govern themselves does the internet consist of?", (r"75[,.]?000",), (), ((NETWORKS, 2),)
    ),
    Question(
        "fact", "Which way of pushing refuses when somebody else has pushed meanwhile?", ("force-with-lease",), (), ((GIT, 5),)
    ),
    Question("fact", "How many litres of soil does a tall tomato need?", (r"\b(20|30)\b",), (), ((GARDEN, 2),)),
    Question("fact", "How many degrees does an outstretched fist cover in the sky?", (r"\bten\b|\b10\b",), (), ((SKY, 1),)),
    Question("fact", "Why does rice flour keep dough from sticking to the basket?", ("gluten|dry",), (), ((BREAD, 3),)),
    Question("fact", "What should you do when the dent from your finger springs back at once?", ("time|wait",), (), ((BREAD, 4),)),
    Question(
        "lesson",
        "What does lesson 4 of Talking to Databases say about deadlocks?",
        ("order|victim|wait",),
        (),
        ((DATABASES, 4),),
        alone=True,
    ),
    Question(
        "lesson",
        "In lesson 3 of the git course, what is the golden rule of rebasing?",
        ("others|never",),
        (),
        ((GIT, 3),),
        alone=True,
    ),
    Question("lesson", "What is lesson 3 of A Garden on the Balcony about?", ("water",), (), ((GARDEN, 3),), alone=True),
    Question("lesson 0", "Summarise lesson 0 of Talking to Databases", ("table|key|fact",), (), ((DATABASES, 0),), alone=True),
    Question("outline", "What does the night sky course cover?", ("North", "Moon", "Planets", "Seasons"), (), ((SKY, None),)),
    Question("instructor", "Who made the course about git?", ("Yusuf Halloran",), (), ((GIT, None),)),
    Question(
        "link", "Give me the link to Baking Bread at Home", ("example.org/courses/baking-bread-at-home",), (), ((BREAD, None),)
    ),
    Question(
        "two looks",
        "Does another course deal with the same thing as lesson 5 of How networks find things?",
        (r"\w",),
        (),
        ((NETWORKS, None),),
    ),
    Question("not said", "What does the garden course say about growing potatoes?", (NO,), ("hill|chit|seed potato",)),
    Question("not said", "Which model of telescope does Reading the Night Sky recommend?", (NO,), ("Celestron|Newton|refractor",)),
    Question("wrong name", "Give me an outline of Pottery on the Wheel", (NO,), (r"\bLesson 1:",), ()),
    Question("talk", "Good morning!", (r"\w",), (), ()),
)
