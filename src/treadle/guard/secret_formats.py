"""Secrets recognized by their format: the keys and tokens of well-known services. A table, and no more.

Each head is a bounded regular expression whose only group is the secret, as far as it takes to be sure; its tail matches the
rest. Neither backtracks. A format is searched only in text that contains one of its triggers.
"""

import re
from functools import cache

from msgspec import Struct

WORD = r"[A-Za-z0-9_-]*+"
DOTTED = r"(?:[A-Za-z0-9_-]++|\.(?=[A-Za-z0-9_-]))*"
BASE64 = r"[A-Za-z0-9+/=._-]*+"
NONE = ""
ESCAPE = r"(?:%[0-9A-Fa-f]{2}|\\[nrt]|\\u[0-9A-Fa-f]{4})"  # ends in letters that aren't those of what follows


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a regular expression when it is first needed."""
    return re.compile(pattern)


def match_end(pattern: str, text: str, start: int, stop: int) -> int:
    """Return where `pattern` ends when matched from `start` on, at most `stop`."""
    found = compile_pattern(pattern).match(text, start, stop)
    return start if found is None else found.end()


class SecretHead(Struct, frozen=True):
    """The beginning of a secret.

    start, end  as far as it is certain
    kind        its kind
    tail        what else belongs to it, as a regular expression
    after       where to search for the next one of its kind
    """

    start: int
    end: int
    kind: str
    tail: str
    after: int


class SecretFormat(Struct, frozen=True):
    """One kind of secret.

    triggers  one of these is in every text that has it
    rare      and so is this letter, which few texts have
    alone     no letter or digit comes right before it
    """

    kind: str
    triggers: tuple[str, ...]
    head: str
    tail: str = WORD
    rare: str = ""
    alone: bool = True


def _prefixed_format(kind: str, prefixes: str, least: int = 20, letters: str = "A-Za-z0-9_-", trigger: str = "") -> SecretFormat:
    """Return a format of one of some prefixes and at least so many characters. `trigger` is what all prefixes have in common."""
    rare = next((letter for letter in "_-/AG." if all(letter in prefix for prefix in prefixes.split())), "")
    either = prefixes.replace(".", r"\.").replace(" ", "|")
    triggers = (trigger,) if trigger else tuple(prefixes.split())
    tail = BASE64 if "/" in letters or "=" in letters else WORD
    return SecretFormat(kind, triggers, rf"((?:{either})[{letters}]{{{least}}})", tail, rare)


_W = "[A-Za-z0-9_-]"

FORMATS: tuple[SecretFormat, ...] = (
    SecretFormat(
        "aws_key",
        ("AKIA", "ASIA", "ABIA", "ACCA", "A3T"),
        r"(A(?:(?:[KSB]I|CC)A|3T[A-Z0-9])[A-Z0-9]{16})(?![A-Za-z0-9])",
        NONE,
        "A",
    ),
    _prefixed_format("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", 20, "A-Za-z0-9"),
    _prefixed_format("github_token", "github_pat_"),
    _prefixed_format("gitlab_token", "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat- gloas- glffct-", 16),
    _prefixed_format("gitlab_token", "GR1348941", 16),
    SecretFormat("slack_token", ("xox", "xapp-"), r"((?:xox[abceoprs](?:\.xox[abp])?|xapp)-[A-Za-z0-9-]{10})", rare="-"),
    SecretFormat(
        "slack_webhook", ("hooks.slack.com/",), r"hooks\.slack\.com/[a-z]{1,16}/([A-Za-z0-9+/]{8})", BASE64, "/", alone=False
    ),
    SecretFormat("discord_webhook", ("/api/webhooks/",), rf"/api/webhooks/\d{{5,30}}/({_W}{{8}})", rare="/", alone=False),
    SecretFormat("stripe_key", ("k_live_", "k_test_", "k_prod_"), r"([sr]k_(?:live|test|prod)_[A-Za-z0-9]{10})", rare="_"),
    _prefixed_format("webhook_secret", "whsec_", 16, "A-Za-z0-9+/"),
    SecretFormat(
        "api_key",
        ("sk-",),
        r"(sk-(?:(?:proj|ant|svcacct|admin|or|lf)-[A-Za-z0-9_-]{16}|[A-Za-z0-9]{20}|(?=[A-Za-z]{0,15}\d)[A-Za-z0-9]{16}))",
        rare="-",
    ),
    _prefixed_format("google_key", "AIza", 30),
    _prefixed_format("google_token", "ya29."),
    _prefixed_format("google_token", "GOCSPX-"),
    _prefixed_format("google_token", "1//0"),
    SecretFormat("jwt", ("eyJ",), rf"(eyJ{_W}{{7,320}}+\.{_W}{{8}})", DOTTED, "J"),
    _prefixed_format("pypi_token", "pypi-Ag", 16),
    _prefixed_format("npm_token", "npm_", 20, "A-Za-z0-9"),
    SecretFormat("sendgrid_key", ("SG.",), rf"(SG\.{_W}{{16,32}}+\.{_W}{{16}})", rare="G"),
    SecretFormat("twilio_key", ("SK",), r"(SK[0-9A-Fa-f]{32})(?![A-Za-z0-9])", NONE, "K"),
    SecretFormat("twilio_account", ("AC",), r"(AC[0-9a-f]{32})(?![A-Za-z0-9])", NONE, "A"),
    _prefixed_format("huggingface_token", "hf_", 20, "A-Za-z0-9"),
    _prefixed_format("digitalocean_token", "dop_v1_ doo_v1_ dor_v1_", 20, "a-f0-9", "_v1_"),
    SecretFormat("telegram_token", (":AA",), rf"((?:bot)?\d{{8,10}}+:AA{_W}{{30}})", rare=":"),
    SecretFormat("mailgun_key", ("key-",), r"(key-[0-9a-f]{32})(?![A-Za-z0-9])", NONE, "-"),
    SecretFormat("mailchimp_key", ("-us",), r"([0-9a-f]{32}-us\d{1,2})(?![A-Za-z0-9])", NONE, "-"),
    SecretFormat("azure_secret", ("Q~",), r"([A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{30})", r"[A-Za-z0-9_~.-]*+", "~"),
    _prefixed_format("shopify_token", "shpat_ shpca_ shppa_ shpss_", 32, "A-Fa-f0-9", "shp"),
    _prefixed_format("docker_token", "dckr_pat_ dckr_oat_", trigger="dckr_"),
    _prefixed_format("grafana_token", "glsa_ glc_eyJ", 20, "A-Za-z0-9+/=_-"),
    _prefixed_format("vault_token", "hvs. hvb. hvr.", trigger="hv"),
    _prefixed_format("atlassian_token", "ATATT3", 20, "A-Za-z0-9=_-"),
    _prefixed_format("age_key", "AGE-SECRET-KEY-1", 50, "A-Z0-9"),
    _prefixed_format("artifactory_token", "AKCp", 20, "A-Za-z0-9"),
    _prefixed_format("artifactory_token", "AKC", 32, "A-Za-z0-9"),
    SecretFormat("artifactory_password", ("AP",), r"(AP[0-9A-F](?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24})", rare="A"),
    SecretFormat(
        "softlayer_key", ("softlayer.com/soap/",), r"softlayer\.com/soap/v3(?:\.1)?/([a-z0-9]{32})", rare="/", alone=False
    ),
    _prefixed_format("databricks_token", "dapi", 32, "a-f0-9"),
    _prefixed_format("sentry_token", "sntrys_ sntryu_", 20, "A-Za-z0-9+/=_-", "sntry"),
    _prefixed_format("api_key", "gsk_ r8_ fw_ rdme_ pnu_ shippo_live_ shippo_test_ duffel_live_ duffel_test_", 20, "A-Za-z0-9"),
    _prefixed_format("api_key", "xai- tvly- nvapi- pplx-", 20, "A-Za-z0-9"),
    _prefixed_format("api_token", "lin_api_ rubygems_ sbp_ nfp_ figd_ secret_ ntn_ sgp_", 24, "A-Za-z0-9"),
    _prefixed_format("api_token", "ops_eyJ fo1_ fm1_ fm2_", 24, "A-Za-z0-9+/=_-"),
    _prefixed_format("api_token", "pscale_tkn_ pscale_pw_ pscale_oauth_", 24, "A-Za-z0-9=._-", "pscale_"),
    _prefixed_format("api_token", "PMAK- NRAK- NRII- pul- xkeysib-", 20, "A-Za-z0-9-"),
    _prefixed_format("api_token", "sq0atp- sq0csp-"),
    _prefixed_format("api_token", "HRKU-", 24),
    _prefixed_format("api_token", "dp.pt. dp.st.", 24, trigger="dp."),
    _prefixed_format("api_token", "dt0c01.", 24, "A-Za-z0-9.="),
    _prefixed_format("api_key", "ABSK", 80, "A-Za-z0-9+/="),
    _prefixed_format("api_key", "FLWSECK-", 30),
    SecretFormat("terraform_token", (".atlasv1.",), r"([A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40})", r"[A-Za-z0-9_=-]*+", "."),
    SecretFormat(
        "treadle_token", ("treadle_",), rf"(treadle_[a-z0-9][a-z0-9._-]{{0,39}}?_(?=[a-z_-]{{0,42}}[A-Z0-9]){_W}{{43}})", rare="_"
    ),
    SecretFormat("openshift_token", ("sha256~",), rf"(sha256~{_W}{{40}})", rare="~"),
)

# A Discord token has no letters of its own to look for; this says cheaply that there might be one.
DISCORD_GATE = rf"\.{_W}{{6}}\.{_W}{{27}}"
DISCORD = SecretFormat("discord_token", (), rf"([MNO]{_W}{{23,27}}+\.{_W}{{6}}\.{_W}{{27}})")

PRIVATE_KEY = SecretFormat(
    "private_key",
    ("PRIVATE KEY",),
    r"-----BEGIN[A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----([\sA-Za-z0-9\\])",
    r"(?:[A-Za-z0-9+/=\s\\:,.()@<>_]++|-(?!----(?:BEGIN|END)))*",
    "-",
    alone=False,
)
CURL_PASSWORD = SecretFormat(
    "password",
    ("curl",),
    r"""curl[^\n]{0,100}?[ \t](?:-u|--user|--proxy-user)[ \t=]{1,2}["']?[A-Za-z0-9_.@+-]{1,64}+:(?!\[redacted:)([^\s"']{3})""",
    r"""[^\s"']*+""",
    ":",
    alone=False,
)
URL_PASSWORD = SecretFormat("url_password", ("://",), r"""://[^\s/?#@:"'<>\[]{0,128}+:([^\s/?#"'<>]{1,512})@""", NONE, alone=False)
