"""OpenAI- and Anthropic-compatible APIs: chat completions and messages, with each assistant as a model.

A request is a turn (`turn_request`), executed by the user's `TurnManager` (`turns`). What is particular to an API
is in the module of its name.
"""
