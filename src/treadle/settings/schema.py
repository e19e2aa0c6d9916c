"""The schema of `treadle.toml`: settings with their defaults, and who may set them. Values only.

A project's file comes with the project, perhaps from a stranger: what would weaken safety, start programs or send
code elsewhere can only be set by the user.
"""

from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from treadle.core.errors import SettingsError
from treadle.plugins.entry_points import assistant_settings_type

Count = Annotated[int, Meta(ge=1, le=10**12)]
Amount = Annotated[float, Meta(gt=0, le=10**12)]
DollarAmount = Annotated[float, Meta(ge=0, le=10**6)]
Text = Annotated[str, Meta(max_length=100_000)]
ModelName = Annotated[str, Meta(pattern=r"\A([a-z][\w.-]*:\S.*)?\Z")]
ModelSpecName = Annotated[str, Meta(pattern=r"\A[a-z][\w.-]*:\S.*\Z", max_length=1_000)]
ModelSpecNames = Annotated[tuple[ModelSpecName, ...], Meta(min_length=1)]
HttpUrl = Annotated[str, Meta(pattern=r"\A(https?://[^/@\s]+(/\S*)?)?\Z")]
PostgresUrl = Annotated[str, Meta(pattern=r"\A(postgres(ql)?://\S+)?\Z")]
BranchPrefix = Annotated[str, Meta(pattern=r"\A([A-Za-z0-9][\w-]*([./][\w-]+)*[/.-]?)?\Z")]
RemoteName = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][\w.-]*\Z")]
Name = Annotated[str, Meta(min_length=1, max_length=1_000)]


class ModelSettings(Struct, frozen=True):
    """The model and its options."""

    name: ModelName = ""
    base_url: HttpUrl = ""
    context: Count | None = None
    temperature: Annotated[float, Meta(ge=0, le=10)] | None = None
    max_tokens: Count | None = None
    dialect: Text = ""
    code_mode: bool = False
    grounded: bool | None = None


class LimitSettings(Struct, frozen=True):
    """Limits of a job."""

    rounds: Count = 20
    seconds: Amount | None = None
    tokens: Count | None = None
    cost: Amount | None = None


class PolicySettings(Struct, frozen=True):
    """Rules for every agent, besides its own, as globs over tool names. None has a reason: people would read a project's."""

    allow: tuple[Name, ...] = ()
    ask: tuple[Name, ...] = ()
    deny: tuple[Name, ...] = ()


class GitSettings(Struct, frozen=True):
    """How changes are committed and pushed."""

    branch_prefix: BranchPrefix = "treadle/"
    remote: RemoteName = "origin"
    draft_pr: bool = False
    commit: bool = True
    protected: tuple[Name, ...] = ("main", "master")


class CommandSettings(Struct, frozen=True):
    """What commands may do. Without a list of allowed ones, only the sandbox decides."""

    allow: tuple[Name, ...] | None = None
    forbid: tuple[Name, ...] = ()
    seconds: Amount = 120
    memory_mb: Count = 2048
    disk_mb: Count = 8192
    network: bool = False
    sandbox: bool = True


class TestSettings(Struct, frozen=True):
    """How tests are run: by a command line, in the sandbox, or as detected from the project's files.

    `check` is the command line that checks work where there are no tests.
    """

    command: Text = ""
    check: Text = ""
    runner: Literal["auto", "go", "npm", "python", "rust"] = "auto"


class ProjectSettings(Struct, frozen=True):
    """Facts about the project for the model."""

    name: Text = ""
    facts: tuple[Text, ...] = ()
    instructions: Text = ""


class McpSettings(Struct, frozen=True):
    """An MCP server: a program to start, or a URL. `only` are the tools to use; none means all.

    `retry` says which of them may be called again after a crash, as globs over their names; all others are never
    repeated without asking. With `prefix`, its tools are called `NAME_tool`.
    """

    command: tuple[Name, ...] = ()
    url: HttpUrl = ""
    headers: dict[str, str] = {}
    env: dict[str, str] = {}
    only: tuple[Name, ...] = ()
    retry: dict[str, Literal["idempotent", "once"]] = {}
    private: bool = False
    prefix: bool = True
    assistants: tuple[Name, ...] = ()


class OpenApiSettings(Struct, frozen=True):
    """An OpenAPI document whose operations are tools. `credentials` maps security schemes to environment variables.

    With `prefix`, its tools are called `NAME_operation`.
    """

    document: Name = ""
    base_url: HttpUrl = ""
    origins: tuple[Name, ...] = ()
    private: bool = False
    only: tuple[Name, ...] = ()
    effects: dict[str, Literal["read", "write", "destroy"]] = {}
    retry: dict[str, Literal["idempotent", "keyed", "once"]] = {}
    keyed: tuple[Name, ...] = ()
    headers: dict[str, str] = {}
    credentials: dict[str, Name] = {}
    prefix: bool = True
    assistants: tuple[Name, ...] = ()


class ToolSettings(Struct, frozen=True):
    """Tools in Python: files or modules, and the names in them. `assistants` are those that get them; none means all."""

    python: tuple[Name, ...] = ()
    assistants: tuple[Name, ...] = ()


class ProviderSettings(Struct, frozen=True):
    """How to reach a provider, where that differs from the default. Keys belong into variables, not into a file."""

    base_url: HttpUrl = ""
    headers: dict[str, str] = {}
    api_version: Text = ""
    region: Text = ""
    project: Text = ""
    location: Text = ""


class PriceSettings(Struct, frozen=True):
    """A model's price, in US dollars per million tokens, where it isn't known or differs."""

    input: DollarAmount = 0.0
    output: DollarAmount = 0.0
    cache_read: DollarAmount | None = None


class QuotaSettings(Struct, frozen=True):
    """A quota: of each of these users, and of all users of each of these groups together, per month or day.

    Users may be globs over names. `tokens` are input and output together; `cost` is in US dollars.
    """

    users: tuple[Name, ...] = ()
    groups: tuple[Name, ...] = ()
    tokens: Count | None = None
    cost: Amount | None = None
    period: Literal["day", "month"] = "month"


class ContextSettings(Struct, frozen=True):
    """Model requests: whether they are stored, how much of a result is in them, when they are compacted, and a project's guide."""

    keep: bool = False
    result_limit: Annotated[int, Meta(ge=100, le=10**9)] = 20_000
    compact_at: Annotated[float, Meta(ge=0.1, le=1)] = 0.9
    project_guide: bool = True


class SkillSettings(Struct, frozen=True):
    """Whether models are offered skills, and folders of skills besides the user's own."""

    enabled: bool = True
    folders: tuple[Name, ...] = ()


class MemorySettings(Struct, frozen=True):
    """Whether models have notes that outlast a conversation, and how many characters of their index they read from the start."""

    enabled: bool = False
    index_limit: Annotated[int, Meta(ge=100, le=10**6)] = 4_000


class ServerSettings(Struct, frozen=True):
    """The models that users of a server may choose, besides its default, and the address that browsers reach it at."""

    models: tuple[ModelSpecName, ...] = ()
    public_url: HttpUrl = ""


class OidcSettings(Struct, frozen=True):
    """Sign-in with an OpenID Connect provider; without an issuer there is none.

    The secret of the client is in the variable TREADLE_OIDC_SECRET. `name_claim` gives users their names, `groups_claim` their
    groups, and the lists of groups their roles. `private` admits endpoints at private addresses.
    """

    issuer: HttpUrl = ""
    client_id: Text = ""
    title: Text = "single sign-on"
    scopes: tuple[Name, ...] = ("openid", "profile", "email")
    name_claim: Name = "preferred_username"
    groups_claim: Name = "groups"
    admin_groups: tuple[Name, ...] = ()
    user_groups: tuple[Name, ...] = ()
    reader_groups: tuple[Name, ...] = ()
    session_hours: Annotated[float, Meta(gt=0, le=720)] = 12
    private: bool = False


class NotificationSettings(Struct, frozen=True):
    """A channel of notifications: a webhook, e-mail addresses, the desktop of the machine that sends them, or several of these.

    users           whose runs, as globs over names; users of a server, and "" for runs without one
    events          what is sent: approvals that wait, results, or both
    after_minutes   for approvals only that still wait after so many minutes
    answers         whether results have the answer, and not only that there is one
    secret_variable the environment variable with the secret that signs webhooks
    private         whether the webhook's host may have a private address
    """

    url: HttpUrl = ""
    format: Literal["webhook", "slack"] = "webhook"
    secret_variable: Name = "TREADLE_WEBHOOK_SECRET"  # noqa: S105 - the name of one
    email: tuple[Name, ...] = ()
    desktop: bool = False
    events: tuple[Literal["approval", "result"], ...] = ("approval", "result")
    users: tuple[Text, ...] = ("*",)
    after_minutes: Annotated[float, Meta(ge=0, le=100_000)] = 0
    answers: bool = False
    private: bool = False


class SmtpSettings(Struct, frozen=True):
    """The mail server that sends notifications. The password is in the variable TREADLE_SMTP_PASSWORD."""

    host: Text = ""
    port: Annotated[int, Meta(ge=1, le=65535)] = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    username: Text = ""
    sender: Text = ""


class DatabaseSettings(Struct, frozen=True):
    """Where runs are stored, if not in files: a PostgreSQL database, and how many seconds a write waits for an unavailable one."""

    url: PostgresUrl = ""
    wait: Annotated[float, Meta(ge=0, le=3600)] = 30


class WorkerSettings(Struct, frozen=True):
    """How many runs a worker executes concurrently, how long its lease lasts, and limits across all workers of a database.

    `agents` are the modules of your own programs whose agents workers may import and run; `queues` those that a worker takes runs
    of; `tries` how often a run may fail before it is a dead letter; `drain` for how many seconds a worker that stops lets runs end.
    `app_version` is the version of your application that a worker has, and `compatible_versions` others whose runs it continues.
    """

    at_once: Annotated[int, Meta(ge=1, le=10_000)] = 4
    lease: Annotated[float, Meta(ge=0.5, le=3600)] = 10
    per_user: Count | None = None
    per_model: Count | None = None
    per_minute: Count | None = None
    agents: tuple[str, ...] = ()
    queues: tuple[str, ...] = ("default",)
    tries: Annotated[int, Meta(ge=1, le=100)] = 1
    drain: Annotated[float, Meta(ge=0, le=86400)] = 0
    app_version: str = ""
    compatible_versions: tuple[str, ...] = ()


class QueueSettings(Struct, frozen=True):
    """Limits of a queue across all workers of a database, and how often its runs may fail."""

    at_once: Count | None = None
    per_minute: Count | None = None
    tries: Annotated[int, Meta(ge=1, le=100)] | None = None


class RetentionSettings(Struct, frozen=True):
    """After how many days finished runs and jobs are deleted; never, where unset."""

    runs_days: Amount | None = None
    jobs_days: Amount | None = None


class AssistantSettings(Struct, frozen=True):
    """The assistants' tables. Each assistant has its own struct, `Assistant.settings`; its keys are in `assistant_keys`."""


class Settings(Struct, frozen=True):
    """All settings. `notes` say which of a project's settings were rejected.

    `sources` has the file or variable of each key; `assistants` the explicit values of each assistant, without its
    defaults.
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
    quotas: dict[str, QuotaSettings] = {}
    context: ContextSettings = ContextSettings()
    skills: SkillSettings = SkillSettings()
    memory: MemorySettings = MemorySettings()
    server: ServerSettings = ServerSettings()
    oidc: OidcSettings = OidcSettings()
    notifications: dict[str, NotificationSettings] = {}
    smtp: SmtpSettings = SmtpSettings()
    database: DatabaseSettings = DatabaseSettings()
    worker: WorkerSettings = WorkerSettings()
    queues: dict[str, QueueSettings] = {}
    retention: RetentionSettings = RetentionSettings()
    assistants: dict[str, dict[str, Any]] = {}
    user_file: str = ""
    project_file: str = ""
    sources: dict[str, str] = {}
    notes: tuple[str, ...] = ()

    def said(self, section: str) -> dict[str, Any]:
        """Return the explicit values of a section by key, without defaults."""
        values = getattr(self, section)
        return {key: getattr(values, key.partition(".")[2]) for key in self.sources if key.partition(".")[0] == section}

    def assistant(self, name: str) -> Any:
        """Return an assistant's settings as its own struct: values from files and variables, else its defaults."""
        kind = assistant_settings_type(name)
        if kind is None:
            raise SettingsError(f"The assistant {name} has no settings: it names no struct for them.")
        try:
            return msgspec.convert(self.assistants.get(name, {}), kind)
        except msgspec.ValidationError as error:  # keys that don't go together; each by itself was checked
            raise SettingsError(f"[assistants.{name}] in {self.user_file} can't be used: {error}.") from error


MergeRule = Literal[
    "user",  # the person's alone
    "project",  # the project may say it, and then it counts
    "lower",  # the project may lower it
    "more",  # the project may add to it
    "fewer",  # the project may take away from it
    "on",  # the project may turn it on
    "off",  # the project may turn it off
]


class SettingKey(NamedTuple):
    """A key's merge rule, and its description for error messages."""

    rule: MergeRule
    what: str


KEYS: dict[str, SettingKey] = {
    "model.name": SettingKey("user", "a text such as ollama:qwen3, or a list of such texts"),
    "model.base_url": SettingKey("user", "an address such as http://localhost:8000/v1, without a password in it"),
    "model.context": SettingKey("user", "a whole number from 1 up"),
    "model.temperature": SettingKey("project", "a number from 0 to 10"),
    "model.max_tokens": SettingKey("lower", "a whole number from 1 up"),
    "model.dialect": SettingKey("user", "a text"),
    "model.code_mode": SettingKey("user", "true or false"),
    "model.grounded": SettingKey("user", "true or false"),
    "limits.rounds": SettingKey("lower", "a whole number from 1 up"),
    "limits.seconds": SettingKey("lower", "a number above 0"),
    "limits.tokens": SettingKey("lower", "a whole number from 1 up"),
    "limits.cost": SettingKey("lower", "a number above 0"),
    "policy.allow": SettingKey("user", "a list of tools' names, as globs"),
    "policy.ask": SettingKey("more", "a list of tools' names, as globs"),
    "policy.deny": SettingKey("more", "a list of tools' names, as globs"),
    "git.branch_prefix": SettingKey("project", "a text that a branch's name can begin with, such as treadle/"),
    "git.remote": SettingKey("user", "the name of a remote, such as origin"),
    "git.draft_pr": SettingKey("on", "true or false"),
    "git.commit": SettingKey("off", "true or false"),
    "git.protected": SettingKey("more", "a list of names"),
    "commands.allow": SettingKey("fewer", "a list of names"),
    "commands.forbid": SettingKey("more", "a list of names"),
    "commands.seconds": SettingKey("lower", "a number above 0"),
    "commands.memory_mb": SettingKey("lower", "a whole number from 1 up"),
    "commands.disk_mb": SettingKey("lower", "a whole number from 1 up"),
    "commands.network": SettingKey("off", "true or false"),
    "commands.sandbox": SettingKey("on", "true or false"),
    "tests.command": SettingKey("project", "a text"),
    "tests.check": SettingKey("project", "a text"),
    "tests.runner": SettingKey("project", "auto, go, npm, python or rust"),
    "project.name": SettingKey("project", "a text"),
    "project.facts": SettingKey("project", "a list of texts"),
    "project.instructions": SettingKey("project", "a text"),
    "tools.NAME.python": SettingKey("user", "a list of files or modules, such as tools.py:rollback"),
    "tools.NAME.assistants": SettingKey("user", "a list of assistants' names"),
    "mcp.NAME.command": SettingKey("user", "a list of words: a program and its arguments"),
    "mcp.NAME.url": SettingKey("user", "an address such as https://example.org/mcp, without a password in it"),
    "mcp.NAME.headers": SettingKey("user", "a table of texts"),
    "mcp.NAME.env": SettingKey("user", "a table of texts"),
    "mcp.NAME.only": SettingKey("user", "a list of names"),
    "mcp.NAME.retry": SettingKey("user", 'a table of tools, each "idempotent" or "once"'),
    "mcp.NAME.private": SettingKey("user", "true or false"),
    "mcp.NAME.prefix": SettingKey("user", "true or false"),
    "mcp.NAME.assistants": SettingKey("user", "a list of assistants' names"),
    "openapi.NAME.document": SettingKey("user", "a file or an address"),
    "openapi.NAME.base_url": SettingKey("user", "an address such as https://example.org/v1, without a password in it"),
    "openapi.NAME.origins": SettingKey("user", "a list of addresses such as https://example.org"),
    "openapi.NAME.private": SettingKey("user", "true or false"),
    "openapi.NAME.only": SettingKey("user", "a list of names"),
    "openapi.NAME.effects": SettingKey("user", 'a table of operations, each "read", "write" or "destroy"'),
    "openapi.NAME.retry": SettingKey("user", 'a table of operations, each "idempotent", "keyed" or "once"'),
    "openapi.NAME.keyed": SettingKey("user", "a list of names"),
    "openapi.NAME.headers": SettingKey("user", "a table of texts"),
    "openapi.NAME.credentials": SettingKey("user", "a table of names of variables"),
    "openapi.NAME.prefix": SettingKey("user", "true or false"),
    "openapi.NAME.assistants": SettingKey("user", "a list of assistants' names"),
    "providers.NAME.base_url": SettingKey("user", "an address such as https://gateway.example.org/v1, without a password in it"),
    "providers.NAME.headers": SettingKey("user", "a table of texts"),
    "providers.NAME.api_version": SettingKey("user", "a text"),
    "providers.NAME.region": SettingKey("user", "a text such as eu-central-1"),
    "providers.NAME.project": SettingKey("user", "a text"),
    "providers.NAME.location": SettingKey("user", "a text such as europe-west4"),
    "prices.NAME.input": SettingKey("user", "a number from 0 up"),
    "prices.NAME.output": SettingKey("user", "a number from 0 up"),
    "prices.NAME.cache_read": SettingKey("user", "a number from 0 up"),
    "quotas.NAME.users": SettingKey("user", "a list of users' names, as globs"),
    "quotas.NAME.groups": SettingKey("user", "a list of groups' names"),
    "quotas.NAME.tokens": SettingKey("user", "a whole number from 1 up"),
    "quotas.NAME.cost": SettingKey("user", "a number above 0"),
    "quotas.NAME.period": SettingKey("user", "day or month"),
    "context.keep": SettingKey("user", "true or false"),
    "context.result_limit": SettingKey("lower", "a whole number from 100 up"),
    "context.compact_at": SettingKey("user", "a number from 0.1 to 1"),
    "context.project_guide": SettingKey("off", "true or false"),
    "skills.enabled": SettingKey("off", "true or false"),
    "skills.folders": SettingKey("user", "a list of folders"),
    "memory.enabled": SettingKey("off", "true or false"),
    "memory.index_limit": SettingKey("lower", "a whole number from 100 up"),
    "server.models": SettingKey("user", "a list of models' names, such as ollama:qwen3"),
    "server.public_url": SettingKey("user", "an address such as https://treadle.example.org, without a password in it"),
    "oidc.issuer": SettingKey("user", "an address such as https://login.example.org/realms/team, without a password in it"),
    "oidc.client_id": SettingKey("user", "a text"),
    "oidc.title": SettingKey("user", "a text"),
    "oidc.scopes": SettingKey("user", "a list of scopes, such as openid"),
    "oidc.name_claim": SettingKey("user", "the name of a claim, such as preferred_username"),
    "oidc.groups_claim": SettingKey("user", "the name of a claim, such as groups"),
    "oidc.admin_groups": SettingKey("user", "a list of groups' names"),
    "oidc.user_groups": SettingKey("user", "a list of groups' names"),
    "oidc.reader_groups": SettingKey("user", "a list of groups' names"),
    "oidc.session_hours": SettingKey("user", "a number above 0 and up to 720"),
    "oidc.private": SettingKey("user", "true or false"),
    "notifications.NAME.url": SettingKey("user", "an address such as https://hooks.example.org/x, without a password in it"),
    "notifications.NAME.format": SettingKey("user", "webhook or slack"),
    "notifications.NAME.secret_variable": SettingKey("user", "the name of a variable"),
    "notifications.NAME.email": SettingKey("user", "a list of e-mail addresses"),
    "notifications.NAME.desktop": SettingKey("user", "true or false"),
    "notifications.NAME.events": SettingKey("user", 'a list of "approval" and "result"'),
    "notifications.NAME.users": SettingKey("user", "a list of users' names, as globs"),
    "notifications.NAME.after_minutes": SettingKey("user", "a number from 0 up"),
    "notifications.NAME.answers": SettingKey("user", "true or false"),
    "notifications.NAME.private": SettingKey("user", "true or false"),
    "smtp.host": SettingKey("user", "the name of a host"),
    "smtp.port": SettingKey("user", "a whole number from 1 to 65535"),
    "smtp.security": SettingKey("user", "starttls, tls or none"),
    "smtp.username": SettingKey("user", "a text"),
    "smtp.sender": SettingKey("user", "an e-mail address"),
    "database.url": SettingKey("user", "an address such as postgresql://anna@localhost/treadle"),
    "database.wait": SettingKey("user", "a number from 0 to 3600"),
    "worker.at_once": SettingKey("user", "a whole number from 1 to 10000"),
    "worker.lease": SettingKey("user", "a number from 0.5 to 3600"),
    "worker.per_user": SettingKey("user", "a whole number from 1 up"),
    "worker.per_model": SettingKey("user", "a whole number from 1 up"),
    "worker.per_minute": SettingKey("user", "a whole number from 1 up"),
    "worker.agents": SettingKey("user", "a list of names of modules"),
    "worker.queues": SettingKey("user", "a list of names of queues"),
    "worker.tries": SettingKey("user", "a whole number from 1 to 100"),
    "worker.drain": SettingKey("user", "a number from 0 to 86400"),
    "worker.app_version": SettingKey("user", 'a version, such as "2.4", or "auto"'),
    "worker.compatible_versions": SettingKey("user", "a list of versions"),
    "queues.NAME.at_once": SettingKey("user", "a whole number from 1 up"),
    "queues.NAME.per_minute": SettingKey("user", "a whole number from 1 up"),
    "queues.NAME.tries": SettingKey("user", "a whole number from 1 to 100"),
    "retention.runs_days": SettingKey("user", "a number above 0"),
    "retention.jobs_days": SettingKey("user", "a number above 0"),
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
    "quotas": QuotaSettings,
    "context": ContextSettings,
    "skills": SkillSettings,
    "memory": MemorySettings,
    "server": ServerSettings,
    "oidc": OidcSettings,
    "notifications": NotificationSettings,
    "smtp": SmtpSettings,
    "database": DatabaseSettings,
    "worker": WorkerSettings,
    "queues": QueueSettings,
    "retention": RetentionSettings,
    "assistants": AssistantSettings,
}

NAMED = ("tools", "mcp", "openapi", "providers", "prices", "queues", "quotas", "notifications")  # with a table for each name

Said = dict[str, Any]  # values by their keys: `limits.rounds`, `mcp.github.url`


def key_pattern(key: str) -> str:
    """Return a key as the table lists it: `mcp.github.url` is `mcp.NAME.url`."""
    parts = key.split(".")
    named = parts[0] in NAMED and (len(parts) == 3 or (parts[0] == "prices" and len(parts) > 3))  # a model's name may have dots
    return f"{parts[0]}.NAME.{parts[-1]}" if named else key


def default_of(key: str) -> Any:
    """Return a key's default."""
    section, _, name = key.partition(".")
    return getattr(SECTIONS[section](), name.rpartition(".")[2])
