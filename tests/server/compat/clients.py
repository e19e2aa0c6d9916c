"""Official clients of a server of ours, and an assistant for it."""

from contextlib import contextmanager

from packages import Deferred
from server.running import Serving, assistant
from treadle import FunctionToolset, allow, tool
from treadle.core.requests import Usage
from treadle.models.scripted import Scripted, ScriptedCall, ScriptedReply

anthropic = Deferred("anthropic")
openai = Deferred("openai")

MODEL = "rivers"

WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class Done:
    """What was really done by the assistant's own tools."""

    def __init__(self):
        self.what: list[str] = []

    def tools(self):
        @tool(effect="read")
        def length(river: str) -> int:
            """How long a river is, in km."""
            self.what.append(f"looked at {river}")
            return 1233

        @tool(effect="write")
        def rename(river: str, name: str) -> str:
            """Call a river something else."""
            self.what.append(f"renamed {river}")
            return f"It is {name} now."

        @tool(effect="write")
        def dam(river: str) -> str:
            """Build a dam."""
            self.what.append(f"dammed {river}")
            return "It is dammed."

        return FunctionToolset([length, rename, dam])


def rivers(done=None, **more):
    """An assistant with tools: one that reads, one that may write, and one that a person has to approve."""
    tools = (done or Done()).tools()
    more = {
        "toolsets": lambda host: [tools],
        "policy": [allow("rename", untrusted=True)],
        "instructions": "You know rivers.",
        **more,
    }
    return assistant(MODEL, **more)


@contextmanager
def openai_client(folder, *replies, made=None, chunk=None, **more):
    """The official client, and the model that it talks to in the end."""
    model = Scripted(*replies, chunk=chunk)
    with (
        Serving(folder, [made or rivers()], model, **more) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
    ):
        yield client, model


@contextmanager
def anthropic_client(folder, *replies, made=None, chunk=None, **more):
    model = Scripted(*replies, chunk=chunk)
    with (
        Serving(folder, [made or rivers()], model, **more) as server,
        anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as client,
    ):
        yield client, model


def asked(name, arguments, text="", usage=None):
    """A reply that asks for one tool."""
    return several((name, arguments), text=text, usage=usage)


def several(*calls, text="", usage=None):
    named = tuple([ScriptedCall(name, arguments) for name, arguments in calls])
    return ScriptedReply(text=text, calls=named, usage=usage or Usage(requests=1))


def user(text):
    return {"role": "user", "content": text}


def openai_tool(name="weather", parameters=WEATHER):
    return {"type": "function", "function": {"name": name, "description": "The weather.", "parameters": parameters}}


def anthropic_tool(name="weather", schema=WEATHER):
    return {"name": name, "description": "The weather.", "input_schema": schema}
