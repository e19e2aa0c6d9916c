CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, parent TEXT NOT NULL, agent TEXT NOT NULL, model TEXT NOT NULL, user TEXT NOT NULL,
    title TEXT NOT NULL, status TEXT NOT NULL, opened_at REAL NOT NULL, updated_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE entries (
    run_id TEXT NOT NULL, position INTEGER NOT NULL, next INTEGER NOT NULL, lines BLOB NOT NULL, PRIMARY KEY (run_id, position)
) WITHOUT ROWID;
CREATE TABLE leases (
    run_id TEXT PRIMARY KEY, holder TEXT NOT NULL, token INTEGER NOT NULL, until REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE audit (seq INTEGER PRIMARY KEY, previous TEXT NOT NULL, line BLOB NOT NULL, hash TEXT NOT NULL);
CREATE TABLE audit_head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TABLE cache (
    key TEXT PRIMARY KEY, grp TEXT NOT NULL, content TEXT NOT NULL, until REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE results (
    run_id TEXT NOT NULL, result_id TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (run_id, result_id)
) WITHOUT ROWID;
CREATE TABLE written (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL);
CREATE TABLE stats_new (run_id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE stats_who (
    who INTEGER PRIMARY KEY, agent TEXT NOT NULL, model TEXT NOT NULL, user TEXT NOT NULL, UNIQUE (agent, model, user)
);
CREATE TABLE stats_runs (
    run_id TEXT PRIMARY KEY, who INTEGER NOT NULL, opened_at REAL NOT NULL, position INTEGER NOT NULL, carried BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE stats_calls (
    at REAL NOT NULL, who INTEGER NOT NULL, tool TEXT NOT NULL, problem TEXT, cached INTEGER NOT NULL, seconds REAL,
    tokens INTEGER NOT NULL, inner_tokens INTEGER NOT NULL
);
CREATE TABLE stats_requests (
    at REAL NOT NULL, who INTEGER NOT NULL, requests INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL, cost REAL
);
CREATE TABLE queue (
    run_id TEXT PRIMARY KEY, owner TEXT NOT NULL, model TEXT NOT NULL, at REAL NOT NULL, state TEXT NOT NULL, turn INTEGER NOT NULL,
    sent_at REAL NOT NULL, again INTEGER NOT NULL, queue TEXT NOT NULL DEFAULT 'default', priority INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE queue_begun (owner TEXT NOT NULL, at REAL NOT NULL, queue TEXT NOT NULL DEFAULT 'default');
CREATE TABLE queue_gate (one INTEGER PRIMARY KEY CHECK (one = 1));
CREATE TABLE schedules (
    name TEXT PRIMARY KEY, cron TEXT NOT NULL, zone TEXT NOT NULL, wanted TEXT NOT NULL, at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE waits (
    root TEXT NOT NULL, run_id TEXT NOT NULL, call_id TEXT NOT NULL, due REAL, event TEXT NOT NULL, key TEXT NOT NULL, value TEXT,
    asks INTEGER NOT NULL, PRIMARY KEY (root, run_id, call_id)
) WITHOUT ROWID;
CREATE TABLE cancel_requests (run_id TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE run_sessions (run_id TEXT PRIMARY KEY, session TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE conversation_labels (id TEXT PRIMARY KEY, title TEXT NOT NULL, pinned_at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE dead_letters (
    run_id TEXT PRIMARY KEY, queue TEXT NOT NULL, cause TEXT NOT NULL, failures INTEGER NOT NULL, at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE workers (
    worker TEXT PRIMARY KEY, queues TEXT NOT NULL, at_once INTEGER NOT NULL, version TEXT NOT NULL, draining INTEGER NOT NULL,
    until REAL NOT NULL, app_versions TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE run_versions (run_id TEXT PRIMARY KEY, version TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE outbox_on (one INTEGER PRIMARY KEY CHECK (one = 1));
CREATE TABLE outbox_new (run_id TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE outbox (
    id TEXT PRIMARY KEY, run_id TEXT NOT NULL, channel TEXT NOT NULL, body TEXT NOT NULL, due REAL, tries INTEGER NOT NULL,
    problem TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO runs VALUES ('answered', '', 'shop', 'scripted', 'ann', 'How many A-113 are there?', 'answered', 1794981102.6560695, 1794981102.8114727);
INSERT INTO runs VALUES ('asleep', '', 'shop', 'scripted', '', 'Has order 7 come?', 'waiting', 1794981169.148249, 1794981169.1504061);
INSERT INTO runs VALUES ('killed', '', 'shop', 'scripted', '', 'Order two.', 'open', 1794981145.3450236, 1794981145.3463607);
INSERT INTO runs VALUES ('nested', '', 'agent', 'scripted', '', 'Ask the clerk.', 'answered', 1794981114.4351287, 1794981114.8410652);
INSERT INTO runs VALUES ('nested.call_1_1', 'nested', 'shop', 'scripted', '', 'B-7?', 'answered', 1794981114.672864, 1794981114.771213);
INSERT INTO runs VALUES ('secret', '', 'shop', 'scripted', '', 'It is postgres://ann:[redacted:url_password]@db.example/shop here.', 'answered', 1794981157.199639, 1794981157.2008038);
INSERT INTO runs VALUES ('waiting', '', 'shop', 'scripted', 'ann', 'Order five more.', 'waiting', 1794981131.9456744, 1794981132.1574328);
INSERT INTO entries VALUES ('answered', 0, 4, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","user":"ann","at":1794981102.6560695}
{"v":2,"kind":"said","text":"How many A-113 are there?","at":1794981102.6561847}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"A-113\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000575,"at":1794981102.6570256}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"A-113"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1794981102.6571083}' AS BLOB));
INSERT INTO entries VALUES ('answered', 4, 7, CAST('{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false,"structured":false,"media":[],"data":40},"seconds":0.153435,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794981102.8109162}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"We have 40 of them."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000137,"at":1794981102.811348}
{"v":2,"kind":"finished","stopped":"answered","text":"We have 40 of them.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794981102.8114727}' AS BLOB));
INSERT INTO entries VALUES ('asleep', 0, 6, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","at":1794981169.148249}
{"v":2,"kind":"said","text":"Has order 7 come?","at":1794981169.1483757}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"delivery","text":"{\"order\":\"7\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000604,"at":1794981169.1492596}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"delivery","arguments":{"order":"7"}},"verdict":{"verdict":"allow","by":"default","reason":"delivery only reads."},"at":1794981169.1493475}
{"v":2,"kind":"awaited","call_id":"call_1_1","wait":{"event":"delivered","key":"7"},"at":1794981169.1503115}
{"v":2,"kind":"finished","stopped":"waiting","reason":"The run waits for the event ''delivered'' of ''7''.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"asleep":true,"at":1794981169.1504061}' AS BLOB));
INSERT INTO entries VALUES ('killed', 0, 5, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","at":1794981145.3450236}
{"v":2,"kind":"said","text":"Order two.","at":1794981145.345145}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"order","text":"{\"item\":\"C-1\",\"count\":2}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000573,"at":1794981145.3459775}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"order","arguments":{"item":"C-1","count":2}},"verdict":{"verdict":"allow","by":"allow(\"order\")","reason":"The policy allows order."},"at":1794981145.3460681}
{"v":2,"kind":"started","call_id":"call_1_1","key":"killed:call_1_1","at":1794981145.3463607}' AS BLOB));
INSERT INTO entries VALUES ('nested', 0, 4, CAST('{"v":2,"kind":"opened","agent":"agent","model":"scripted","at":1794981114.4351287}
{"v":2,"kind":"said","text":"Ask the clerk.","at":1794981114.4352736}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"clerk","text":"{\"prompt\":\"B-7?\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000837,"at":1794981114.4364667}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"clerk","arguments":{"prompt":"B-7?"}},"verdict":{"verdict":"allow","by":"default","reason":"clerk only reads."},"at":1794981114.4365926}' AS BLOB));
INSERT INTO entries VALUES ('nested', 4, 7, CAST('{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"clerk","content":"Forty.","problem":null,"untrusted":false,"structured":false,"media":[]},"seconds":0.403699,"usage":{"requests":2,"calls":1,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794981114.840724}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"The clerk says forty."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000071,"at":1794981114.8410065}
{"v":2,"kind":"finished","stopped":"answered","text":"The clerk says forty.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794981114.8410652}' AS BLOB));
INSERT INTO entries VALUES ('nested.call_1_1', 0, 4, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","parent":"nested","within":"call_1_1","at":1794981114.672864}
{"v":2,"kind":"said","text":"B-7?","at":1794981114.6729705}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"B-7\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000119,"at":1794981114.673523}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"B-7"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1794981114.6736}' AS BLOB));
INSERT INTO entries VALUES ('nested.call_1_1', 4, 7, CAST('{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false,"structured":false,"media":[],"data":40},"seconds":0.096527,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794981114.7704852}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"Forty."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000137,"at":1794981114.77112}
{"v":2,"kind":"finished","stopped":"answered","text":"Forty.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794981114.771213}' AS BLOB));
INSERT INTO entries VALUES ('secret', 0, 4, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","at":1794981157.199639}
{"v":1,"kind":"encrypted","key":"15dac3ac","box":"H1c08JuuwfV68UGS8s4O81YoqCzr/sGGtZkjcyMFgU1Np7seZ9o+k2uKbfflOGTfLdEdJcIa1T2wL1fgNjzRrr9WztoYYNmYqGSzppAPiGP5hb1SXNiXcdU0F+AzlTaxYFKenX+wQY9vY7vl1aZKMpTAFzm4TVS+Mo0ehykuRcm0zwGbesvYb1uhDmDZvU8vgLPq"}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"I keep it."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000553,"at":1794981157.2007031}
{"v":2,"kind":"finished","stopped":"answered","text":"I keep it.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794981157.2008038}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 0, 4, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","user":"ann","at":1794981131.9456744}
{"v":2,"kind":"said","text":"Order five more.","at":1794981131.945781}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"A-113\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000572,"at":1794981131.9466133}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"A-113"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1794981131.9466944}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 4, 7, CAST('{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false,"structured":false,"media":[],"data":40},"seconds":0.083942,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794981132.030993}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_2_1","name":"order","text":"{\"item\":\"A-113\",\"count\":5}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000086,"at":1794981132.0312963}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_2_1","name":"order","arguments":{"item":"A-113","count":5}},"verdict":{"verdict":"ask","by":"ask(\"order\")","reason":"The policy wants a person to approve order."},"terms":{"agent":"shop","effect":"write","toolset":"functions"},"at":1794981132.031362}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 7, 8, CAST('{"v":2,"kind":"finished","stopped":"waiting","reason":"A user must approve a call.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794981132.1574328}' AS BLOB));
INSERT INTO audit VALUES (1, '0000000000000000000000000000000000000000000000000000000000000000', CAST('{"run_id":"answered","call_id":"call_1_1","user":"ann","tool_name":"stock","arguments":{"item":"A-113"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":153.435,"success":true,"error":null,"at":1794981102.810825,"stage":"ended"}' AS BLOB), '808985420cde9e839ed777e66c0aa90e3a6daf189996bf7ad1e0c0ef9d266b14');
INSERT INTO audit VALUES (2, '808985420cde9e839ed777e66c0aa90e3a6daf189996bf7ad1e0c0ef9d266b14', CAST('{"run_id":"nested.call_1_1","call_id":"call_1_1","user":"","tool_name":"stock","arguments":{"item":"B-7"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":96.527,"success":true,"error":null,"at":1794981114.7704005,"stage":"ended"}' AS BLOB), '51d8656068a91bc65ef1764c24eff841ee611feb29e804b023b7b9eed2f8bb14');
INSERT INTO audit VALUES (3, '51d8656068a91bc65ef1764c24eff841ee611feb29e804b023b7b9eed2f8bb14', CAST('{"run_id":"nested","call_id":"call_1_1","user":"","tool_name":"clerk","arguments":{"prompt":"B-7?"},"verdict":"allow","verdict_by":"default","result_summary":"Forty.","duration_ms":403.699,"success":true,"error":null,"at":1794981114.84067,"stage":"ended"}' AS BLOB), 'f453a370237ca333e0804d44194c49c87d7f45df5a95c22fbdefe064ce05c7b3');
INSERT INTO audit VALUES (4, 'f453a370237ca333e0804d44194c49c87d7f45df5a95c22fbdefe064ce05c7b3', CAST('{"run_id":"waiting","call_id":"call_1_1","user":"ann","tool_name":"stock","arguments":{"item":"A-113"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":83.942,"success":true,"error":null,"at":1794981132.0309296,"stage":"ended"}' AS BLOB), '5442787fab8b122b2fae4991c884d9e3e94ef0df33cb9fb0b83b31eff00a1fb3');
INSERT INTO audit VALUES (5, '5442787fab8b122b2fae4991c884d9e3e94ef0df33cb9fb0b83b31eff00a1fb3', CAST('{"run_id":"killed","call_id":"call_1_1","user":"","tool_name":"order","arguments":{"item":"C-1","count":2},"verdict":"allow","verdict_by":"allow(\"order\")","result_summary":"","duration_ms":0.0,"success":true,"error":null,"at":1794981145.3463376,"stage":"begins"}' AS BLOB), 'cc38aa98cae975142581912d1b10052bd4d00dc822fa6957d32d43dfb9f5d79f');
INSERT INTO audit_head VALUES (1, 5, 'cc38aa98cae975142581912d1b10052bd4d00dc822fa6957d32d43dfb9f5d79f');
INSERT INTO written VALUES (1, 13);
INSERT INTO stats_new VALUES ('answered');
INSERT INTO stats_new VALUES ('asleep');
INSERT INTO stats_new VALUES ('killed');
INSERT INTO stats_new VALUES ('nested');
INSERT INTO stats_new VALUES ('nested.call_1_1');
INSERT INTO stats_new VALUES ('secret');
INSERT INTO stats_new VALUES ('waiting');
INSERT INTO queue_gate VALUES (1);
INSERT INTO schedules VALUES ('daily', '0 7 * * *', 'UTC', '{"order":{"assistant":"reading","model":"scripted:none.json","base_url":"","instructions":"","workspace":"","attended":true,"agent":"","queue":"default","priority":0,"any_version":false},"message":"What is new?","user":""}', 1794985200.0);
INSERT INTO waits VALUES ('asleep', 'asleep', 'call_1_1', NULL, 'delivered', '7', NULL, 0);
CREATE INDEX runs_by_parent ON runs (parent) WHERE parent <> '';
CREATE INDEX runs_that_wait ON runs (run_id) WHERE status = 'waiting' AND parent = '';
CREATE INDEX leases_held ON leases (run_id) WHERE holder <> '';
CREATE INDEX cache_by_group ON cache (grp);
CREATE TRIGGER stats_new_runs AFTER INSERT ON runs BEGIN INSERT OR IGNORE INTO stats_new VALUES (new.run_id); END;
CREATE TRIGGER stats_new_status AFTER UPDATE OF status ON runs BEGIN
    INSERT OR IGNORE INTO stats_new VALUES (new.run_id);
END;
CREATE INDEX stats_calls_by_time ON stats_calls (at);
CREATE INDEX stats_requests_by_time ON stats_requests (at);
CREATE INDEX queue_by_time ON queue (state, at);
CREATE INDEX queue_by_priority ON queue (state, priority DESC, at);
CREATE INDEX queue_begun_by_time ON queue_begun (at);
CREATE INDEX waits_by_time ON waits (due) WHERE due IS NOT NULL;
CREATE INDEX waits_by_event ON waits (event, key) WHERE event <> '';
CREATE INDEX run_sessions_by_session ON run_sessions (session);
CREATE TRIGGER outbox_new_runs AFTER INSERT ON runs
WHEN new.parent = '' AND new.status <> 'open' AND EXISTS (SELECT 1 FROM outbox_on) BEGIN
    INSERT OR REPLACE INTO outbox_new VALUES (new.run_id, new.updated_at);
END;
CREATE TRIGGER outbox_new_status AFTER UPDATE OF status ON runs
WHEN new.parent = '' AND new.status <> 'open' AND EXISTS (SELECT 1 FROM outbox_on) BEGIN
    INSERT OR REPLACE INTO outbox_new VALUES (new.run_id, new.updated_at);
END;
CREATE INDEX outbox_by_time ON outbox (due) WHERE due IS NOT NULL;
PRAGMA user_version=11;
