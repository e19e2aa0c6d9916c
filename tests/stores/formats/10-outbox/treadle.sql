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
    until REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE outbox_on (one INTEGER PRIMARY KEY CHECK (one = 1));
CREATE TABLE outbox_new (run_id TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE outbox (
    id TEXT PRIMARY KEY, run_id TEXT NOT NULL, channel TEXT NOT NULL, body TEXT NOT NULL, due REAL, tries INTEGER NOT NULL,
    problem TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO runs VALUES ('answered', '', 'shop', 'scripted', 'ann', 'How many A-113 are there?', 'answered', 1794970720.863181, 1794970720.8790758);
INSERT INTO runs VALUES ('asleep', '', 'shop', 'scripted', '', 'Has order 7 come?', 'waiting', 1794970727.2793407, 1794970727.2941492);
INSERT INTO runs VALUES ('killed', '', 'shop', 'scripted', '', 'Order two.', 'open', 1794970724.3333006, 1794970724.3347204);
INSERT INTO runs VALUES ('nested', '', 'agent', 'scripted', '', 'Ask the clerk.', 'answered', 1794970722.2626653, 1794970722.3416874);
INSERT INTO runs VALUES ('nested.call_1_1', 'nested', 'shop', 'scripted', '', 'B-7?', 'answered', 1794970722.2821116, 1794970722.3289897);
INSERT INTO runs VALUES ('secret', '', 'shop', 'scripted', '', 'It is postgres://ann:[redacted:url_password]@db.example/shop here.', 'answered', 1794970725.8655653, 1794970725.866647);
INSERT INTO runs VALUES ('waiting', '', 'shop', 'scripted', 'ann', 'Order five more.', 'waiting', 1794970723.4075382, 1794970723.4142659);
INSERT INTO entries VALUES ('answered', 0, 4, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","user":"ann","at":1794970720.863181}
{"v":2,"kind":"said","text":"How many A-113 are there?","at":1794970720.863318}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"A-113\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.002446,"at":1794970720.8660405}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"A-113"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1794970720.8661456}' AS BLOB));
INSERT INTO entries VALUES ('answered', 4, 7, CAST('{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false,"structured":false,"media":[],"data":40},"seconds":0.012162,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794970720.8786488}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"We have 40 of them."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000107,"at":1794970720.879002}
{"v":2,"kind":"finished","stopped":"answered","text":"We have 40 of them.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794970720.8790758}' AS BLOB));
INSERT INTO entries VALUES ('asleep', 0, 6, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","at":1794970727.2793407}
{"v":2,"kind":"said","text":"Has order 7 come?","at":1794970727.2795444}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"delivery","text":"{\"order\":\"7\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000632,"at":1794970727.2804778}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"delivery","arguments":{"order":"7"}},"verdict":{"verdict":"allow","by":"default","reason":"delivery only reads."},"at":1794970727.2805731}
{"v":2,"kind":"awaited","call_id":"call_1_1","wait":{"event":"delivered","key":"7"},"at":1794970727.2939909}
{"v":2,"kind":"finished","stopped":"waiting","reason":"The run waits for the event ''delivered'' of ''7''.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"asleep":true,"at":1794970727.2941492}' AS BLOB));
INSERT INTO entries VALUES ('killed', 0, 5, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","at":1794970724.3333006}
{"v":2,"kind":"said","text":"Order two.","at":1794970724.3334217}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"order","text":"{\"item\":\"C-1\",\"count\":2}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000613,"at":1794970724.3343074}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"order","arguments":{"item":"C-1","count":2}},"verdict":{"verdict":"allow","by":"allow(\"order\")","reason":"The policy allows order."},"at":1794970724.334399}
{"v":2,"kind":"started","call_id":"call_1_1","key":"killed:call_1_1","at":1794970724.3347204}' AS BLOB));
INSERT INTO entries VALUES ('nested', 0, 4, CAST('{"v":2,"kind":"opened","agent":"agent","model":"scripted","at":1794970722.2626653}
{"v":2,"kind":"said","text":"Ask the clerk.","at":1794970722.2627897}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"clerk","text":"{\"prompt\":\"B-7?\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.0006,"at":1794970722.2636554}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"clerk","arguments":{"prompt":"B-7?"}},"verdict":{"verdict":"allow","by":"default","reason":"clerk only reads."},"at":1794970722.2637396}' AS BLOB));
INSERT INTO entries VALUES ('nested', 4, 7, CAST('{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"clerk","content":"Forty.","problem":null,"untrusted":false,"structured":false,"media":[]},"seconds":0.077306,"usage":{"requests":2,"calls":1,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794970722.3413684}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"The clerk says forty."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000071,"at":1794970722.3416274}
{"v":2,"kind":"finished","stopped":"answered","text":"The clerk says forty.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794970722.3416874}' AS BLOB));
INSERT INTO entries VALUES ('nested.call_1_1', 0, 4, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","parent":"nested","within":"call_1_1","at":1794970722.2821116}
{"v":2,"kind":"said","text":"B-7?","at":1794970722.2822094}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"B-7\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.001498,"at":1794970722.283953}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"B-7"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1794970722.2840972}' AS BLOB));
INSERT INTO entries VALUES ('nested.call_1_1', 4, 7, CAST('{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false,"structured":false,"media":[],"data":40},"seconds":0.044144,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794970722.328586}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"Forty."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000097,"at":1794970722.3289142}
{"v":2,"kind":"finished","stopped":"answered","text":"Forty.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794970722.3289897}' AS BLOB));
INSERT INTO entries VALUES ('secret', 0, 4, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","at":1794970725.8655653}
{"v":1,"kind":"encrypted","key":"5a197493","box":"Moe3sZaBAu8co6hMOtUv8d3vQ/uKnfxCZO/AMCGBa2gV9CDg4Xzx9sflfBpsphjDP8ExaYl54fveeJdOPlBW9VLwEkJlq74DtAjPVtM5bkymbI2P8Bb+BGTIv/VPLmWozFAsuJlMecZPlPvEHaQhUrWb4IDIJCyW82HNxGBRH/QDR+ITV+KBXD15G/6Nlk/yuKk4"}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"I keep it."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000576,"at":1794970725.8665419}
{"v":2,"kind":"finished","stopped":"answered","text":"I keep it.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794970725.866647}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 0, 8, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","user":"ann","at":1794970723.4075382}
{"v":2,"kind":"said","text":"Order five more.","at":1794970723.4076416}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"A-113\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000529,"at":1794970723.4087524}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"A-113"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1794970723.4088385}
{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false,"structured":false,"media":[],"data":40},"seconds":0.001911,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794970723.411075}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_2_1","name":"order","text":"{\"item\":\"A-113\",\"count\":5}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.00008,"at":1794970723.4113286}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_2_1","name":"order","arguments":{"item":"A-113","count":5}},"verdict":{"verdict":"ask","by":"ask(\"order\")","reason":"The policy wants a person to approve order."},"terms":{"agent":"shop","effect":"write","toolset":"functions"},"at":1794970723.4113889}
{"v":2,"kind":"finished","stopped":"waiting","reason":"A user must approve a call.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794970723.4142659}' AS BLOB));
INSERT INTO audit VALUES (1, '0000000000000000000000000000000000000000000000000000000000000000', CAST('{"run_id":"answered","call_id":"call_1_1","user":"ann","tool_name":"stock","arguments":{"item":"A-113"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":12.162,"success":true,"error":null,"at":1794970720.8785756,"stage":"ended"}' AS BLOB), '8e7325e6eacdaac5afc46801cee0111b1fa721b3da40a4374a9cc6223145624a');
INSERT INTO audit VALUES (2, '8e7325e6eacdaac5afc46801cee0111b1fa721b3da40a4374a9cc6223145624a', CAST('{"run_id":"nested.call_1_1","call_id":"call_1_1","user":"","tool_name":"stock","arguments":{"item":"B-7"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":44.144,"success":true,"error":null,"at":1794970722.328521,"stage":"ended"}' AS BLOB), '23e52fca05c4a9f68da78bc1b7ed5c3170383a90e480c40ab9feb4b3799ea60c');
INSERT INTO audit VALUES (3, '23e52fca05c4a9f68da78bc1b7ed5c3170383a90e480c40ab9feb4b3799ea60c', CAST('{"run_id":"nested","call_id":"call_1_1","user":"","tool_name":"clerk","arguments":{"prompt":"B-7?"},"verdict":"allow","verdict_by":"default","result_summary":"Forty.","duration_ms":77.306,"success":true,"error":null,"at":1794970722.341314,"stage":"ended"}' AS BLOB), '9f3d671336cb4ddcd92f81e08589d077976e6e69912bcfd2d8003fce323d2d0c');
INSERT INTO audit VALUES (4, '9f3d671336cb4ddcd92f81e08589d077976e6e69912bcfd2d8003fce323d2d0c', CAST('{"run_id":"waiting","call_id":"call_1_1","user":"ann","tool_name":"stock","arguments":{"item":"A-113"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":1.911,"success":true,"error":null,"at":1794970723.4110386,"stage":"ended"}' AS BLOB), 'd887667d2070642472f083a1db5826239b0445ab97bb67b0c6689eb234815af8');
INSERT INTO audit VALUES (5, 'd887667d2070642472f083a1db5826239b0445ab97bb67b0c6689eb234815af8', CAST('{"run_id":"killed","call_id":"call_1_1","user":"","tool_name":"order","arguments":{"item":"C-1","count":2},"verdict":"allow","verdict_by":"allow(\"order\")","result_summary":"","duration_ms":0.0,"success":true,"error":null,"at":1794970724.334697,"stage":"begins"}' AS BLOB), '241a5106a768ae1bdb2f6f8faf4624fbf8ba1961547a55d24ca33bbb73edefe8');
INSERT INTO audit_head VALUES (1, 5, '241a5106a768ae1bdb2f6f8faf4624fbf8ba1961547a55d24ca33bbb73edefe8');
INSERT INTO written VALUES (1, 11);
INSERT INTO stats_new VALUES ('answered');
INSERT INTO stats_new VALUES ('asleep');
INSERT INTO stats_new VALUES ('killed');
INSERT INTO stats_new VALUES ('nested');
INSERT INTO stats_new VALUES ('nested.call_1_1');
INSERT INTO stats_new VALUES ('secret');
INSERT INTO stats_new VALUES ('waiting');
INSERT INTO queue_gate VALUES (1);
INSERT INTO schedules VALUES ('daily', '0 7 * * *', 'UTC', '{"order":{"assistant":"reading","model":"scripted:none.json","base_url":"","instructions":"","workspace":"","attended":true,"agent":"","queue":"default","priority":0},"message":"What is new?","user":""}', 1794985200.0);
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
PRAGMA user_version=10;
