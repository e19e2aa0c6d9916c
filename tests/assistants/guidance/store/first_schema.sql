-- The first released schema, with a project in it; never changed.
BEGIN TRANSACTION;
CREATE TABLE guidance_candidates (
	id VARCHAR(64) NOT NULL,
	project_id VARCHAR(64) NOT NULL,
	number INTEGER NOT NULL,
	run_id VARCHAR(64) NOT NULL,
	mechanism_description TEXT NOT NULL,
	origin TEXT NOT NULL,
	predicted_effects JSON NOT NULL,
	scores JSON NOT NULL,
	parent_ids JSON NOT NULL,
	status TEXT NOT NULL,
	created_at DATETIME NOT NULL,
	CONSTRAINT pk_guidance_candidates PRIMARY KEY (id),
	CONSTRAINT fk_guidance_candidates_run_id FOREIGN KEY(run_id) REFERENCES guidance_runs (id) ON DELETE CASCADE,
	CONSTRAINT uq_guidance_candidates_project_id_number UNIQUE (project_id, number),
	CONSTRAINT fk_guidance_candidates_project_id FOREIGN KEY(project_id) REFERENCES guidance_projects (id) ON DELETE CASCADE
);
INSERT INTO "guidance_candidates" VALUES('30bf61bb98e146b78b15c105ab8dec09','80b2258e645b421d83039186af1245e0',7,'cc506edde881414eb593dd168155e473','an arch','system','{}','{}','[]','new','2026-11-15 17:52:40.035331');
INSERT INTO "guidance_candidates" VALUES('8b2901c4506848348aecfb618ecfde5d','80b2258e645b421d83039186af1245e0',8,'cc506edde881414eb593dd168155e473','two arches','system','{}','{}','["30bf61bb98e146b78b15c105ab8dec09"]','new','2026-11-15 17:52:40.048629');
CREATE TABLE guidance_chat_sessions (
	id VARCHAR(64) NOT NULL,
	project_id VARCHAR(64) NOT NULL,
	number INTEGER NOT NULL,
	title TEXT NOT NULL,
	mode TEXT NOT NULL,
	run_id TEXT,
	candidate_id TEXT,
	created_at DATETIME NOT NULL,
	CONSTRAINT pk_guidance_chat_sessions PRIMARY KEY (id),
	CONSTRAINT uq_guidance_chat_sessions_project_id_number UNIQUE (project_id, number),
	CONSTRAINT fk_guidance_chat_sessions_project_id FOREIGN KEY(project_id) REFERENCES guidance_projects (id) ON DELETE CASCADE
);
INSERT INTO "guidance_chat_sessions" VALUES('a80e8952c17b44668b482161483d07cb','80b2258e645b421d83039186af1245e0',3,'Main','setup',NULL,NULL,'2026-11-15 17:52:39.980454');
INSERT INTO "guidance_chat_sessions" VALUES('7f5e8100bb0c4de984b46bd2bdada32e','80b2258e645b421d83039186af1245e0',11,'About a candidate','analysis','cc506edde881414eb593dd168155e473','8b2901c4506848348aecfb618ecfde5d','2026-11-15 17:52:40.069181');
CREATE TABLE guidance_issues (
	id VARCHAR(64) NOT NULL,
	project_id VARCHAR(64) NOT NULL,
	number INTEGER NOT NULL,
	type TEXT NOT NULL,
	severity TEXT NOT NULL,
	description TEXT NOT NULL,
	resolution_status TEXT NOT NULL,
	resolution_note TEXT NOT NULL,
	run_id TEXT,
	candidate_id TEXT,
	created_at DATETIME NOT NULL,
	resolved_at DATETIME,
	CONSTRAINT pk_guidance_issues PRIMARY KEY (id),
	CONSTRAINT uq_guidance_issues_project_id_number UNIQUE (project_id, number),
	CONSTRAINT fk_guidance_issues_project_id FOREIGN KEY(project_id) REFERENCES guidance_projects (id) ON DELETE CASCADE
);
INSERT INTO "guidance_issues" VALUES('31031e32ebe54d788eec273262d455d3','80b2258e645b421d83039186af1245e0',10,'model','minor','no wind','open','','cc506edde881414eb593dd168155e473','8b2901c4506848348aecfb618ecfde5d','2026-11-15 17:52:40.060292',NULL);
CREATE TABLE guidance_members (
	project_id VARCHAR(64) NOT NULL,
	member TEXT NOT NULL,
	CONSTRAINT pk_guidance_members PRIMARY KEY (project_id, member),
	CONSTRAINT fk_guidance_members_project_id FOREIGN KEY(project_id) REFERENCES guidance_projects (id) ON DELETE CASCADE
);
INSERT INTO "guidance_members" VALUES('80b2258e645b421d83039186af1245e0','bob');
CREATE TABLE guidance_messages (
	id VARCHAR(64) NOT NULL,
	project_id VARCHAR(64) NOT NULL,
	number INTEGER NOT NULL,
	chat_session_id VARCHAR(64) NOT NULL,
	role TEXT NOT NULL,
	content TEXT NOT NULL,
	metadata JSON NOT NULL,
	created_at DATETIME NOT NULL,
	CONSTRAINT pk_guidance_messages PRIMARY KEY (id),
	CONSTRAINT fk_guidance_messages_chat_session_id FOREIGN KEY(chat_session_id) REFERENCES guidance_chat_sessions (id) ON DELETE CASCADE,
	CONSTRAINT uq_guidance_messages_project_id_number UNIQUE (project_id, number),
	CONSTRAINT fk_guidance_messages_project_id FOREIGN KEY(project_id) REFERENCES guidance_projects (id) ON DELETE CASCADE
);
INSERT INTO "guidance_messages" VALUES('a8c7514db25045b09a03dd45031aafe9','80b2258e645b421d83039186af1245e0',4,'a80e8952c17b44668b482161483d07cb','user','What next?','{}','2026-11-15 17:52:39.996554');
INSERT INTO "guidance_messages" VALUES('d1e393c7b8fb4825962d51ec7f50acfb','80b2258e645b421d83039186af1245e0',5,'a80e8952c17b44668b482161483d07cb','agent','Run it.','{"answers":"a8c7514db25045b09a03dd45031aafe9"}','2026-11-15 17:52:40.012472');
CREATE TABLE guidance_problem_specs (
	project_id VARCHAR(64) NOT NULL,
	constraints JSON NOT NULL,
	goals JSON NOT NULL,
	resolution TEXT NOT NULL,
	mode TEXT NOT NULL,
	version INTEGER NOT NULL,
	updated_at DATETIME NOT NULL,
	CONSTRAINT pk_guidance_problem_specs PRIMARY KEY (project_id),
	CONSTRAINT fk_guidance_problem_specs_project_id FOREIGN KEY(project_id) REFERENCES guidance_projects (id) ON DELETE CASCADE
);
INSERT INTO "guidance_problem_specs" VALUES('80b2258e645b421d83039186af1245e0','[{"name":"Budget","description":"at most 10k","weight":80}]','["cross the river"]','fine','seeded',1,'2026-11-15 17:52:39.945460');
CREATE TABLE guidance_projects (
	id VARCHAR(64) NOT NULL,
	owner TEXT NOT NULL,
	title TEXT NOT NULL,
	description TEXT NOT NULL,
	version INTEGER NOT NULL,
	counter INTEGER NOT NULL,
	created_at DATETIME NOT NULL,
	updated_at DATETIME NOT NULL,
	CONSTRAINT pk_guidance_projects PRIMARY KEY (id)
);
INSERT INTO "guidance_projects" VALUES('80b2258e645b421d83039186af1245e0','ada','Bridge','One that holds.',1,11,'2026-11-15 17:52:39.932594','2026-11-15 17:52:40.082704');
CREATE TABLE guidance_provenance (
	id VARCHAR(64) NOT NULL,
	project_id VARCHAR(64) NOT NULL,
	number INTEGER NOT NULL,
	type TEXT NOT NULL,
	description TEXT NOT NULL,
	actor TEXT NOT NULL,
	source TEXT,
	reference_ids JSON NOT NULL,
	metadata JSON NOT NULL,
	timestamp DATETIME NOT NULL,
	subject TEXT NOT NULL,
	version INTEGER,
	user TEXT NOT NULL,
	CONSTRAINT pk_guidance_provenance PRIMARY KEY (id),
	CONSTRAINT uq_guidance_provenance_project_id_number UNIQUE (project_id, number),
	CONSTRAINT fk_guidance_provenance_project_id FOREIGN KEY(project_id) REFERENCES guidance_projects (id) ON DELETE CASCADE
);
INSERT INTO "guidance_provenance" VALUES('715aede3b4494307952634d306835374','80b2258e645b421d83039186af1245e0',1,'refined','as the person asked','agent','chat','["m1"]','{"reason":"said so"}','2026-11-15 17:52:39.606823','problem_spec',1,'ada');
INSERT INTO "guidance_provenance" VALUES('00acf08f8c834ef4ae7b803688f644ea','80b2258e645b421d83039186af1245e0',2,'refined','as the person asked','agent','chat','["m1"]','{"reason":"said so"}','2026-11-15 17:52:39.606823','world_model',1,'ada');
INSERT INTO "guidance_provenance" VALUES('7c2f7f6d0bb94e99931f0688752dcf16','80b2258e645b421d83039186af1245e0',9,'refined','as the person asked','agent','chat','["m1","8b2901c4506848348aecfb618ecfde5d"]','{"reason":"said so"}','2026-11-15 17:52:39.606823','candidate',NULL,'ada');
CREATE TABLE guidance_runs (
	id VARCHAR(64) NOT NULL,
	project_id VARCHAR(64) NOT NULL,
	number INTEGER NOT NULL,
	mode TEXT NOT NULL,
	config JSON NOT NULL,
	status TEXT NOT NULL,
	chat_session_id TEXT,
	recommended_message_id TEXT,
	recommended_config_snapshot JSON,
	ui_trigger_id TEXT,
	ui_trigger_source TEXT,
	ui_trigger_metadata JSON NOT NULL,
	ui_triggered_at DATETIME,
	run_summary_message_id TEXT,
	candidate_count INTEGER NOT NULL,
	scenario_count INTEGER NOT NULL,
	evaluation_count INTEGER NOT NULL,
	metrics JSON NOT NULL,
	llm_usage JSON NOT NULL,
	error_summary TEXT NOT NULL,
	created_at DATETIME NOT NULL,
	started_at DATETIME,
	completed_at DATETIME,
	CONSTRAINT pk_guidance_runs PRIMARY KEY (id),
	CONSTRAINT uq_guidance_runs_project_id_number UNIQUE (project_id, number),
	CONSTRAINT fk_guidance_runs_project_id FOREIGN KEY(project_id) REFERENCES guidance_projects (id) ON DELETE CASCADE
);
INSERT INTO "guidance_runs" VALUES('cc506edde881414eb593dd168155e473','80b2258e645b421d83039186af1245e0',6,'full_search','{"num_candidates":5}','created','a80e8952c17b44668b482161483d07cb','d1e393c7b8fb4825962d51ec7f50acfb','{"project_id":"80b2258e645b421d83039186af1245e0","parameters":["a80e8952c17b44668b482161483d07cb"]}',NULL,NULL,'{}',NULL,NULL,2,0,0,'{}','{}','','2026-11-15 17:52:40.024458',NULL,NULL);
CREATE TABLE guidance_schema (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT guidance_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "guidance_schema" VALUES('0001');
CREATE TABLE guidance_world_models (
	project_id VARCHAR(64) NOT NULL,
	actors JSON NOT NULL,
	mechanisms JSON NOT NULL,
	resources JSON NOT NULL,
	constraints JSON NOT NULL,
	assumptions JSON NOT NULL,
	simplifications JSON NOT NULL,
	version INTEGER NOT NULL,
	updated_at DATETIME NOT NULL,
	CONSTRAINT pk_guidance_world_models PRIMARY KEY (project_id),
	CONSTRAINT fk_guidance_world_models_project_id FOREIGN KEY(project_id) REFERENCES guidance_projects (id) ON DELETE CASCADE
);
INSERT INTO "guidance_world_models" VALUES('80b2258e645b421d83039186af1245e0','[{"name":"Council","description":"who pays","type":"person","links":["river"],"metadata":{},"id":"3334038c4f644c71abbf7b2ce9992d36"}]','[]','[{"name":"River","description":"","type":"","links":[],"metadata":{},"id":"river"}]','[]','[]','[]',1,'2026-11-15 17:52:39.970815');
CREATE INDEX ix_guidance_projects_owner ON guidance_projects (owner);
CREATE INDEX ix_guidance_members_member ON guidance_members (member);
CREATE INDEX ix_guidance_messages_chat_session_id_number ON guidance_messages (chat_session_id, number);
CREATE INDEX ix_guidance_candidates_run_id_number ON guidance_candidates (run_id, number);
COMMIT;
