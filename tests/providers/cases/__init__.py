"""All cases, by id."""

from providers.case import Case
from providers.cases import anthropic, bedrock, chat, google, moving, responses

CASES: dict[str, Case] = {}

for made in (*chat.cases(), *responses.cases(), *anthropic.cases(), *google.cases(), *bedrock.cases(), *moving.cases()):
    assert made.id not in CASES, made.id
    CASES[made.id] = made
