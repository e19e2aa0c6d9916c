"""Credentials in the formats that detect-secrets 1.5 looks for, made when they are asked for: no file holds one.

A row for each pattern of its detectors that finds a secret; those of public addresses and of mere entropy have none.
"""

import random
import string
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable

LOWER, UPPER, DIGITS, HEX = string.ascii_lowercase, string.ascii_uppercase, string.digits, "0123456789abcdef"
MIXED = string.ascii_letters + DIGITS
WORDS = [
    *("api_key", "apikey", "auth_key", "service_key", "account_key", "db_key", "database_key", "priv_key", "private_key"),
    *("client_key", "db_pass", "database_pass", "key_pass", "password", "passwd", "pwd", "secret", "contraseña", "contrasena"),
]

Made = tuple[str, str, str]  # the detector, a text, and the secret in it


class Maker:
    """Makes them, from a seed."""

    def __init__(self, seed: int = 1) -> None:
        self._chance = random.Random(seed)

    def some(self, letters: str, count: int) -> str:
        """So many of these letters, with a digit and a letter among them where there are such."""
        made = "".join(self._chance.choice(letters) for _ in range(count))
        return made if set(made) & set(DIGITS) or not set(letters) & set(DIGITS) else made[:-1] + "7"

    def all(self) -> list[Made]:
        """One of each."""
        some = self.some
        made = [self._alone(detector, make) for detector, make in self._looks()]
        made += [(detector, before + secret + after, secret) for detector, before, secret, after in self._named()]
        body = "\n".join(some(MIXED + "+/", 64) for _ in range(4))
        for kind in ("RSA ", "DSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "", "SSH2 ENCRYPTED "):
            made.append(
                ("private_key", f"-----BEGIN {kind}" + f"PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----", body[:64])
            )
        return [*made, ("private_key", "-----BEGIN PGP " + f"PRIVATE KEY BLOCK-----\n\n{body}\n", body[:64])]

    def _alone(self, detector: str, make: Callable[[], str]) -> Made:
        secret = make()
        return detector, f"found {secret} in it", secret

    def _looks(self) -> list[tuple[str, Callable[[], str]]]:
        some = self.some
        segment = lambda: urlsafe_b64encode(b'{"alg":"HS256","sub":"%b"}' % some(HEX, 8).encode()).decode().rstrip("=")  # noqa: E731 - a row's
        aws = ["A3" + "TX", "AB" + "IA", "AC" + "CA", "AK" + "IA", "AS" + "IA"]
        gitlab = [(prefix, 20) for prefix in ("glpat-", "gldt-", "glft-", "glsoat-", "glrt-", "GR1348941", "glcbt-", "glcbt-0f_")]
        gitlab += [("glimt-", 25), ("glptt-", 40), ("glagent-", 50), ("gloas-", 64)]
        return [
            ("artifactory", lambda: "AK" + "C" + some(MIXED, 61)),
            ("artifactory", lambda: "AP" + "5" + some(MIXED, 30)),
            *[("aws", lambda start=start: start + some(UPPER + DIGITS, 16)) for start in aws],
            ("discord", lambda: "M" + some(MIXED, 23) + "." + some(MIXED, 6) + "." + some(MIXED, 27)),
            *[("github_token", lambda kind=kind: f"gh{kind}_" + some(MIXED, 36)) for kind in "pousr"],
            *[("gitlab_token", lambda start=start, count=count: start + some(MIXED, count)) for start, count in gitlab],
            ("jwt", lambda: f"{segment()}.{segment()}." + some(MIXED, 43)),
            ("mailchimp", lambda: some(HEX, 32) + "-us" + "14"),
            ("openai", lambda: "sk" + "-" + some(MIXED, 20) + "T3Blbk" + "FJ" + some(MIXED, 20)),
            ("openai", lambda: "sk" + "-proj-" + some(MIXED, 20) + "T3Blbk" + "FJ" + some(MIXED, 20)),
            ("pypi_token", lambda: "py" + "pi-AgEIcHlwaS5vcmc" + some(MIXED + "_-", 80)),
            ("pypi_token", lambda: "py" + "pi-AgENdGVzdC5weXBpLm9yZw" + some(MIXED + "_-", 80)),
            ("sendgrid", lambda: "S" + "G." + some(MIXED, 22) + "." + some(MIXED, 43)),
            *[("slack", lambda kind=kind: f"xox{kind}-1234567890-1234567890-" + some(HEX, 24)) for kind in "abposr"],
            ("square_oauth", lambda: "sq0" + "csp-" + some(MIXED + "_-", 43)),
            *[("stripe", lambda kind=kind: f"{kind}k" + "_live_" + some(MIXED, 24)) for kind in "rs"],
            ("telegram_token", lambda: some(DIGITS[1:], 9) + ":A" + "A" + some(MIXED, 33)),
            ("twilio", lambda: "A" + "C" + some(HEX, 32)),
            ("twilio", lambda: "S" + "K" + some(HEX, 32)),
        ]  # fmt: skip

    def _named(self) -> list[tuple[str, str, str, str]]:
        some = self.some
        webhook = "https://hooks.slack" + f".com/services/T{some(UPPER, 8)}/B{some(UPPER, 8)}/"
        return [
            ("aws", 'aws_secret_access_key = "', some(MIXED + "/+", 40), '"'),
            ("azure_storage_key", "AccountName=a;Account" + "Key=", b64encode(self._chance.randbytes(64)).decode(), ";Suffix=e"),
            ("basic_auth", "https://ann:", some(MIXED, 12), "@example.com/x"),
            ("cloudant", "https://ann:", some(HEX, 64), "@ann.cloudant.com"),
            ("cloudant", "https://ann:", some(LOWER, 24), "@ann.cloudant.com"),
            ("cloudant", 'cloudant_password = "', some(HEX, 64), '"'),
            ("cloudant", 'cloudant_api_key = "', some(LOWER, 24), '"'),
            ("ibm_cloud_iam", 'ibm_cloud_iam_api_key = "', some(MIXED + "_-", 44), '"'),
            ("ibm_cloud_iam", "cloud-iam-token: ", some(MIXED, 44), "\n"),
            ("ibm_cos_hmac", 'cos_hmac_secret_access_key = "', some(HEX, 48), '"'),
            ("ibm_cos_hmac", "secret_key: ", some(HEX, 48), "\n"),
            ("npm", "//registry.example.com/:_authToken=", "np" + "m_" + some(MIXED, 36), "\n"),
            ("npm", "//registry.example.com/:_authToken=", "-".join(some(HEX, count) for count in (8, 4, 4, 4, 12)), "\n"),
            ("slack", webhook, some(MIXED, 24), " "),
            ("softlayer", 'softlayer_api_key = "', some(LOWER + DIGITS, 64), '"'),
            ("softlayer", "https://api.softlayer.com/soap/v3/", some(LOWER + DIGITS, 64), " "),
            *[("keyword", f'{word} = "', some(MIXED, 16), '"') for word in WORDS],
            *[("keyword", f'{{"{word}": "', some(MIXED, 16), '"}') for word in WORDS],
            *[("keyword", f"{word.upper()}=", some(MIXED, 16), "\n") for word in WORDS],
        ]
