"""Which names stand for secrets. By whole words: `api_key`, `dbPassword` and `X-Auth-Token` do, `keyboard` and `author` don't.

The last word of a name decides, so `token_count`, `password_policy` and `secret_name` stay; `tokens` are counts or words
unless their kind is named (`refresh_tokens`); cursors (`next_page_token`) and parts of a vocabulary (`eos_token`) are no
secrets. Session ids stay: tools pass them around by name.
"""

import re
from functools import lru_cache

from msgspec import Struct


class SecretName(Struct, frozen=True):
    """What a name stands for; an empty kind is no secret. Where it isn't `sure`, the value has to look like a secret too."""

    kind: str
    sure: bool = True


NOT_SECRET = SecretName("")
ExtraNames = tuple[tuple[str, ...], ...]


def _split_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_KINDS = {
    "password": "password passwords passwd passphrase passcode pwd contraseña contrasena",
    "secret": "secret secrets",
    "token": "token bearer jwt",
    "authorization": "authorization",
    "credential": "credential credentials cred creds",
    "cookie": "cookie cookies",
    "key": "apikey apikeys",
}
_KIND = {word: kind for kind, words in _KINDS.items() for word in words.split()}
_ENDINGS = {
    "password": "password",
    "passwd": "password",
    "passphrase": "password",
    "secret": "secret",
    "accesstoken": "token",
    "authtoken": "token",
    "refreshtoken": "token",
    "sessiontoken": "token",
    "apitoken": "token",
    "apikey": "key",
    "accesskey": "key",
    "secretkey": "key",
    "privatekey": "key",
    "accountkey": "key",
}
_KEYS = _split_set(
    "access account api auth client database db deploy encryption master priv private secret service shared signing ssh storage"
)
_TOKENS = _split_set("access api auth bearer csrf id oauth refresh security session")
_PLACES = _split_set(
    "bos cancel cancellation class cls continuation current end eos first last mask max min next pad page prev previous "
    "sep special start stop sync unk"
)
_ABOUT = _split_set(
    "age algorithm at attempts budget cost count counts created domain enabled endpoint env error errors expires expiration "
    "expired expiry field file filename format header hint id ids in index invalid issuer kind label length len lifetime limit "
    "limits max message min name names path placeholder policy position price prompt rate ref required reset size source status "
    "strength ttl type types uri url usage used valid version"
)
_WEAK = {"pass": "password", "auth": "authorization"}
_LONGEST = 128
_WORD = r"[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+"


def split_name(name: str) -> tuple[str, ...]:
    """Split a name into lower-case words: `maxTokens`, `max-tokens` and `max_tokens` are the same two. Numbers aren't words."""
    name = name[-_LONGEST:]
    return tuple([word.lower() for word in re.findall(_WORD, name.lower() if name.isupper() else name)])


@lru_cache(4096)
def classify_name(name: str, extra: ExtraNames = ()) -> SecretName:
    """Return what a name stands for. `extra` are further names, as words."""
    words = split_name(name)
    if any(_contains(own, words) for own in extra):
        return SecretName("secret")
    if not words or (words[-1] in _ABOUT and words[-2:] != ("secret", "id")):
        return NOT_SECRET
    for position, word in enumerate(words):
        kind = _classify(word, words[position - 1] if position else "")
        if kind:
            return SecretName(kind)
    return SecretName(_WEAK[words[-1]], sure=False) if words[-1] in _WEAK else NOT_SECRET


def _classify(word: str, before: str) -> str:
    if word in ("key", "keys"):
        return "key" if before in _KEYS else ""
    if word == "tokens":
        return "token" if before in _TOKENS else ""
    if word == "token":
        return "" if before in _PLACES else "token"
    if word in _KIND:
        return _KIND[word]
    return next((kind for ending, kind in _ENDINGS.items() if word.endswith(ending)), "")


def _contains(part: tuple[str, ...], words: tuple[str, ...]) -> bool:
    return any(words[start : start + len(part)] == part for start in range(len(words) - len(part) + 1))
