"""The questions, and what a right answer has in it: patterns that all have to be found, or the call that has to be asked for."""

from msgspec import Struct

SPEC = """\
apiVersion: score.dev/v1b1
metadata:
  name: hello
containers:
  web:
    image: nginx:1.27"""

DOCUMENTS = {
    "quotas.md": "# Quotas\n\nEvery team may have ten buckets and five databases. Ask in #platform to have a quota raised.\n",
    "nights.md": "# Nights\n\nDevelopment environments are stopped at night, from 20:00 to 06:00, to save money.\n",
    "access.md": "# Access\n\nA new member of a team asks the team's lead, who adds them in Keycloak. It takes an hour.\n",
}


class Question(Struct, frozen=True):
    """Something to ask. `call` is a tool that has to wait for approval, with these words in its arguments."""

    text: str
    has: tuple[str, ...] = ()
    call: str = ""


SEEN = (  # asked as alice; the plan and its words were made with these in view
    Question("What applications do I have?", ("checkout", "demo-app", "storefront")),
    Question("How many applications do I have?", (r"\b(3|three)\b",)),
    Question("Which of my workflows have failed?", ("demo-app",)),
    Question("Show me failed workflows for demo-app.", (r"deploy-app|\b7\b",)),
    Question("Why did workflow 7 fail?", ("health|503|password",)),
    Question("How many steps does workflow 7 have?", (r"\b(4|four)\b",)),
    Question("Show me workflow 1.", ("storefront", "completed|success")),
    Question("What is the status of the newest workflow of checkout?", ("running",)),
    Question("Which image does the web container of storefront run?", (r"storefront:4\.2\.1",)),
    Question("What resources does storefront have?", (r"\bdb\b", "images")),
    Question("Which of my resources is degraded?", ("images",)),
    Question("What type of resource is checkout's ledger?", ("postgres",)),
    Question("In which environment does checkout run?", ("production",)),
    Question("Who am I on this platform?", ("alice",)),
    Question("What team am I in?", ("shop",)),
    Question("What is my role?", ("developer",)),
    Question("How many resources does the dashboard show?", (r"\b(4|four)\b",)),
    Question("What golden paths are there?", ("deploy-app", "ephemeral-env")),
    Question("Which providers does the platform have?", ("database-team", "storage-team")),
    Question(
        "Show me the application named reports.",
        ("access|refus|denied|not (yours|allowed|permitted)|another team|permission|rights",),
    ),
    Question("Is there an application called payments?", (r"\b(no|not|isn't|doesn't)\b",)),
    Question("Delete the application demo-app.", ("demo-app",), "delete_application"),
    Question(f"Deploy this:\n```yaml\n{SPEC}\n```", (r"\A\{\}\Z|nginx:1\.27",), "deploy_application"),
    Question("How many buckets may a team have?", (r"\b(10|ten)\b",)),
    Question("When are development environments stopped?", (r"20:00|8 ?p\.?m|night",)),
    Question(
        "Write a Score spec for an app called hello that runs nginx:1.27 with a postgres database.",
        ("name: hello", "type: postgres"),
    ),
)

UNSEEN = (  # asked as bob; written before they were asked for the first time, and nothing was changed after that
    Question("Which apps does my team run?", ("metrics-pipeline", "reports")),
    Question("Did any deployment of metrics-pipeline go wrong?", (r"\byes\b|fail|quota",)),
    Question("What was the reason that workflow 6 failed?", ("quota|bucket",)),
    Question("What state is the warehouse of metrics-pipeline in?", ("requested",)),
    Question("Which container images does reports use?", (r"reports:1\.7\.0",)),
    Question("For how long does the environment of reports live?", ("72",)),
    Question("Which version of postgres does reports use?", (r"\b15\b",)),
    Question("What does the golden path ephemeral-env do?", ("branch|environment",)),
    Question("Who provides vault spaces?", ("vault-team",)),
    Question("my role please", ("developer",)),
    Question("whoami", ("bob",)),
    Question("How many workflows are running at the moment?", (r"\b(0|no|none|zero)\b",)),
    Question("List the resources of reports", (r"\bdb\b",)),
    Question("How much storage does the warehouse of metrics-pipeline ask for?", ("200",)),
    Question("Let me see storefront", ("access|refus|denied|another team|permission|rights",)),
    Question("Do we have an app called billing?", (r"\b(no|not|isn't|doesn't)\b",)),
    Question("Please remove reports", ("reports",), "delete_application"),
    Question(
        "Draft a spec for a worker named resizer with the image registry.example/resizer:1.0 and a bucket",
        ("name: resizer", "type: .*(s3|bucket|storage)"),
    ),
    Question("Where do I ask to have a quota raised?", ("platform",)),
    Question("How does a new colleague get access?", ("lead|keycloak",)),
    Question("How long does it take until new access works?", ("hour",)),
    Question("Hi there!", (".",)),
)
