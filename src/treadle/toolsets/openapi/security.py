"""Who calls: credentials of the person a run is for, put into a request where the document wants them. No model sees any of it.

A credential is found by the name of its scheme, or by the kind of it; a toolset may say which name stands for which.
"""

from binascii import b2a_base64
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from treadle.core.errors import ToolProblem
from treadle.toolsets.openapi.document import Document, Object, as_list, as_object, as_text

BEARER = ("bearer", "token")


class Scheme(Struct, frozen=True):
    """One way to say who calls. `kind` is `bearer`, `basic`, `api_key` or another scheme of HTTP; `where` is for keys."""

    name: str
    kind: str
    where: str = ""
    key: str = ""


class Attached(Struct, frozen=True):
    """What a request carries on behalf of whoever calls, and the secrets in it."""

    headers: dict[str, str] = {}
    query: tuple[tuple[str, str], ...] = ()
    cookies: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "Attached()"


class Security:
    """The schemes of a document. `names` says by which name a credential is known here: by scheme, or by kind."""

    def __init__(self, document: Document, names: Mapping[str, str]) -> None:
        told = as_object(as_object(document.root.get("components")).get("securitySchemes"))
        self._schemes = {name: _scheme(name, document.followed(each)) for name, each in told.items()}
        self._default = document.root.get("security")
        self._names = names
        kinds = [] if self._schemes else [kind for kind in names if kind in (*BEARER, "basic")]
        self._undescribed = tuple([(Scheme(kind, kind),) for kind in kinds])

    @property
    def parameters(self) -> frozenset[tuple[str, str]]:
        """The places where secrets go, which are no parameters for a model."""
        keys = [each for each in self._schemes.values() if each.kind == "api_key"]
        return frozenset([(each.where, each.key.lower() if each.where == "header" else each.key) for each in keys])

    def alternatives(self, operation: Object) -> tuple[tuple[Scheme, ...], ...]:
        """The schemes that an operation wants, any one group of them; none where it wants none."""
        told = as_list(operation.get("security", self._default))
        if not told:
            return (*self._undescribed, ()) if self._undescribed else ()
        return tuple([tuple([self._known(name) for name in as_object(each)]) for each in told])

    def _known(self, name: str) -> Scheme:
        return self._schemes.get(name, Scheme(name, "unknown"))

    def attached(self, wanted: Sequence[Sequence[Scheme]], credentials: Mapping[str, str]) -> Attached:
        """The first group of schemes for which every credential is there."""
        for group in sorted(wanted, key=lambda group: not group):  # being nobody comes last
            found = [self._secret(scheme, credentials) for scheme in group]
            if all(secret for secret in found):
                return _together([_one(scheme, secret) for scheme, secret in zip(group, found, strict=True)])
        if not wanted:
            return Attached()
        named = " or ".join(dict.fromkeys([" and ".join([scheme.name for scheme in group]) for group in wanted]))
        raise ToolProblem(f"This needs the person to be signed in ({named}), and they aren't. Tell them to; nothing was sent.")

    def _secret(self, scheme: Scheme, credentials: Mapping[str, str]) -> str:
        """The credential for a scheme: by the names that were given, else by its own name, else by its kind."""
        kinds = BEARER if scheme.kind == "bearer" else (scheme.kind,)
        if self._names:
            names = [self._names[each] for each in (scheme.name, *kinds) if each in self._names]
        else:
            names = [scheme.name, *kinds]
        return next((credentials[name] for name in names if credentials.get(name)), "")


def _scheme(name: str, told: Object) -> Scheme:
    match told.get("type"):
        case "apiKey":
            return Scheme(name, "api_key", as_text(told.get("in")), as_text(told.get("name")))
        case "oauth2" | "openIdConnect":
            return Scheme(name, "bearer")
        case "http":
            return Scheme(name, as_text(told.get("scheme")).lower() or "bearer")
        case _:
            return Scheme(name, "unknown")


def _one(scheme: Scheme, secret: str) -> Attached:
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in secret):
        raise ToolProblem("The person's credential has characters in it that can't be sent. They have to sign in again.")
    match scheme:
        case Scheme(kind="api_key", where="query"):
            return Attached(query=((quote(scheme.key, safe=""), quote(secret, safe="")),), secrets=(secret,))
        case Scheme(kind="api_key", where="cookie"):
            return Attached(cookies=(f"{scheme.key}={quote(secret, safe='!#$&()*+-./:<=>?@[]^_`{|}~')}",), secrets=(secret,))
        case Scheme(kind="api_key"):
            return Attached(headers={scheme.key: secret}, secrets=(secret,))
        case Scheme(kind="basic"):
            packed = b2a_base64(secret.encode(), newline=False).decode()
            parts = (secret, packed, secret.partition(":")[2])
            return Attached(headers={"Authorization": f"Basic {packed}"}, secrets=tuple([part for part in parts if part]))
        case Scheme(kind="bearer" | "token"):
            return Attached(headers={"Authorization": f"Bearer {secret}"}, secrets=(secret,))
        case Scheme(kind="unknown"):
            raise ToolProblem(f"This needs the security scheme {scheme.name}, which tools can't use. Nothing was sent.")
        case _:
            return Attached(headers={"Authorization": f"{scheme.kind.title()} {secret}"}, secrets=(secret,))


def _together(parts: Sequence[Attached]) -> Attached:
    headers: dict[str, Any] = {}
    for part in parts:
        headers.update(part.headers)
    return Attached(
        headers,
        tuple([pair for part in parts for pair in part.query]),
        tuple([cookie for part in parts for cookie in part.cookies]),
        tuple([secret for part in parts for secret in part.secrets]),
    )
