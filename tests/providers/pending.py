"""Cases that Treadle doesn't pass yet, by reason. A case that passes has to leave this list: its test says so."""

from providers.cases import CASES
from providers.servers import SERVERS

_NO_WIRE = ("responses", "google", "bedrock")

_WHY: dict[str, str] = {
    "images are not in Treadle's public API yet": """
        gpt-4o-image-whole gpt-6-image-whole claude-image-whole gemini-image-whole bedrock-image-whole
    """,
    "the option parallel_calls isn't sent": """
        gpt-4o-one-call-at-a-time-whole claude-one-call-at-a-time-whole
    """,
    "a filtered reply without text is asked for again instead of being told": """
        gpt-4o-filtered-whole gpt-4o-filtered-stream claude-filtered-whole claude-filtered-stream
    """,
    "gpt-5.6 takes tools only on the Responses wire": """
        gpt-5.6-call-whole gpt-5.6-call-stream gpt-5.6-thinking-and-call-whole gpt-5.6-thinking-and-call-stream
    """,
    "a temperature that the model refuses isn't left out": """
        gpt-5.6-temperature-whole gpt-5.6-temperature-stream o3-temperature-whole o3-temperature-stream
        claude-temperature-whole claude-temperature-stream
    """,
    "the limit isn't sent as max_completion_tokens to reasoning models": """
        gpt-5.6-limit-whole gpt-5.6-limit-stream o3-limit-whole o3-limit-stream
    """,
    "the option reasoning isn't sent": """
        o3-effort-whole claude-effort-whole claude-effort-stream
    """,
    "a field that Mistral refuses isn't left out or renamed (stream_options, seed)": """
        mistral-plain-stream mistral-call-stream mistral-parallel-stream mistral-empty-after-call-stream
        mistral-calls-in-two-turns-stream mistral-seed-whole mistral-limits-stream mistral-thinking-stream
        mistral-thinking-and-call-stream mistral-structured-stream
    """,
    "a user message follows tool messages, which Mistral refuses": """
        mistral-empty-after-call-whole
    """,
    "reasoning_content isn't passed back with calls": """
        deepseek-thinking-and-call-whole deepseek-thinking-and-call-stream kimi-thinking-and-call-whole
        kimi-thinking-and-call-stream deepseek-thinking-in-rounds-whole deepseek-thinking-in-rounds-stream
        kimi-thinking-in-rounds-whole kimi-thinking-in-rounds-stream deepseek-thinking-in-two-turns-whole
        deepseek-thinking-in-two-turns-stream gpt-4o-after-deepseek-whole mistral-after-kimi-whole
        groq-after-deepseek-whole deepseek-after-gpt-4o-whole deepseek-after-claude-whole claude-after-kimi-whole
        claude-after-deepseek-whole gpt-6-after-kimi-whole bedrock-after-kimi-whole
    """,
    "reasoning_details aren't passed back": """
        openrouter-thinking-and-call-whole openrouter-thinking-and-call-stream openrouter-thinking-in-rounds-whole
        openrouter-thinking-in-rounds-stream openrouter-hidden-thinking-whole openrouter-hidden-thinking-stream
        openrouter-hidden-thinking-parallel-whole openrouter-hidden-thinking-parallel-stream
        gpt-4o-after-openrouter-whole
    """,
    "the thought signature isn't passed back": """
        gemini-chat-signature-whole gemini-chat-signature-stream gemini-chat-signature-parallel-whole
        gemini-chat-signature-parallel-stream gemini-chat-signature-in-rounds-whole
        gemini-chat-signature-in-rounds-stream gpt-4o-after-gemini-chat-whole
    """,
    "Groq's tool_use_failed isn't tried again": """
        groq-call-refused-whole
    """,
    "a server without tools isn't met by prompted calling": """
        no-tools-call-whole no-tools-call-stream no-tools-rounds-whole no-tools-rounds-stream
    """,
    "a paused turn isn't continued: blocks of server tools aren't kept": """
        claude-pause-whole claude-pause-stream claude-pause-in-search-whole claude-pause-in-search-stream
    """,
    "a provider's own tools can't be offered besides functions": """
        claude-search-and-call-whole claude-search-and-call-stream
    """,
    "max_tokens is 4096 whatever the model can write, so a long call is cut off": """
        claude-long-reply-stream
    """,
    "ids of another provider's calls aren't rewritten as Mistral wants them": """
        mistral-after-gpt-4o-whole mistral-after-claude-whole
    """,
}


def _without_wire() -> dict[str, str]:
    """The cases with a request on a wire that isn't there yet."""
    wires = {case.id: {SERVERS[case.at_of(leg)].wire for leg in case.legs} & set(_NO_WIRE) for case in CASES.values()}
    return {case_id: f"Treadle has no wire for {', '.join(sorted(some))}" for case_id, some in wires.items() if some}


PENDING: dict[str, str] = {**_without_wire(), **{case_id: why for why, ids in _WHY.items() for case_id in ids.split()}}
