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
    sent_at REAL NOT NULL, again INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE queue_begun (owner TEXT NOT NULL, at REAL NOT NULL);
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
INSERT INTO runs VALUES ('answered', '', 'shop', 'scripted', 'ann', 'How many A-113 are there?', 'answered', 1794959343.5396023, 1794959343.5548475);
INSERT INTO runs VALUES ('asleep', '', 'shop', 'scripted', '', 'Has order 7 come?', 'waiting', 1794959347.637696, 1794959347.6529047);
INSERT INTO runs VALUES ('killed', '', 'shop', 'scripted', '', 'Order two.', 'open', 1794959346.208638, 1794959346.2102866);
INSERT INTO runs VALUES ('nested', '', 'agent', 'scripted', '', 'Ask the clerk.', 'answered', 1794959344.4274797, 1794959344.449904);
INSERT INTO runs VALUES ('nested.call_1_1', 'nested', 'shop', 'scripted', '', 'B-7?', 'answered', 1794959344.4371078, 1794959344.4466546);
INSERT INTO runs VALUES ('secret', '', 'shop', 'scripted', '', 'It is postgres://ann:[redacted:url_password]@db.example/shop here.', 'answered', 1794959346.9736547, 1794959346.976299);
INSERT INTO runs VALUES ('waiting', '', 'shop', 'scripted', 'ann', 'Order five more.', 'waiting', 1794959345.5014484, 1794959345.5250616);
INSERT INTO entries VALUES ('answered', 0, 4, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","user":"ann","at":1794959343.5396023}
{"v":2,"kind":"said","text":"How many A-113 are there?","at":1794959343.5397465}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"A-113\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.002453,"at":1794959343.5425394}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"A-113"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1794959343.5426686}' AS BLOB));
INSERT INTO entries VALUES ('answered', 4, 7, CAST('{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false,"structured":false,"media":[],"data":40},"seconds":0.01132,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794959343.5543764}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"We have 40 of them."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000139,"at":1794959343.5547633}
{"v":2,"kind":"finished","stopped":"answered","text":"We have 40 of them.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794959343.5548475}' AS BLOB));
INSERT INTO entries VALUES ('asleep', 0, 6, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","at":1794959347.637696}
{"v":2,"kind":"said","text":"Has order 7 come?","at":1794959347.6378064}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"delivery","text":"{\"order\":\"7\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000524,"at":1794959347.6385968}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"delivery","arguments":{"order":"7"}},"verdict":{"verdict":"allow","by":"default","reason":"delivery only reads."},"at":1794959347.6386821}
{"v":2,"kind":"awaited","call_id":"call_1_1","wait":{"event":"delivered","key":"7"},"at":1794959347.6527443}
{"v":2,"kind":"finished","stopped":"waiting","reason":"The run waits for the event ''delivered'' of ''7''.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"asleep":true,"at":1794959347.6529047}' AS BLOB));
INSERT INTO entries VALUES ('killed', 0, 5, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","at":1794959346.208638}
{"v":2,"kind":"said","text":"Order two.","at":1794959346.2087553}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"order","text":"{\"item\":\"C-1\",\"count\":2}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000568,"at":1794959346.209912}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"order","arguments":{"item":"C-1","count":2}},"verdict":{"verdict":"allow","by":"allow(\"order\")","reason":"The policy allows order."},"at":1794959346.2099946}
{"v":2,"kind":"started","call_id":"call_1_1","key":"killed:call_1_1","at":1794959346.2102866}' AS BLOB));
INSERT INTO entries VALUES ('nested', 0, 4, CAST('{"v":2,"kind":"opened","agent":"agent","model":"scripted","at":1794959344.4274797}
{"v":2,"kind":"said","text":"Ask the clerk.","at":1794959344.4275928}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"clerk","text":"{\"prompt\":\"B-7?\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000896,"at":1794959344.433157}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"clerk","arguments":{"prompt":"B-7?"}},"verdict":{"verdict":"allow","by":"default","reason":"clerk only reads."},"at":1794959344.4332592}' AS BLOB));
INSERT INTO entries VALUES ('nested', 4, 7, CAST('{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"clerk","content":"Forty.","problem":null,"untrusted":false,"structured":false,"media":[]},"seconds":0.015865,"usage":{"requests":2,"calls":1,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794959344.4494643}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"The clerk says forty."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000116,"at":1794959344.4498184}
{"v":2,"kind":"finished","stopped":"answered","text":"The clerk says forty.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794959344.449904}' AS BLOB));
INSERT INTO entries VALUES ('nested.call_1_1', 0, 4, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","parent":"nested","within":"call_1_1","at":1794959344.4371078}
{"v":2,"kind":"said","text":"B-7?","at":1794959344.4372027}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"B-7\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000564,"at":1794959344.4384303}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"B-7"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1794959344.4394474}' AS BLOB));
INSERT INTO entries VALUES ('nested.call_1_1', 4, 7, CAST('{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false,"structured":false,"media":[],"data":40},"seconds":0.00378,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794959344.4437366}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"Forty."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000202,"at":1794959344.44649}
{"v":2,"kind":"finished","stopped":"answered","text":"Forty.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794959344.4466546}' AS BLOB));
INSERT INTO entries VALUES ('secret', 0, 4, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","at":1794959346.9736547}
{"v":1,"kind":"encrypted","key":"7faf7a74","box":"qvO0ezKRHqB2LzMU7SFfckyQ6SvQUT7V6eTtul+MIIegOw+nFVAKjeu57WVbKwrAKPEhdFxMojB/EGkvXxakfc88FwOAi7IKIp06dk/WiQSKOQNE9dVa8fB/pZ0QX9h/QjJ4DtJ/PbM7rCJVtZbDBmKKuRIJ7XXC+bIQDOjcdS5xAaOznVbouOHoNJoZ51tZWISv"}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"I keep it."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.002105,"at":1794959346.976167}
{"v":2,"kind":"finished","stopped":"answered","text":"I keep it.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794959346.976299}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 0, 4, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","user":"ann","at":1794959345.5014484}
{"v":2,"kind":"said","text":"Order five more.","at":1794959345.501569}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"A-113\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.00057,"at":1794959345.5024266}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"A-113"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1794959345.50251}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 4, 7, CAST('{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false,"structured":false,"media":[],"data":40},"seconds":0.009827,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794959345.512646}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_2_1","name":"order","text":"{\"item\":\"A-113\",\"count\":5}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000115,"at":1794959345.5129712}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_2_1","name":"order","arguments":{"item":"A-113","count":5}},"verdict":{"verdict":"ask","by":"ask(\"order\")","reason":"The policy wants a person to approve order."},"terms":{"agent":"shop","effect":"write","toolset":"functions"},"at":1794959345.5130265}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 7, 8, CAST('{"v":2,"kind":"finished","stopped":"waiting","reason":"A user must approve a call.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794959345.5250616}' AS BLOB));
INSERT INTO audit VALUES (1, '0000000000000000000000000000000000000000000000000000000000000000', CAST('{"run_id":"answered","call_id":"call_1_1","user":"ann","tool_name":"stock","arguments":{"item":"A-113"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":11.32,"success":true,"error":null,"at":1794959343.554312,"stage":"ended"}' AS BLOB), 'adc8ffdc0ecdbd5f1994113dfddcd90d102d20ee7662307cbd1016d58a1d0cf0');
INSERT INTO audit VALUES (2, 'adc8ffdc0ecdbd5f1994113dfddcd90d102d20ee7662307cbd1016d58a1d0cf0', CAST('{"run_id":"nested.call_1_1","call_id":"call_1_1","user":"","tool_name":"stock","arguments":{"item":"B-7"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":3.78,"success":true,"error":null,"at":1794959344.4436595,"stage":"ended"}' AS BLOB), 'c28ec63e5ff06e84e8f2e1cbfe518e52118f085d230ac6072148969ac7fa3e5e');
INSERT INTO audit VALUES (3, 'c28ec63e5ff06e84e8f2e1cbfe518e52118f085d230ac6072148969ac7fa3e5e', CAST('{"run_id":"nested","call_id":"call_1_1","user":"","tool_name":"clerk","arguments":{"prompt":"B-7?"},"verdict":"allow","verdict_by":"default","result_summary":"Forty.","duration_ms":15.865,"success":true,"error":null,"at":1794959344.4494028,"stage":"ended"}' AS BLOB), '6d296870c2157cd5e00ca4e1b7165bb3d9125bc536e5b9bca41e7ebed0704e0d');
INSERT INTO audit VALUES (4, '6d296870c2157cd5e00ca4e1b7165bb3d9125bc536e5b9bca41e7ebed0704e0d', CAST('{"run_id":"waiting","call_id":"call_1_1","user":"ann","tool_name":"stock","arguments":{"item":"A-113"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":9.827,"success":true,"error":null,"at":1794959345.5125945,"stage":"ended"}' AS BLOB), '832577b696a625bd7374b430e37820250fccbcabba75ff840f72e51feb591906');
INSERT INTO audit VALUES (5, '832577b696a625bd7374b430e37820250fccbcabba75ff840f72e51feb591906', CAST('{"run_id":"killed","call_id":"call_1_1","user":"","tool_name":"order","arguments":{"item":"C-1","count":2},"verdict":"allow","verdict_by":"allow(\"order\")","result_summary":"","duration_ms":0.0,"success":true,"error":null,"at":1794959346.2102659,"stage":"begins"}' AS BLOB), 'a08e3b110f962d6a4c7c7b9ae981282355d9783d30794ce3a4978a0b4aea7b90');
INSERT INTO audit_head VALUES (1, 5, 'a08e3b110f962d6a4c7c7b9ae981282355d9783d30794ce3a4978a0b4aea7b90');
INSERT INTO written VALUES (1, 11);
INSERT INTO stats_new VALUES ('answered');
INSERT INTO stats_new VALUES ('asleep');
INSERT INTO stats_new VALUES ('killed');
INSERT INTO stats_new VALUES ('nested');
INSERT INTO stats_new VALUES ('nested.call_1_1');
INSERT INTO stats_new VALUES ('secret');
INSERT INTO stats_new VALUES ('waiting');
INSERT INTO queue_gate VALUES (1);
INSERT INTO schedules VALUES ('daily', '0 7 * * *', 'UTC', '{"order":{"assistant":"reading","model":"scripted:none.json","base_url":"","instructions":"","workspace":"","attended":true,"agent":""},"message":"What is new?","user":""}', 1794985200.0);
INSERT INTO waits VALUES ('asleep', 'asleep', 'call_1_1', NULL, 'delivered', '7', NULL, 0);
CREATE INDEX runs_by_parent ON runs (parent) WHERE parent <> '';
CREATE INDEX cache_by_group ON cache (grp);
CREATE TRIGGER stats_new_runs AFTER INSERT ON runs BEGIN INSERT OR IGNORE INTO stats_new VALUES (new.run_id); END;
CREATE TRIGGER stats_new_status AFTER UPDATE OF status ON runs BEGIN
    INSERT OR IGNORE INTO stats_new VALUES (new.run_id);
END;
CREATE INDEX stats_calls_by_time ON stats_calls (at);
CREATE INDEX stats_requests_by_time ON stats_requests (at);
CREATE INDEX queue_by_time ON queue (state, at);
CREATE INDEX queue_begun_by_time ON queue_begun (at);
CREATE INDEX waits_by_time ON waits (due) WHERE due IS NOT NULL;
CREATE INDEX waits_by_event ON waits (event, key) WHERE event <> '';
CREATE INDEX run_sessions_by_session ON run_sessions (session);
PRAGMA user_version=8;
