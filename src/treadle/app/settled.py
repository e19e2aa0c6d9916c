"""What can be settled in `treadle.toml`: the values with their defaults, and who may say what. Values only.

A project's file comes with the project, perhaps from a stranger: what would loosen safety, start programs or send code elsewhere is
the person's alone to say.
"""

from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from treadle.app.plugins import settings_type
from treadle.core.errors import SettingsError

Count = Annotated[int, Meta(ge=1, le=10**12)]
Amount = Annotated[float, Meta(gt=0, le=10**12)]
Price = Annotated[float, Meta(ge=0, le=10**6)]
Text = Annotated[str, Meta(max_length=100_000)]
ModelName = Annotated[str, Meta(pattern=r"\A([a-z][\w.-]*:\S.*)?\Z")]
Chosen = Annotated[str, Meta(pattern=r"\A[a-z][\w.-]*:\S.*\Z", max_length=1_000)]
Names = Annotated[tuple[Chosen, ...], Meta(min_length=1)]
Address = Annotated[str, Meta(pattern=r"\A(https?://[^/@\s]+(/\S*)?)?\Z")]
Database = Annotated[str, Meta(pattern=r"\A(postgres(ql)?://\S+)?\Z")]
Prefix = Annotated[str, Meta(pattern=r"\A([A-Za-z0-9][\w-]*([./][\w-]+)*[/.-]?)?\Z")]
Remote = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][\w.-]*\Z")]
Name = Annotated[str, Meta(min_length=1, max_length=1_000)]


class ModelSettings(Struct, frozen=True):
    """Which model is used, and how."""

    name: ModelName = ""
    base_url: Address = ""
    context: Count | None = None
    temperature: Annotated[float, Meta(ge=0, le=10)] | None = None
    max_tokens: Count | None = None
    dialect: Text = ""


class LimitSettings(Struct, frozen=True):
    """How much a job may take."""

    rounds: Count = 20
    seconds: Amount | None = None
    tokens: Count | None = None
    cost: Amount | None = None


class PolicySettings(Struct, frozen=True):
    """Rules for every agent, besides its own, as globs over names of tools. None has a reason: people would read a project's."""

    allow: tuple[Name, ...] = ()
    ask: tuple[Name, ...] = ()
    deny: tuple[Name, ...] = ()


class GitSettings(Struct, frozen=True):
    """What happens to changes."""

    branch_prefix: Prefix = "treadle/"
    remote: Remote = "origin"
    draft_pr: bool = False
    commit: bool = True
    protected: tuple[Name, ...] = ("main", "master")


class CommandSettings(Struct, frozen=True):
    """What commands may do. Without a list of those that are allowed, the sandbox alone decides."""

    allow: tuple[Name, ...] | None = None
    forbid: tuple[Name, ...] = ()
    seconds: Amount = 120
    memory_mb: Count = 2048
    disk_mb: Count = 8192
    network: bool = False
    sandbox: bool = True


class TestSettings(Struct, frozen=True):
    """How tests are run: by a command line, in the sandbox, or by what the project's files show."""

    command: Text = ""
    runner: Literal["auto", "go", "npm", "python", "rust"] = "auto"


class ProjectSettings(Struct, frozen=True):
    """What a model is told of the project."""

    name: Text = ""
    facts: tuple[Text, ...] = ()
    instructions: Text = ""


class McpSettings(Struct, frozen=True):
    """An MCP server: a program to start, or an address. `only` are the tools that are wanted; none means all.

    `retry` says which of them may be called again after a crash, as globs over their names; all others never are, unasked.
    """

    command: tuple[Name, ...] = ()
    url: Address = ""
    headers: dict[str, str] = {}
    env: dict[str, str] = {}
    only: tuple[Name, ...] = ()
    retry: dict[str, Literal["idempotent", "once"]] = {}
    private: bool = False
    assistants: tuple[Name, ...] = ()


class OpenApiSettings(Struct, frozen=True):
    """An OpenAPI document whose operations are tools. `credentials` says which variable of the environment is for which scheme."""

    document: Name = ""
    base_url: Address = ""
    origins: tuple[Name, ...] = ()
    private: bool = False
    only: tuple[Name, ...] = ()
    effects: dict[str, Literal["read", "write", "destroy"]] = {}
    retry: dict[str, Literal["idempotent", "keyed", "once"]] = {}
    keyed: tuple[Name, ...] = ()
    headers: dict[str, str] = {}
    credentials: dict[str, Name] = {}
    assistants: tuple[Name, ...] = ()


class ToolSettings(Struct, frozen=True):
    """Tools in Python: files or modules, and the names in them. `assistants` are those that have them; none means all."""

    python: tuple[Name, ...] = ()
    assistants: tuple[Name, ...] = ()


class ProviderSettings(Struct, frozen=True):
    """How a provider is reached, where that isn't what everybody has. Keys belong into variables, not into a file."""

    base_url: Address = ""
    headers: dict[str, str] = {}
    api_version: Text = ""
    region: Text = ""
    project: Text = ""
    location: Text = ""


class PriceSettings(Struct, frozen=True):
    """What a model costs, in US dollars for a million tokens, where that isn't known or isn't what you pay."""

    input: Price = 0.0
    output: Price = 0.0
    cache_read: Price | None = None


class ContextSettings(Struct, frozen=True):
    """What is kept of what a model was told, and how many characters of a result it is shown."""

    keep: bool = False
    result_limit: Annotated[int, Meta(ge=100, le=10**9)] = 20_000


class ServerSettings(Struct, frozen=True):
    """What whoever uses a server may choose: the models by these names, besides the one that it uses."""

    models: tuple[Chosen, ...] = ()


class DatabaseSettings(Struct, frozen=True):
    """Where runs are kept, if not in files: a PostgreSQL database, and how many seconds a write waits for one that is away."""

    url: Database = ""
    wait: Annotated[float, Meta(ge=0, le=3600)] = 30


class WorkerSettings(Struct, frozen=True):
    """How many runs a worker carries out at once, how long it may be silent, and what holds over all workers of a database."""

    at_once: Annotated[int, Meta(ge=1, le=10_000)] = 4
    lease: Annotated[float, Meta(ge=0.5, le=3600)] = 10
    per_user: Count | None = None
    per_model: Count | None = None
    per_minute: Count | None = None


class RetentionSettings(Struct, frozen=True):
    """After how many days runs and jobs that are over are deleted; never, where none says so."""

    runs_days: Amount | None = None
    jobs_days: Amount | None = None


class AssistantSettings(Struct, frozen=True):
    """Each assistant has a struct of its own for its table: `Assistant.settings`. Its keys are in `assistant_keys`."""


class Settings(Struct, frozen=True):
    """Everything that was settled. `notes` say what a project said that wasn't taken.

    `sources` say which file or variable a key is from; `assistants` has what was said for each, without its defaults.
    """

    model: ModelSettings = ModelSettings()
    limits: LimitSettings = LimitSettings()
    policy: PolicySettings = PolicySettings()
    git: GitSettings = GitSettings()
    commands: CommandSettings = CommandSettings()
    tests: TestSettings = TestSettings()
    project: ProjectSettings = ProjectSettings()
    tools: dict[str, ToolSettings] = {}
    mcp: dict[str, McpSettings] = {}
    openapi: dict[str, OpenApiSettings] = {}
    providers: dict[str, ProviderSettings] = {}
    prices: dict[str, PriceSettings] = {}
    context: ContextSettings = ContextSettings()
    server: ServerSettings = ServerSettings()
    database: DatabaseSettings = DatabaseSettings()
    worker: WorkerSettings = WorkerSettings()
    retention: RetentionSettings = RetentionSettings()
    assistants: dict[str, dict[str, Any]] = {}
    user_file: str = ""
    project_file: str = ""
    sources: dict[str, str] = {}
    notes: tuple[str, ...] = ()

    def said(self, section: str) -> dict[str, Any]:
        """What files say of a section, by key; nothing of what is a default."""
        values = getattr(self, section)
        return {key: getattr(values, key.partition(".")[2]) for key in self.sources if key.partition(".")[0] == section}

    def assistant(self, name: str) -> Any:
        """Return an assistant's settings, as the struct that it names: what files and variables say, else its defaults."""
        kind = settings_type(name)
        if kind is None:
            raise SettingsError(f"The assistant {name} has no settings: it names no struct for them.")
        try:
            return msgspec.convert(self.assistants.get(name, {}), kind)
        except msgspec.ValidationError as error:  # keys that don't go together; each by itself was checked
            raise SettingsError(f"[assistants.{name}] in {self.user_file} can't be used: {error}.") from error


Rule = Literal[
    "user",  # the person's alone
    "project",  # the project may say it, and then it counts
    "lower",  # the project may lower it
    "more",  # the project may add to it
    "fewer",  # the project may take away from it
    "on",  # the project may turn it on
    "off",  # the project may turn it off
]


class Key(NamedTuple):
    """Who may say it, and what it has to be, for a sentence."""

    rule: Rule
    what: str


KEYS: dict[str, Key] = {
    "model.name": Key("user", "a text such as ollama:qwen3, or a list of such texts"),
    "model.base_url": Key("user", "an address such as http://localhost:8000/v1, without a password in it"),
    "model.context": Key("user", "a whole number from 1 up"),
    "model.temperature": Key("project", "a number from 0 to 10"),
    "model.max_tokens": Key("lower", "a whole number from 1 up"),
    "model.dialect": Key("user", "a text"),
    "limits.rounds": Key("lower", "a whole number from 1 up"),
    "limits.seconds": Key("lower", "a number above 0"),
    "limits.tokens": Key("lower", "a whole number from 1 up"),
    "limits.cost": Key("lower", "a number above 0"),
    "policy.allow": Key("user", "a list of tools' names, as globs"),
    "policy.ask": Key("more", "a list of tools' names, as globs"),
    "policy.deny": Key("more", "a list of tools' names, as globs"),
    "git.branch_prefix": Key("project", "a text that a branch's name can begin with, such as treadle/"),
    "git.remote": Key("user", "the name of a remote, such as origin"),
    "git.draft_pr": Key("on", "true or false"),
    "git.commit": Key("off", "true or false"),
    "git.protected": Key("more", "a list of names"),
    "commands.allow": Key("fewer", "a list of names"),
    "commands.forbid": Key("more", "a list of names"),
    "commands.seconds": Key("lower", "a number above 0"),
    "commands.memory_mb": Key("lower", "a whole number from 1 up"),
    "commands.disk_mb": Key("lower", "a whole number from 1 up"),
    "commands.network": Key("off", "true or false"),
    "commands.sandbox": Key("on", "true or false"),
    "tests.command": Key("project", "a text"),
    "tests.runner": Key("project", "auto, go, npm, python or rust"),
    "project.name": Key("project", "a text"),
    "project.facts": Key("project", "a list of texts"),
    "project.instructions": Key("project", "a text"),
    "tools.NAME.python": Key("user", "a list of files or modules, such as tools.py:rollback"),
    "tools.NAME.assistants": Key("user", "a list of assistants' names"),
    "mcp.NAME.command": Key("user", "a list of words: a program and its arguments"),
    "mcp.NAME.url": Key("user", "an address such as https://example.org/mcp, without a password in it"),
    "mcp.NAME.headers": Key("user", "a table of texts"),
    "mcp.NAME.env": Key("user", "a table of texts"),
    "mcp.NAME.only": Key("user", "a list of names"),
    "mcp.NAME.retry": Key("user", 'a table of tools, each "idempotent" or "once"'),
    "mcp.NAME.private": Key("user", "true or false"),
    "mcp.NAME.assistants": Key("user", "a list of assistants' names"),
    "openapi.NAME.document": Key("user", "a file or an address"),
    "openapi.NAME.base_url": Key("user", "an address such as https://example.org/v1, without a password in it"),
    "openapi.NAME.origins": Key("user", "a list of addresses such as https://example.org"),
    "openapi.NAME.private": Key("user", "true or false"),
    "openapi.NAME.only": Key("user", "a list of names"),
    "openapi.NAME.effects": Key("user", 'a table of operations, each "read", "write" or "destroy"'),
    "openapi.NAME.retry": Key("user", 'a table of operations, each "idempotent", "keyed" or "once"'),
    "openapi.NAME.keyed": Key("user", "a list of names"),
    "openapi.NAME.headers": Key("user", "a table of texts"),
    "openapi.NAME.credentials": Key("user", "a table of names of variables"),
    "openapi.NAME.assistants": Key("user", "a list of assistants' names"),
    "providers.NAME.base_url": Key("user", "an address such as https://gateway.example.org/v1, without a password in it"),
    "providers.NAME.headers": Key("user", "a table of texts"),
    "providers.NAME.api_version": Key("user", "a text"),
    "providers.NAME.region": Key("user", "a text such as eu-central-1"),
    "providers.NAME.project": Key("user", "a text"),
    "providers.NAME.location": Key("user", "a text such as europe-west4"),
    "prices.NAME.input": Key("user", "a number from 0 up"),
    "prices.NAME.output": Key("user", "a number from 0 up"),
    "prices.NAME.cache_read": Key("user", "a number from 0 up"),
    "context.keep": Key("user", "true or false"),
    "context.result_limit": Key("lower", "a whole number from 100 up"),
    "server.models": Key("user", "a list of models' names, such as ollama:qwen3"),
    "database.url": Key("user", "an address such as postgresql://anna@localhost/treadle"),
    "database.wait": Key("user", "a number from 0 to 3600"),
    "worker.at_once": Key("user", "a whole number from 1 to 10000"),
    "worker.lease": Key("user", "a number from 0.5 to 3600"),
    "worker.per_user": Key("user", "a whole number from 1 up"),
    "worker.per_model": Key("user", "a whole number from 1 up"),
    "worker.per_minute": Key("user", "a whole number from 1 up"),
    "retention.runs_days": Key("user", "a number above 0"),
    "retention.jobs_days": Key("user", "a number above 0"),
}

SECTIONS: dict[str, type[Struct]] = {
    "model": ModelSettings,
    "limits": LimitSettings,
    "policy": PolicySettings,
    "git": GitSettings,
    "commands": CommandSettings,
    "tests": TestSettings,
    "project": ProjectSettings,
    "tools": ToolSettings,
    "mcp": McpSettings,
    "openapi": OpenApiSettings,
    "providers": ProviderSettings,
    "prices": PriceSettings,
    "context": ContextSettings,
    "server": ServerSettings,
    "database": DatabaseSettings,
    "worker": WorkerSettings,
    "retention": RetentionSettings,
    "assistants": AssistantSettings,
}

NAMED = ("tools", "mcp", "openapi", "providers", "prices")  # sections with a table for each name

Said = dict[str, Any]  # values by their keys: `limits.rounds`, `mcp.github.url`


def pattern_of(key: str) -> str:
    """A key as the table has it: `mcp.github.url` is `mcp.NAME.url`."""
    parts = key.split(".")
    named = parts[0] in NAMED and (len(parts) == 3 or (parts[0] == "prices" and len(parts) > 3))  # a model's name may have dots
    return f"{parts[0]}.NAME.{parts[-1]}" if named else key


def default_of(key: str) -> Any:
    """What a key is where nobody says anything."""
    section, _, name = key.partition(".")
    return getattr(SECTIONS[section](), name.rpartition(".")[2])
