"""Text embeddings: from a model inside its wheel, from a server, or from the words alone. `stores.passages` stores them."""
