"""What type checkers must reject. A comment that nothing needs any more is itself an error, in pyright and in mypy. Never run."""
# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from dataclasses import dataclass

from treadle import Agent, RunContext, tool


@dataclass
class Report:
    title: str


@dataclass
class Deps:
    user: str


@tool
def counted(ctx: RunContext[int]) -> int:
    return ctx.deps


@tool(effect="read")
def named(ctx: RunContext[str], name: str) -> str:
    return name + ctx.deps


@tool
def add(a: int, b: int) -> int:
    return a + b


def plain(ctx: RunContext[int]) -> int:
    return ctx.deps


def instructions(ctx: RunContext[int]) -> str:
    return str(ctx.deps)


agent = Agent("m", output_type=Report, deps_type=Deps)

# wrong uses of an output
agent.run_sync("Go.").output.titel  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  # noqa: B018
wrong: int = agent.run_sync("Go.").output  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
other: Agent[Deps, str] = agent  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]

# misspelt options
Agent("m", toolz=[])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
agent.run_sync("Go.", dep=Deps("ann"))  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
agent.resume_sync("r1", jurnal=True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
agent.stream("Go.", watcher=())  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
agent.stream_resumed("r1", history=())  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
tool(add, efect="read")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]

# wrong dependencies
agent.run_sync("Go.", deps=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
agent.resume_sync("r1", deps="ann")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
agent.stream("Go.", deps=Report("x"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
agent.stream_resumed("r1", deps=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Agent("m", deps_type=str, tools=[counted])  # type: ignore[misc]  # pyright: ignore[reportArgumentType]
Agent("m", deps_type=str, tools=[add, counted])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
Agent("m", tools=[counted, named])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
Agent("m", deps_type=str, tools=[plain])  # type: ignore[misc]  # pyright: ignore[reportArgumentType]
Agent("m", deps_type=str, instructions=instructions)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
needs_int: Agent[int, str] = Agent("m", tools=[named, add])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType, reportAssignmentType]

# wrong uses of a tool
add("1", b=2)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
add(a=1, c=2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
named(RunContext(deps="ann"), 3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def run() -> None:
    await agent.run("Go.", deps=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await agent.run("Go.", runid="r1")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await agent.resume("r1", history=())  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def bare(ctx: RunContext) -> str:
    return ctx.deps.user  # type: ignore[attr-defined, no-any-return]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
