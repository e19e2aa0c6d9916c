"""Provider APIs: one module per HTTP protocol that models are reached over, and what only these protocols use."""
