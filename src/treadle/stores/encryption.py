"""Encrypts lines that contain a secret, and decrypts them: AES-256-GCM under the home's key (`journal_key`).

Each line is bound to its run, so that it can't be moved to another one. Lines without a secret stay as they are, and a home
without one has no key. The library is imported with the first secret.
"""

from base64 import b64encode
from binascii import Error, a2b_base64
from collections.abc import Sequence
from os import urandom
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from treadle.core.errors import JournalDamaged, WrongKey
from treadle.guard.journal_secrets import hold_secrets, holds_secret
from treadle.guard.redaction import Redactor
from treadle.stores.journal_key import NAME, VARIABLE, JournalKey, load_environment_key, load_key_file, load_or_create_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

BEGIN = b'{"v":1,"kind":"encrypted",'
NONCE = 12  # bytes
PLAIN = Redactor()


class _EncryptedLine(Struct, frozen=True):
    """The stored form of an encrypted line: the key's id, and Base64 of the nonce and the ciphertext."""

    key: str
    box: str


class Cipher:
    """The keys of one home. Encrypts with TREADLE_KEY, else with the key file in `folder`; decrypts with either."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._ready: dict[str, AESGCM] = {}
        self._writes = ""  # the id of the key for what is written

    def safe(self, line: bytes, about: str, redactor: Redactor = PLAIN) -> bytes:
        """Return a line of JSON as it may be stored: encrypted if it contains a secret."""
        return self.encrypt(line, about) if holds_secret(line, redactor) else line

    def safe_lines(self, lines: Sequence[bytes], about: str, redactor: Redactor = PLAIN) -> list[bytes]:
        """Return lines of JSON as they may be stored."""
        found = hold_secrets(lines, redactor)
        return [self.encrypt(line, about) if is_secret else line for line, is_secret in zip(lines, found, strict=True)]

    def encrypt(self, line: bytes, about: str) -> bytes:
        """Encrypt a line."""
        if not self._writes:
            self._writes = self._add_key(self._load_own_key())
        nonce = urandom(NONCE)
        box = b64encode(nonce + self._ready[self._writes].encrypt(nonce, line, about.encode(errors="surrogatepass")))
        return b'%b"key":"%b","box":"%b"}' % (BEGIN, self._writes.encode(), box)

    def read(self, line: bytes, about: str) -> bytes:
        """Return a stored line as it was before it was written."""
        return self._decrypt_line(line, about) if line.startswith(BEGIN) else line

    def _decrypt_line(self, line: bytes, about: str) -> bytes:
        try:
            found = msgspec.json.decode(line, type=_EncryptedLine)
            box = a2b_base64(found.box)
        except (msgspec.DecodeError, UnicodeDecodeError, Error, ValueError) as error:
            raise JournalDamaged(f"An encrypted line about {about} can't be read: {error}.") from error
        opener = self._load_cipher(found.key, about)
        from cryptography.exceptions import InvalidTag

        try:
            return opener.decrypt(box[:NONCE], box[NONCE:], about.encode(errors="surrogatepass"))
        except (InvalidTag, ValueError) as error:
            raise JournalDamaged(f"An encrypted line about {about} isn't what was written; restore a backup.") from error

    def _load_cipher(self, key_id: str, about: str) -> "AESGCM":
        if key_id not in self._ready:
            for key in (load_environment_key(), None if self._folder is None else load_key_file(self._folder)):
                if key is not None:
                    self._add_key(key)
        if key_id not in self._ready:
            where = VARIABLE if self._folder is None else f"{VARIABLE}, or as {NAME} into {self._folder}"
            says = f"What is kept about {about} was encrypted with another key ({key_id}), of another machine perhaps."
            raise WrongKey(f"{says} Put that key into {where}.")
        return self._ready[key_id]

    def _load_own_key(self) -> JournalKey:
        settled = load_environment_key()
        if settled is not None:
            return settled
        if self._folder is None:
            raise WrongKey(f"A secret is to be kept, and there is no folder for its key; set {VARIABLE}.")
        return load_or_create_key(self._folder)

    def _add_key(self, key: JournalKey) -> str:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._ready[key.id] = AESGCM(key.secret)
        return key.id
