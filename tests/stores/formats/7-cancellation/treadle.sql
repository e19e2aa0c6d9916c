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
INSERT INTO runs VALUES ('answered', '', 'shop', 'scripted', 'ann', 'How many A-113 are there?', 'answered', 1794955781.3600242, 1794955781.3645906);
INSERT INTO runs VALUES ('asleep', '', 'shop', 'scripted', '', 'Has order 7 come?', 'waiting', 1794955783.4800158, 1794955783.4825864);
INSERT INTO runs VALUES ('killed', '', 'shop', 'scripted', '', 'Order two.', 'open', 1794955782.7601757, 1794955782.7613058);
INSERT INTO runs VALUES ('nested', '', 'agent', 'scripted', '', 'Ask the clerk.', 'answered', 1794955781.8411794, 1794955781.875114);
INSERT INTO runs VALUES ('nested.call_1_1', 'nested', 'shop', 'scripted', '', 'B-7?', 'answered', 1794955781.8682022, 1794955781.8698022);
INSERT INTO runs VALUES ('secret', '', 'shop', 'scripted', '', 'It is postgres://ann:[redacted:url_password]@db.example/shop here.', 'answered', 1794955783.0841742, 1794955783.0854375);
INSERT INTO runs VALUES ('waiting', '', 'shop', 'scripted', 'ann', 'Order five more.', 'waiting', 1794955782.3820097, 1794955782.3849769);
INSERT INTO entries VALUES ('answered', 0, 7, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","user":"ann","at":1794955781.3600242}
{"v":2,"kind":"said","text":"How many A-113 are there?","at":1794955781.3601336}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"A-113\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000696,"at":1794955781.3610835}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"A-113"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1794955781.3611643}
{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false,"structured":false,"media":[],"data":40},"seconds":0.002817,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794955781.3642642}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"We have 40 of them."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000102,"at":1794955781.3645256}
{"v":2,"kind":"finished","stopped":"answered","text":"We have 40 of them.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794955781.3645906}' AS BLOB));
INSERT INTO entries VALUES ('asleep', 0, 6, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","at":1794955783.4800158}
{"v":2,"kind":"said","text":"Has order 7 come?","at":1794955783.4801316}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"delivery","text":"{\"order\":\"7\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.00062,"at":1794955783.4810693}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"delivery","arguments":{"order":"7"}},"verdict":{"verdict":"allow","by":"default","reason":"delivery only reads."},"at":1794955783.4811726}
{"v":2,"kind":"awaited","call_id":"call_1_1","wait":{"event":"delivered","key":"7"},"at":1794955783.4824333}
{"v":2,"kind":"finished","stopped":"waiting","reason":"The run waits for the event ''delivered'' of ''7''.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"asleep":true,"at":1794955783.4825864}' AS BLOB));
INSERT INTO entries VALUES ('killed', 0, 5, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","at":1794955782.7601757}
{"v":2,"kind":"said","text":"Order two.","at":1794955782.7602658}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"order","text":"{\"item\":\"C-1\",\"count\":2}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000433,"at":1794955782.7609339}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"order","arguments":{"item":"C-1","count":2}},"verdict":{"verdict":"allow","by":"allow(\"order\")","reason":"The policy allows order."},"at":1794955782.76101}
{"v":2,"kind":"started","call_id":"call_1_1","key":"killed:call_1_1","at":1794955782.7613058}' AS BLOB));
INSERT INTO entries VALUES ('nested', 0, 4, CAST('{"v":2,"kind":"opened","agent":"agent","model":"scripted","at":1794955781.8411794}
{"v":2,"kind":"said","text":"Ask the clerk.","at":1794955781.8413258}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"clerk","text":"{\"prompt\":\"B-7?\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000702,"at":1794955781.8423002}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"clerk","arguments":{"prompt":"B-7?"}},"verdict":{"verdict":"allow","by":"default","reason":"clerk only reads."},"at":1794955781.842383}' AS BLOB));
INSERT INTO entries VALUES ('nested', 4, 7, CAST('{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"clerk","content":"Forty.","problem":null,"untrusted":false,"structured":false,"media":[]},"seconds":0.032179,"usage":{"requests":2,"calls":1,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794955781.8748322}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"The clerk says forty."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000076,"at":1794955781.8750618}
{"v":2,"kind":"finished","stopped":"answered","text":"The clerk says forty.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794955781.875114}' AS BLOB));
INSERT INTO entries VALUES ('nested.call_1_1', 0, 7, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","parent":"nested","within":"call_1_1","at":1794955781.8682022}
{"v":2,"kind":"said","text":"B-7?","at":1794955781.868302}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"B-7\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000103,"at":1794955781.8686342}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"B-7"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1794955781.8687065}
{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false,"structured":false,"media":[],"data":40},"seconds":0.000455,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794955781.8694823}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"Forty."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000102,"at":1794955781.8697343}
{"v":2,"kind":"finished","stopped":"answered","text":"Forty.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794955781.8698022}' AS BLOB));
INSERT INTO entries VALUES ('secret', 0, 4, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","at":1794955783.0841742}
{"v":1,"kind":"encrypted","key":"de0eaa8c","box":"nC/GWzGzQj1XdOqEMJYYF+NRpmxf55J/ftEekXAUfWP+TL+pmfbEev0u6+OBgGIFQPHhMSXm0MUVrmQ2eTvs+aAUW/Jf0o0upgjXSBfGOpc5+34DEfM0D3XZ9hcQ584OOj4+sj5hSNjnrt+l71Erm5RzmQvIhMcc/X3UfhiVrO5zyPXQuGA5xuhZEB0h3rmpQXmJ"}
{"v":2,"kind":"replied","parts":[{"part":"text","text":"I keep it."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000648,"at":1794955783.0853033}
{"v":2,"kind":"finished","stopped":"answered","text":"I keep it.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794955783.0854375}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 0, 8, CAST('{"v":2,"kind":"opened","agent":"shop","model":"scripted","user":"ann","at":1794955782.3820097}
{"v":2,"kind":"said","text":"Order five more.","at":1794955782.382112}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"A-113\"}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000474,"at":1794955782.382827}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"A-113"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1794955782.3829088}
{"v":2,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false,"structured":false,"media":[],"data":40},"seconds":0.000424,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794955782.3836179}
{"v":2,"kind":"replied","parts":[{"part":"written","id":"call_2_1","name":"order","text":"{\"item\":\"A-113\",\"count\":5}"}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","seconds":0.000074,"at":1794955782.383832}
{"v":2,"kind":"judged","call":{"part":"call","id":"call_2_1","name":"order","arguments":{"item":"A-113","count":5}},"verdict":{"verdict":"ask","by":"ask(\"order\")","reason":"The policy wants a person to approve order."},"terms":{"agent":"shop","effect":"write","toolset":"functions"},"at":1794955782.3839083}
{"v":2,"kind":"finished","stopped":"waiting","reason":"A user must approve a call.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794955782.3849769}' AS BLOB));
INSERT INTO audit VALUES (1, '0000000000000000000000000000000000000000000000000000000000000000', CAST('{"run_id":"answered","call_id":"call_1_1","user":"ann","tool_name":"stock","arguments":{"item":"A-113"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":2.817,"success":true,"error":null,"at":1794955781.3642354,"stage":"ended"}' AS BLOB), '2a3b67df3604807742f01535f0a00debbaf0d08bcf0a4f0b6b09b53531fb6e76');
INSERT INTO audit VALUES (2, '2a3b67df3604807742f01535f0a00debbaf0d08bcf0a4f0b6b09b53531fb6e76', CAST('{"run_id":"nested.call_1_1","call_id":"call_1_1","user":"","tool_name":"stock","arguments":{"item":"B-7"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":0.455,"success":true,"error":null,"at":1794955781.8694537,"stage":"ended"}' AS BLOB), 'eb5904845a93c6b40a81044a13272dcf5b8abc59a020024ad9209a6650c2d35d');
INSERT INTO audit VALUES (3, 'eb5904845a93c6b40a81044a13272dcf5b8abc59a020024ad9209a6650c2d35d', CAST('{"run_id":"nested","call_id":"call_1_1","user":"","tool_name":"clerk","arguments":{"prompt":"B-7?"},"verdict":"allow","verdict_by":"default","result_summary":"Forty.","duration_ms":32.179,"success":true,"error":null,"at":1794955781.8747885,"stage":"ended"}' AS BLOB), 'ef34b1cd14d6f8be4c26f48ad43ad22460f480984dea7cc4d122e0ee990c983f');
INSERT INTO audit VALUES (4, 'ef34b1cd14d6f8be4c26f48ad43ad22460f480984dea7cc4d122e0ee990c983f', CAST('{"run_id":"waiting","call_id":"call_1_1","user":"ann","tool_name":"stock","arguments":{"item":"A-113"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":0.424,"success":true,"error":null,"at":1794955782.3835917,"stage":"ended"}' AS BLOB), 'f3a466fe983c5ffbbf4a8acd09811dc9c1b8d72f93bfa7097deba42689ae586a');
INSERT INTO audit VALUES (5, 'f3a466fe983c5ffbbf4a8acd09811dc9c1b8d72f93bfa7097deba42689ae586a', CAST('{"run_id":"killed","call_id":"call_1_1","user":"","tool_name":"order","arguments":{"item":"C-1","count":2},"verdict":"allow","verdict_by":"allow(\"order\")","result_summary":"","duration_ms":0.0,"success":true,"error":null,"at":1794955782.7612867,"stage":"begins"}' AS BLOB), 'f2534b08d025a464cebb228b68aaa4400cc7f1c08fb28a2c6d056be8a099d355');
INSERT INTO audit_head VALUES (1, 5, 'f2534b08d025a464cebb228b68aaa4400cc7f1c08fb28a2c6d056be8a099d355');
INSERT INTO written VALUES (1, 9);
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
PRAGMA user_version=7;
