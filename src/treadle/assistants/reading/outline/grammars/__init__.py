"""One module per language, or for two related ones: which syntax nodes define something, and what it is called."""
