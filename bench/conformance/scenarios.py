"""Which scenarios of the suite don't apply to Treadle, and why. All others are run; one that is new is, too."""

TEXT = "results are text: a tool of Treadle's returns what a model reads"
ONLY_TOOLS = "the server offers tools, no {}"
FORMS = "the server asks its client's person for approval, and for nothing else; tools have no forms of their own"
NO_OAUTH = "the client does no OAuth: a person's settings or credentials give the header that a server wants"

SERVER = {
    "logging-set-level": ONLY_TOOLS.format("log"),
    "completion-complete": ONLY_TOOLS.format("prompts and resources whose arguments could be completed"),
    "tools-call-image": TEXT,
    "tools-call-audio": TEXT,
    "tools-call-embedded-resource": TEXT,
    "tools-call-mixed-content": TEXT,
    "tools-call-with-logging": ONLY_TOOLS.format("log"),
    "tools-call-sampling": "the server asks no model of its client's: calls are carried out, not thought about",
    "elicitation-sep1034-defaults": FORMS,
    "elicitation-sep1330-enums": FORMS,
}
CLIENT = {
    "elicitation-sep1034-client-defaults": "the client offers no elicitation: a server can't put questions to Treadle's person",
}


def why_not(side: str, scenario: str) -> str:
    """Why a scenario doesn't apply; empty where it does."""
    kind = scenario.partition("-")[0]
    if side == "server" and kind in ("resources", "prompts"):
        return ONLY_TOOLS.format(kind)
    if side == "client" and scenario.startswith("auth/"):
        return NO_OAUTH
    return (SERVER if side == "server" else CLIENT).get(scenario, "")
