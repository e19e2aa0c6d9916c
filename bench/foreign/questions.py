"""The first hundred questions, written from the material alone and before any of them was asked.

Twenty for each kind of source, the last five of each ask for what isn't there. The assistants' plans were changed
after most of them had been asked once: those in `held_out` were written after that.
"""

from msgspec import Struct


class Question(Struct, frozen=True):
    """`has` are patterns that all have to be in a right answer, `lacks` patterns that mustn't be in it.

    `absent` says that nothing in the material answers it: a right answer says so, and makes nothing up.
    """

    text: str
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    absent: bool = False


def absent(text: str, *lacks: str) -> Question:
    return Question(text, (), lacks, absent=True)


PLATFORM = (
    Question("Which applications are ours?", ("ferry-tickets", "lost-and-found", "tide-tables"), ("crew-roster",)),
    Question("how many apps has our team got", (r"\b(3|three)\b",)),
    Question("Did anything fail to deploy?", ("lost-and-found",)),
    Question("what broke the deployment of lost-and-found?", ("quota|bucket",)),
    Question("Which image is ferry-tickets on?", (r"tickets:7\.0\.2",)),
    Question("how big is the database called seats", ("40",)),
    Question("which postgres version does tide-tables have behind it?", (r"\b14\b",)),
    Question("After how many hours does the environment of tide-tables go away?", ("48",)),
    Question("Which app keeps its pictures in the bucket photos?", ("lost-and-found",)),
    Question("who am i logged in as", ("alice",)),
    Question("What rights do I have here?", ("developer",)),
    Question(
        "can i have a look at crew-roster?", ("access|refus|denied|not (yours|allowed)|another team|permission|permitted|rights",)
    ),
    Question("Which golden paths could I use?", ("deploy-app", "ephemeral-env")),
    Question("How many of my workflows ended badly?", (r"\b(1|one)\b",)),
    Question("For how long do we keep bookings after a sailing?", (r"14 months|fourteen months",)),
    absent("What does ferry-tickets cost us a month?", r"[$€£]\s?\d", r"\d+ (dollars|euros)"),
    absent("Which programming language is tide-tables written in?", r"\b(Python|Java|Go|Rust|Ruby|JavaScript|TypeScript)\b"),
    absent("what's the phone number of the storage team?", r"\d{3,}"),
    absent("How many passengers bought a ticket yesterday?", r"\b\d{2,}\b"),
    absent("Is there an application named boarding-gates?", r"\b[Yy]es\b"),
)

GUIDANCE = (
    Question("What limits do we have to respect?", ("35,?000|[Mm]oney", "[Oo]pen", "[Ff]ibre|[Aa]llerg", "[Cc]eiling|[Ll]ooks")),
    Question("how much money is there", (r"35[,.]?000",)),
    Question("Which constraint weighs most?", ("[Oo]pen",)),
    Question("what weight did we give to allergies", (r"\b70\b",)),
    Question("How loud may it get at a full table?", ("65",)),
    Question("What are we trying to achieve?", ("65|decibel|hear",)),
    Question("How many pupils eat here?", (r"\b420\b",)),
    Question("when is the caretaker on site", (r"6[:.]30",)),
    Question("How many tables are there in the canteen?", (r"\b52\b",)),
    Question("why do people get louder and louder?", ("[Ll]ombard|louder in noise|noise grows",)),
    Question("How long does the echo last?", (r"1\.9",)),
    Question("How long do we have in summer?", ("six weeks|6 weeks",)),
    Question("Which fire class do panels need?", (r"class B|\bB\b",)),
    Question("what did we leave out to keep things simple?", ("[Dd]ishwasher|[Kk]itchen",)),
    Question("How many pupils do we expect at most in the coming years?", (r"\b440\b",)),
    absent("Who is the headteacher?", r"\b(Mr|Mrs|Ms|Dr)\b(?!\.? Oyelaran)", r"[Hh]eadteacher is [A-Z]"),
    absent("What did the canteen cost when it was built?", r"[$€£]\s?\d", r"built for \d"),
    absent("How loud is the playground?", r"\d+ (dB|decibel)"),
    absent("Which company will put the panels up?", r"\b(GmbH|Ltd|Inc|Company [A-Z])\b"),
    absent("What is on the menu on Friday?", r"\b(fish|pizza|pasta|soup)\b"),
)

COURSES = (
    Question("Who led the project right after Ian Murdock?", ("Perens",)),
    Question("when was the project founded", ("1993",)),
    Question("Where does the name Debian come from?", ("Debra",)),
    Question("Which film do the code names come from?", ("Toy Story",)),
    Question("What was the first release with a code name?", (r"1\.1|Buzz",)),
    Question("how many packages were in buzz?", (r"\b474\b",)),
    Question("Why did 1.0 never come out?", ("InfoMagic|CD vendor|accident",)),
    Question("Which release brought apt?", (r"2\.1|[Ss]link",)),
    Question("What is Potato named after?", ("Potato Head",)),
    Question("When was woody released?", ("2002",)),
    Question("Which architecture did Etch add?", ("AMD64|amd64",)),
    Question("who was leader when 4.0 came out?", ("Hocevar",)),
    Question("What does a source package consist of?", (r"\.dsc|orig\.tar",)),
    Question("How do I get rid of an old kernel package?", ("purge|dpkg",)),
    Question("which distribution should i take for a server on the internet", ("stable",)),
    absent("How many employees does Microsoft have?", r"\d{2,}[,.]?\d{3}"),
    absent("What did Ian Murdock earn in his first year?", r"[$€£]\s?\d"),
    absent("Which Debian release will come out in 2035?", r"2035 (is|will be) [A-Z]"),
    absent("How do I repair the brakes of my bicycle?", r"\b(caliper|brake pads|cable tension)\b"),
    absent("Who composed the Debian hymn?", r"composed by [A-Z]"),
)

FUNCTIONS = (
    Question("Which plants are in the kitchen?", ("[Bb]asil", "[Aa]loe"), ("[Mm]onstera",)),
    Question("how often do I have to water the monstera", (r"\b(9|nine)\b",)),
    Question("When did I last water the fern?", (r"2026-03-02|March 2|2 March|2nd of March|March 2nd",)),
    Question("How many plants have I got?", (r"\b(5|five)\b",)),
    Question("what did I spend on groceries in February", (r"112[.,]4",)),
    Question("What did the shoes cost?", (r"89[.,]9",)),
    Question("Which shop did I buy the drill at?", ("Kobalt",)),
    Question("what's on on 14 March?", ("[Cc]hoir",)),
    Question("Where is the parents' evening?", ("[Rr]oom 12|[Ll]indenschule",)),
    Question("at what time does the choir rehearsal begin", (r"19:15|7:15",)),
    Question("What's Ayodele's phone number?", (r"0176 5550132",)),
    Question("In which town does Marit live?", ("Bergen",)),
    Question("Whose email address ends with example.net?", ("Marit",)),
    Question("How much did I spend in March altogether?", (r"147[.,]9",)),
    Question("Which of my plants needs water least often?", ("[Aa]loe",)),
    absent("What's my blood type?", r"\b(A|B|AB|O)[+-]", r"type (A|B|AB|O)\b"),
    absent("What is Ayodele's birthday?", r"\d{4}-\d{2}-\d{2}", r"\b(January|February|April|May|June|July|August)\b"),
    absent("How many plants are in the cellar?", r"\b([2-9]|two|three|four|five)\b plants"),
    absent("What is Thorsten's phone number?", r"0176|\d{5,}"),
    absent("What's on on 20 March?", r"[Cc]hoir|[Dd]entist|[Pp]arents"),
)

OPENAPI = (
    Question("Which books by Ursula Grosse do you have?", ("Salt Road", "Glass Orchard")),
    Question("how many copies of The Salt Road are in", (r"\b(3|three)\b",)),
    Question("In what year did Glass Orchard come out?", ("2011",)),
    Question("Where do I find A Short Walk to the Sea?", ("C7",)),
    Question("Is Winter Engines in at the moment?", (r"\b(no|not|0|none|isn't|out)\b",)),
    Question("what has member 31 borrowed", ("Winter Engines",)),
    Question("When is the book of member 44 due?", (r"2026-05-09|May 9|9 May|9th of May|May 9th",)),
    Question("What does member 31 owe?", (r"2[.,]5",)),
    Question("what time do you close on Saturdays?", (r"13:00|1:00|1 ?p\.?m|1 o'clock",)),
    Question("are you open on sunday", (r"\b([Nn]o|[Nn]ot|closed|aren't)\b",)),
    Question("What events are there in May?", ("Repair|repair", "[Rr]eading")),
    Question("In which room is the repair café?", ("[Aa]ttic",)),
    Question("How many people can come to the reading?", (r"\b60\b",)),
    Question("Which branch has a lift?", ("Mill",)),
    Question("what's the address of the Harbour branch?", ("Quay 4",)),
    absent("Do you have The Hobbit?", r"\b[Yy]es\b", r"we have The Hobbit"),
    absent("What's the name of the librarian?", r"librarian is [A-Z]"),
    absent("How many members does the library have?", r"\b\d{3,}\b members"),
    absent("What has member 99 borrowed?", "Winter Engines|Salt Road|Glass Orchard"),
    absent("How much is a parking ticket near the Mill branch?", r"[$€£]\s?\d", r"\d+ (euros|cents)"),
)
