"""Testing a program that uses pydantic-ai: with a model that is a function. For pytest."""

from pydantic_ai import Agent, ModelMessage, ModelResponse, ModelRetry, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

orders: list[int] = []
agent = Agent("openai:gpt-5-mini", defer_model_check=True)


@agent.tool_plain
def order(item: str, count: int) -> str:
    """Order more of an item."""
    if count > 100:
        raise ModelRetry("At most 100 can be ordered.")
    orders.append(count)
    return f"ordered {count}"


def order_too_many(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    if len(messages) > 3:
        return ModelResponse(parts=[TextPart("100.")])
    count = 500 if len(messages) == 1 else 100
    return ModelResponse(parts=[ToolCallPart("order", {"item": "B-7", "count": count})])


def test_at_most_100_are_ordered() -> None:
    with agent.override(model=FunctionModel(order_too_many)):
        result = agent.run_sync("Order 500 of B-7.")
    parts = [part for message in result.all_messages() for part in message.parts]
    results = [part.content for part in parts if isinstance(part, ToolReturnPart)]
    assert results == ["At most 100 can be ordered.", "ordered 100"]
    assert (orders, result.output) == ([100], "100.")


if __name__ == "__main__":
    test_at_most_100_are_ordered()
    print("1 passed")
