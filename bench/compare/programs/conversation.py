"""A conversation that is stored: the second turn continues it, in this process or in another."""

import os
from pathlib import Path

from pydantic_ai import Agent, ConversationTypeAdapter
from scripted import scripted

model = os.environ.get("MODEL") or scripted("Hello Ann.", "You are Ann.")
agent = Agent(model)
store = Path("conversation.json")
first = agent.run_sync("I am Ann.")
store.write_bytes(ConversationTypeAdapter.dump_json(first.conversation))
second = agent.run_sync("Who am I?", conversation=ConversationTypeAdapter.validate_json(store.read_bytes()))
print(first.output, second.output, f"{len(second.all_messages())} messages", sep="\n")
