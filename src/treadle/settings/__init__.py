"""Settings: what `treadle.toml` and the environment may configure, how they are read and merged."""
