"""The protocols that programs speak already: OpenAI's chat completions and Anthropic's messages, with each assistant as a model.

A request is a turn (`asked`), carried out at the person's `desk`. What is particular to a wire is in the file of its name.
"""
