"""Administration: diagnosis, backup and restore, deletion, retention, statistics, probing of models."""
