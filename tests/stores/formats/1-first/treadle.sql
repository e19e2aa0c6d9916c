CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, parent TEXT NOT NULL, agent TEXT NOT NULL, model TEXT NOT NULL, user TEXT NOT NULL,
    title TEXT NOT NULL, status TEXT NOT NULL, entries INTEGER NOT NULL, opened_at REAL NOT NULL, updated_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE entries (
    run_id TEXT NOT NULL, position INTEGER NOT NULL, line BLOB NOT NULL, PRIMARY KEY (run_id, position)
) WITHOUT ROWID;
CREATE TABLE audit (seq INTEGER PRIMARY KEY, previous TEXT NOT NULL, line BLOB NOT NULL, hash TEXT NOT NULL);
CREATE TABLE audit_head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TABLE cache (
    key TEXT PRIMARY KEY, grp TEXT NOT NULL, content TEXT NOT NULL, until REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE results (
    run_id TEXT NOT NULL, result_id TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (run_id, result_id)
) WITHOUT ROWID;
INSERT INTO runs VALUES ('answered', '', 'shop', 'scripted', 'ann', 'How many A-113 are there?', 'answered', 7, 1.0, 0.0);
INSERT INTO runs VALUES ('killed', '', 'shop', 'scripted', 'ann', 'Order two.', 'open', 5, 1.0, 0.0);
INSERT INTO runs VALUES ('waiting', '', 'shop', 'scripted', 'ann', 'Order five more.', 'waiting', 8, 1.0, 0.0);
INSERT INTO entries VALUES ('answered', 0, CAST('{"v":1,"kind":"opened","agent":"shop","model":"scripted","user":"ann","at":1.0}' AS BLOB));
INSERT INTO entries VALUES ('answered', 1, CAST('{"v":1,"kind":"said","text":"How many A-113 are there?","at":1.0}' AS BLOB));
INSERT INTO entries VALUES ('answered', 2, CAST('{"v":1,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\": \"A-113\"}","cut":false}],"finish":"calls"}' AS BLOB));
INSERT INTO entries VALUES ('answered', 3, CAST('{"v":1,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"A-113"}},"verdict":{"verdict":"allow","by":"default","reason":""}}' AS BLOB));
INSERT INTO entries VALUES ('answered', 4, CAST('{"v":1,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false}}' AS BLOB));
INSERT INTO entries VALUES ('answered', 5, CAST('{"v":1,"kind":"replied","parts":[{"part":"text","text":"We have 40 of them."}]}' AS BLOB));
INSERT INTO entries VALUES ('answered', 6, CAST('{"v":1,"kind":"finished","stopped":"answered","text":"We have 40 of them."}' AS BLOB));
INSERT INTO entries VALUES ('killed', 0, CAST('{"v":1,"kind":"opened","agent":"shop","model":"scripted","user":"ann","at":1.0}' AS BLOB));
INSERT INTO entries VALUES ('killed', 1, CAST('{"v":1,"kind":"said","text":"Order two.","at":3.0}' AS BLOB));
INSERT INTO entries VALUES ('killed', 2, CAST('{"v":1,"kind":"replied","parts":[{"part":"written","id":"call_2_1","name":"order","text":"{\"item\": \"A-113\", \"count\": 5}","cut":false}],"finish":"calls"}' AS BLOB));
INSERT INTO entries VALUES ('killed', 3, CAST('{"v":1,"kind":"judged","call":{"part":"call","id":"call_2_1","name":"order","arguments":{"item":"A-113","count":5}},"verdict":{"verdict":"allow","by":"default","reason":""}}' AS BLOB));
INSERT INTO entries VALUES ('killed', 4, CAST('{"v":1,"kind":"started","call_id":"call_2_1"}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 0, CAST('{"v":1,"kind":"opened","agent":"shop","model":"scripted","user":"ann","at":1.0}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 1, CAST('{"v":1,"kind":"said","text":"Order five more.","at":2.0}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 2, CAST('{"v":1,"kind":"replied","parts":[{"part":"written","id":"call_1_1","name":"stock","text":"{\"item\": \"A-113\"}","cut":false}],"finish":"calls"}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 3, CAST('{"v":1,"kind":"judged","call":{"part":"call","id":"call_1_1","name":"stock","arguments":{"item":"A-113"}},"verdict":{"verdict":"allow","by":"default","reason":""}}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 4, CAST('{"v":1,"kind":"returned","result":{"part":"result","call_id":"call_1_1","name":"stock","content":"40","problem":null,"untrusted":false}}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 5, CAST('{"v":1,"kind":"replied","parts":[{"part":"written","id":"call_2_1","name":"order","text":"{\"item\": \"A-113\", \"count\": 5}","cut":false}],"finish":"calls"}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 6, CAST('{"v":1,"kind":"judged","call":{"part":"call","id":"call_2_1","name":"order","arguments":{"item":"A-113","count":5}},"verdict":{"verdict":"ask","by":"by the policy","reason":""}}' AS BLOB));
INSERT INTO entries VALUES ('waiting', 7, CAST('{"v":1,"kind":"finished","stopped":"waiting"}' AS BLOB));
INSERT INTO audit VALUES (1, '0000000000000000000000000000000000000000000000000000000000000000', CAST('{"run_id":"answered","call_id":"call_1_1","user":"ann","tool_name":"stock","arguments":{"item":"A-113"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":1.0,"success":true,"error":null,"at":1.0}' AS BLOB), '2d26a6501165a9aaf9ac1253ea2872fe29ff55bb83f54cebd39bb1d23cff758b');
INSERT INTO audit VALUES (2, '2d26a6501165a9aaf9ac1253ea2872fe29ff55bb83f54cebd39bb1d23cff758b', CAST('{"run_id":"waiting","call_id":"call_1_1","user":"ann","tool_name":"stock","arguments":{"item":"A-113"},"verdict":"allow","verdict_by":"default","result_summary":"40","duration_ms":1.0,"success":true,"error":null,"at":1.0}' AS BLOB), '789fdea0a490de2fbf4c5e31a12154592fa2ad90f5725f57873a2a2bf514fdbc');
INSERT INTO audit_head VALUES (1, 2, '789fdea0a490de2fbf4c5e31a12154592fa2ad90f5725f57873a2a2bf514fdbc');
CREATE INDEX runs_by_time ON runs (updated_at);
CREATE INDEX cache_by_group ON cache (grp);
PRAGMA user_version=1;
