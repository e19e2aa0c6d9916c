"""Terminal input and output: screen, rendering, progress bars, prompts and the chat REPL."""
