"""AgentDojo's attack pairs, replayed without a model through the real engine: what is stopped, and what honest people are asked."""
