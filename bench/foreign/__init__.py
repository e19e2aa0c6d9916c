"""A hundred questions in people's own words over material that nothing was made with, a quarter of them unanswerable."""
