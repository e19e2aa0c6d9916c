"""Demonstration systems for trying out the assistants; nothing in Treadle depends on them."""
