"""Code mode: tokens of programs against one call at a time, and effects that are repeated after kills."""
