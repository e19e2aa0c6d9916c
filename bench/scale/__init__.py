"""Many servers and workers on one PostgreSQL: killed while runs are watched and cancelled, and how costs grow with size."""
