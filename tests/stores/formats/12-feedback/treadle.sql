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
CREATE TABLE feedback (
    run_id TEXT NOT NULL, message INTEGER NOT NULL, rating TEXT NOT NULL, comment TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (run_id, message)
) WITHOUT ROWID;
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
INSERT INTO runs VALUES ('answered', '', 'shop', 'scripted', 'ann', 'How many A-113 are there?', 'answered', 1795004827.843712, 1795004827.8543239);
INSERT INTO runs VALUES ('asleep', '', 'shop', 'scripted', '', 'Has order 7 come?', 'waiting', 1795004835.1300445, 1795004835.140468);
INSERT INTO runs VALUES ('killed', '', 'shop', 'scripted', '', 'Order two.', 'open', 1795004832.439134, 1795004832.4406247);
INSERT INTO runs VALUES ('nested', '', 'agent', 'scripted', '', 'Ask the clerk.', 'answered', 1795004829.7563334, 1795004829.83231);
INSERT INTO runs VALUES ('nested.call_1_1', 'nested', 'shop', 'scripted', '', 'B-7?', 'answered', 1795004829.7726593, 1795004829.8274655);
INSERT INTO runs VALUES ('secret', '', 'shop', 'scripted', '', 'It is postgres://ann:[redacted:url_password]@db.example/shop here.', 'answered', 1795004833.27412, 1795004833.2762463);
INSERT INTO runs VALUES ('waiting', '', 'shop', 'scripted', 'ann', 'Order five more.', 'waiting', 1795004831.1597946, 1795004831.1980643);
INSERT INTO entries VALUES ('answered', 0, 7, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","user":"ann","at":1795004827.843712}
{"v":2,"kind":"said","text":"How many A-113 are there?","at":1795004827.8438125}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"A-113\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.003582,"at":1795004827.8477771}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"A-113"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1795004827.8480513}
{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false,"structured":false,"media":[],"data":40},"seconds":0.0055,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1795004827.8539543}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"We have 40 of them."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000121,"at":1795004827.8542516}
{"v":2,"kind":"finished","stopped":"answered","text":"We have 40 of them.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1795004827.8543239}' AS BLOB));
INSERT INTO entries VALUES ('asleep', 0, 6, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","at":1795004835.1300445}
{"v":2,"kind":"said","text":"Has order 7 come?","at":1795004835.1320052}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"delivery","text":"{\"order\":\"7\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000757,"at":1795004835.1330388}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"delivery","arguments":{"order":"7"}},"verdict":{"verdict":"allow","by":"default","reason":"delivery only reads."},"at":1795004835.133117}
{"v":2,"kind":"awaited","call_id":"call_1_1","wait":{"event":"delivered","key":"7"},"at":1795004835.1403196}
{"v":2,"kind":"finished","stopped":"waiting","reason":"The run waits for the event ''delivered'' of ''7''.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"asleep":true,"at":1795004835.140468}' AS BLOB));
INSERT INTO entries VALUES ('killed', 0, 5, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","at":1795004832.439134}
{"v":2,"kind":"said","text":"Order two.","at":1795004832.4392245}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"order","text":"{\"item\":\"C-1\",\"count\":2}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000745,"at":1795004832.4402077}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"order","arguments":{"item":"C-1","count":2}},"verdict":{"verdict":"allow","by":"allow(\"order\")","reason":"The policy allows order."},"at":1795004832.4402914}
{"v":2,"kind":"started","call_id":"call_1_1","key":"killed:call_1_1","at":1795004832.4406247}' AS BLOB));
INSERT INTO entries VALUES ('nested', 0, 4, CAST('{"v":2,"kind":"opened","agent":"agent","model":"scripted","at":1795004829.7563334}
{"v":2,"kind":"said","text":"Ask the clerk.","at":1795004829.7564914}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"clerk","text":"{\"prompt\":\"B-7?\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000914,"at":1795004829.7577844}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"clerk","arguments":{"prompt":"B-7?"}},"verdict":{"verdict":"allow","by":"default","reason":"clerk only reads."},"at":1795004829.757911}' AS BLOB));
INSERT INTO entries VALUES ('nested', 4, 7, CAST('{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"clerk","content":"Forty.","problem":null,"untrusted":false,"structured":false,"media":[]},"seconds":0.0737,"usage":{"requests":2,"calls":1,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1795004829.8320067}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"The clerk says forty."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000076,"at":1795004829.83225}
{"v":2,"kind":"finished","stopped":"answered","text":"The clerk says forty.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1795004829.83231}' AS BLOB));
INSERT INTO entries VALUES ('nested.call_1_1', 0, 4, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","parent":"nested","within":"call_1_1","at":1795004829.7726593}
{"v":2,"kind":"said","text":"B-7?","at":1795004829.7727451}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"B-7\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000149,"at":1795004829.773717}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"B-7"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1795004829.7738268}' AS BLOB));
INSERT INTO entries VALUES ('nested.call_1_1', 4, 7, CAST('{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false,"structured":false,"media":[],"data":40},"seconds":0.052966,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1795004829.8270838}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"Forty."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000106,"at":1795004829.8273852}
{"v":2,"kind":"finished","stopped":"answered","text":"Forty.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1795004829.8274655}' AS BLOB));
INSERT INTO entries VALUES ('secret', 0, 4, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","at":1795004833.27412}
{"v":1,"kind":"encrypted","key":"8f2a6632","box":"ukzlWGClHaPE7P+BaXLH7sd8rbLd719J2nraGkoCEyauPdVehYSAnVFflXlIA6vX6Y6TUn8l/aTHwJIRFecPZzz896MI/i7rsKhIVG24pBRknK4lvBpZtaKF9FXnomMSZ0fKx/eRiVIo+jJgRRIyoqLce/uSD43gaWfn0/n3XFqp5OfJKxZ0kfdIB5iyzUolmY2o"}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"I keep it."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.001364,"at":1795004833.2760882}
{"v":2,"kind":"finished","stopped":"answered","text":"I keep it.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1795004833.2762463}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 0, 7, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","user":"ann","at":1795004831.1597946}
{"v":2,"kind":"said","text":"Order five more.","at":1795004831.1874657}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"A-113\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.002695,"at":1795004831.1906686}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"A-113"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1795004831.1907623}
{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false,"structured":false,"media":[],"data":40},"seconds":0.000536,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1795004831.1916108}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_2_1","name":"order","text":"{\"item\":\"A-113\",\"count\":5}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.00009,"at":1795004831.191839}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_2_1","name":"order","arguments":{"item":"A-113","count":5}},"verdict":{"verdict":"ask","by":"ask(\"order\")","reason":"The policy wants a person to approve order."},"terms":{"agent":"shop","effect":"write","toolset":"functions"},"at":1795004831.1919265}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 7, 8, CAST('{"v":2,"kind":"finished","stopped":"waiting","reason":"A user must approve a call.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1795004831.1980643}' AS BLOB));
INSERT INTO audit VALUES (1, '0000000000000000000000000000000000000000000000000000000000000000', CAST('{"run_id":"answered","call_id":"call_1_1","user":"ann","tool_name":"stock","arguments":{"item":"A-113"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":5.5,"success":true,"error":null,"at":1795004827.8539097,"stage":"ended"}' AS BLOB), '767a21be15c86370dd752dd3c966bcb7c61c04ca8c3090a06b47478ae1e46c4d');
INSERT INTO audit VALUES (2, '767a21be15c86370dd752dd3c966bcb7c61c04ca8c3090a06b47478ae1e46c4d', CAST('{"run_id":"nested.call_1_1","call_id":"call_1_1","user":"","tool_name":"stock","arguments":{"item":"B-7"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":52.966,"success":true,"error":null,"at":1795004829.8270211,"stage":"ended"}' AS BLOB), '34ac121cc17d798cfc28e81c724cb5905dd7adeb46d3b61d22779196b8e04179');
INSERT INTO audit VALUES (3, '34ac121cc17d798cfc28e81c724cb5905dd7adeb46d3b61d22779196b8e04179', CAST('{"run_id":"nested","call_id":"call_1_1","user":"","tool_name":"clerk","arguments":{"prompt":"B-7?"},"verdict":"allow","verdict_by":"default","result_summary":"Forty.","duration_ms":73.7,"success":true,"error":null,"at":1795004829.8319478,"stage":"ended"}' AS BLOB), '1c05919e3d8efa1489762e8dfaae224a9b7d3cadcd9a32535e41fa668016e8b4');
INSERT INTO audit VALUES (4, '1c05919e3d8efa1489762e8dfaae224a9b7d3cadcd9a32535e41fa668016e8b4', CAST('{"run_id":"waiting","call_id":"call_1_1","user":"ann","tool_name":"stock","arguments":{"item":"A-113"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":0.536,"success":true,"error":null,"at":1795004831.1915772,"stage":"ended"}' AS BLOB), '2e30e0a65cdf18c11e0cc71e2fc13c487fd56ee83a32c2ef06a6fae02b6faf88');
INSERT INTO audit VALUES (5, '2e30e0a65cdf18c11e0cc71e2fc13c487fd56ee83a32c2ef06a6fae02b6faf88', CAST('{"run_id":"killed","call_id":"call_1_1","user":"","tool_name":"order","arguments":{"item":"C-1","count":2},"verdict":"allow","verdict_by":"allow(\"order\")","result_summary":"","duration_ms":0.0,"success":true,"error":null,"at":1795004832.440601,"stage":"begins"}' AS BLOB), '7043010e59499d6e6536cee2822ba50572d0a0cd03f5886fa178b2007b69c120');
INSERT INTO audit_head VALUES (1, 5, '7043010e59499d6e6536cee2822ba50572d0a0cd03f5886fa178b2007b69c120');
INSERT INTO written VALUES (1, 10);
INSERT INTO stats_new VALUES ('answered');
INSERT INTO stats_new VALUES ('asleep');
INSERT INTO stats_new VALUES ('killed');
INSERT INTO stats_new VALUES ('nested');
INSERT INTO stats_new VALUES ('nested.call_1_1');
INSERT INTO stats_new VALUES ('secret');
INSERT INTO stats_new VALUES ('waiting');
INSERT INTO queue_gate VALUES (1);
INSERT INTO schedules VALUES ('daily', '0 7 * * *', 'UTC', '{"order":{"assistant":"reading","model":"scripted:none.json","base_url":"","instructions":"","workspace":"","attended":true,"agent":"","queue":"default","priority":0,"any_version":false},"message":"What is new?","user":""}', 1795071600.0);
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
PRAGMA user_version=12;
