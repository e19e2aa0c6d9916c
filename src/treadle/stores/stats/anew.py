"""How figures are forgotten, so that everything in the journal is new. The same words for every database."""

COUNT_ANEW = """
DELETE FROM stats_calls;
DELETE FROM stats_requests;
DELETE FROM stats_runs;
DELETE FROM stats_who;
INSERT INTO stats_new SELECT run_id FROM runs WHERE 1 = 1 ON CONFLICT DO NOTHING
"""
