"""Questions about the sample courses: how many find their lesson, and how many a model answers right with the course assistant."""
