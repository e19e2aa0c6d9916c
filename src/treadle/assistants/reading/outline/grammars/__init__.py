"""One module for each language, or for two that are kin: which syntax nodes define something, and what it is called."""
