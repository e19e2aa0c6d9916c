CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, parent TEXT NOT NULL, agent TEXT NOT NULL, model TEXT NOT NULL, user TEXT NOT NULL,
    title TEXT NOT NULL, status TEXT NOT NULL, opened_at REAL NOT NULL, updated_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE entries (
    run_id TEXT NOT NULL, position INTEGER NOT NULL, next INTEGER NOT NULL, lines BLOB NOT NULL, PRIMARY KEY (run_id, position)
) WITHOUT ROWID;
CREATE TABLE audit (seq INTEGER PRIMARY KEY, previous TEXT NOT NULL, line BLOB NOT NULL, hash TEXT NOT NULL);
CREATE TABLE audit_head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TABLE cache (
    key TEXT PRIMARY KEY, grp TEXT NOT NULL, content TEXT NOT NULL, until REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE results (
    run_id TEXT NOT NULL, result_id TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (run_id, result_id)
) WITHOUT ROWID;
INSERT INTO runs VALUES ('answered', '', 'shop', 'scripted', 'ann', 'How many A-113 are there?', 'answered', 1794848750.9410133, 1794848750.9473493);
INSERT INTO runs VALUES ('killed', '', 'shop', 'scripted', '', 'Order two.', 'open', 1794848751.94207, 1794848751.9428039);
INSERT INTO runs VALUES ('nested', '', 'agent', 'scripted', '', 'Ask the clerk.', 'answered', 1794848751.2841203, 1794848751.291043);
INSERT INTO runs VALUES ('nested.call_1_1', 'nested', 'shop', 'scripted', '', 'B-7?', 'answered', 1794848751.2868547, 1794848751.2891817);
INSERT INTO runs VALUES ('secret', '', 'shop', 'scripted', '', 'It is postgres://ann:correct-horse-battery@db.example/shop here.', 'answered', 1794848752.5388775, 1794848752.5398269);
INSERT INTO runs VALUES ('waiting', '', 'shop', 'scripted', 'ann', 'Order five more.', 'waiting', 1794848751.603683, 1794848751.6106737);
INSERT INTO entries VALUES ('answered', 0, 7, CAST('{"v":1,"kind":"opened","agent":"shop","model":"scripted","user":"ann","at":1794848750.9410133}
{"v":1,"kind":"said","text":"How many A-113 are there?","at":1794848750.9411197}
{"v":1,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"A-113\"}","cut":false}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","at":1794848750.9416077}
{"v":1,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"A-113"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1794848750.9416943}
{"v":1,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false},"seconds":0.004448,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794848750.9467092}
{"v":1,"kind":"replied","parts":[{"part":"text","text":"We have 40 of them."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","at":1794848750.9472816}
{"v":1,"kind":"finished","stopped":"answered","text":"We have 40 of them.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794848750.9473493}' AS BLOB));
INSERT INTO entries VALUES ('killed', 0, 5, CAST('{"v":1,"kind":"opened","agent":"shop","model":"scripted","at":1794848751.94207}
{"v":1,"kind":"said","text":"Order two.","at":1794848751.9421513}
{"v":1,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"order","text":"{\"item\":\"C-1\",\"count\":2}","cut":false}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","at":1794848751.9425285}
{"v":1,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"order","arguments":{"item":"C-1","count":2}},"verdict":{"verdict":"allow","by":"allow(\"order\")","reason":"The policy allows order."},"at":1794848751.9426024}
{"v":1,"kind":"started","call_id":"call_1_1","key":"killed:call_1_1","at":1794848751.9428039}' AS BLOB));
INSERT INTO entries VALUES ('nested', 0, 4, CAST('{"v":1,"kind":"opened","agent":"agent","model":"scripted","at":1794848751.2841203}
{"v":1,"kind":"said","text":"Ask the clerk.","at":1794848751.284198}
{"v":1,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"clerk","text":"{\"prompt\":\"B-7?\"}","cut":false}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","at":1794848751.2844336}
{"v":1,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"clerk","arguments":{"prompt":"B-7?"}},"verdict":{"verdict":"allow","by":"default","reason":"clerk only reads."},"at":1794848751.284503}' AS BLOB));
INSERT INTO entries VALUES ('nested', 4, 7, CAST('{"v":1,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"clerk","content":"Forty.","problem":null,"untrusted":false},"seconds":0.006062,"usage":{"requests":2,"calls":1,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794848751.2908437}
{"v":1,"kind":"replied","parts":[{"part":"text","text":"The clerk says forty."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","at":1794848751.2910025}
{"v":1,"kind":"finished","stopped":"answered","text":"The clerk says forty.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794848751.291043}' AS BLOB));
INSERT INTO entries VALUES ('nested.call_1_1', 0, 7, CAST('{"v":1,"kind":"opened","agent":"shop","model":"scripted","parent":"nested","at":1794848751.2868547}
{"v":1,"kind":"said","text":"B-7?","at":1794848751.286913}
{"v":1,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"B-7\"}","cut":false}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","at":1794848751.2871065}
{"v":1,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"B-7"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1794848751.287163}
{"v":1,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false},"seconds":0.001018,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794848751.288621}
{"v":1,"kind":"replied","parts":[{"part":"text","text":"Forty."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","at":1794848751.2891154}
{"v":1,"kind":"finished","stopped":"answered","text":"Forty.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794848751.2891817}' AS BLOB));
INSERT INTO entries VALUES ('secret', 0, 4, CAST('{"v":1,"kind":"opened","agent":"shop","model":"scripted","at":1794848752.5388775}
{"v":1,"kind":"said","text":"It is postgres://ann:correct-horse-battery@db.example/shop here.","at":1794848752.5389657}
{"v":1,"kind":"replied","parts":[{"part":"text","text":"I keep it."}],"usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","at":1794848752.5397503}
{"v":1,"kind":"finished","stopped":"answered","text":"I keep it.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794848752.5398269}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 0, 8, CAST('{"v":1,"kind":"opened","agent":"shop","model":"scripted","user":"ann","at":1794848751.603683}
{"v":1,"kind":"said","text":"Order five more.","at":1794848751.6037624}
{"v":1,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\":\"A-113\"}","cut":false}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","at":1794848751.6041577}
{"v":1,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"A-113"}},"verdict":{"verdict":"allow","by":"default","reason":"stock only reads."},"at":1794848751.6042173}
{"v":1,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false},"seconds":0.00546,"usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794848751.610191}
{"v":1,"kind":"replied","parts":[{"part":"written","id":"call_2_1","name":"order","text":"{\"item\":\"A-113\",\"count\":5}","cut":false}],"finish":"calls","usage":{"requests":1,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"model":"scripted","at":1794848751.610382}
{"v":1,"kind":"judged","call":{"part":"call","id":"call_2_1","name":"order","arguments":{"item":"A-113","count":5}},"verdict":{"verdict":"ask","by":"ask(\"order\")","reason":"The policy wants a person to approve order."},"at":1794848751.6104283}
{"v":1,"kind":"finished","stopped":"waiting","reason":"A person has to approve a call.","usage":{"requests":0,"calls":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":null},"at":1794848751.6106737}' AS BLOB));
INSERT INTO audit VALUES (1, '0000000000000000000000000000000000000000000000000000000000000000', CAST('{"run_id":"answered","call_id":"call_1_1","user":"ann","tool_name":"stock","arguments":{"item":"A-113"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":4.448,"success":true,"error":null,"at":1794848750.946674}' AS BLOB), '171fb96c03fac957ddd2088ee48d23d325f3eefc6418792406d4a64f014e85d3');
INSERT INTO audit VALUES (2, '171fb96c03fac957ddd2088ee48d23d325f3eefc6418792406d4a64f014e85d3', CAST('{"run_id":"nested.call_1_1","call_id":"call_1_1","user":"","tool_name":"stock","arguments":{"item":"B-7"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":1.018,"success":true,"error":null,"at":1794848751.2885928}' AS BLOB), '7b0f1366bf9c32eafb4eca6d644c8e8030929766157e09f615116d084cfe4f80');
INSERT INTO audit VALUES (3, '7b0f1366bf9c32eafb4eca6d644c8e8030929766157e09f615116d084cfe4f80', CAST('{"run_id":"nested","call_id":"call_1_1","user":"","tool_name":"clerk","arguments":{"prompt":"B-7?"},"verdict":"allow","verdict_by":"default","result_summary":"Forty.","duration_ms":6.062,"success":true,"error":null,"at":1794848751.290806}' AS BLOB), '562cfcc8aec9a6a291c57f0e08fb813d6d486e25d8e929520b5438e7d7ad222c');
INSERT INTO audit VALUES (4, '562cfcc8aec9a6a291c57f0e08fb813d6d486e25d8e929520b5438e7d7ad222c', CAST('{"run_id":"waiting","call_id":"call_1_1","user":"ann","tool_name":"stock","arguments":{"item":"A-113"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":5.46,"success":true,"error":null,"at":1794848751.6101604}' AS BLOB), 'cae78f05d8d5e1512581b1ac472bed08d3eaa057ac99a84f8a6fdd6026caf971');
INSERT INTO audit_head VALUES (1, 4, 'cae78f05d8d5e1512581b1ac472bed08d3eaa057ac99a84f8a6fdd6026caf971');
CREATE INDEX runs_by_parent ON runs (parent) WHERE parent <> '';
CREATE INDEX cache_by_group ON cache (grp);
PRAGMA user_version=1;
