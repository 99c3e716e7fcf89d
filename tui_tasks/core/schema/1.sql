CREATE TABLE list (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
    description TEXT NOT NULL, agent TEXT, origin TEXT NOT NULL, one_in_progress INTEGER NOT NULL,
    created_at INTEGER NOT NULL, deleted INTEGER NOT NULL, pending INTEGER NOT NULL,
    in_progress INTEGER NOT NULL, done INTEGER NOT NULL, failed INTEGER NOT NULL,
    skipped INTEGER NOT NULL, cancelled INTEGER NOT NULL
);
CREATE UNIQUE INDEX listrow_uid ON list (uid);
CREATE TABLE task (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, list_id INTEGER NOT NULL, rank TEXT NOT NULL,
    key TEXT, name TEXT NOT NULL, description TEXT NOT NULL, status TEXT NOT NULL,
    priority INTEGER NOT NULL, tags TEXT NOT NULL, domain TEXT, result TEXT, metadata TEXT,
    agent TEXT, intent TEXT, depends_on TEXT NOT NULL, node_ids TEXT NOT NULL,
    version INTEGER NOT NULL, created_at INTEGER NOT NULL, created_by TEXT NOT NULL,
    updated_at INTEGER NOT NULL, updated_by TEXT NOT NULL, started_at INTEGER, finished_at INTEGER,
    deleted INTEGER NOT NULL, solo INTEGER NOT NULL, waiting_on INTEGER NOT NULL, claimed_by TEXT,
    fenced TEXT NOT NULL
);
CREATE UNIQUE INDEX taskrow_uid ON task (uid);
CREATE TABLE edge (
    task_uid TEXT NOT NULL, on_uid TEXT NOT NULL, PRIMARY KEY (task_uid, on_uid)
) WITHOUT ROWID;
CREATE INDEX edgerow_on_uid ON edge (on_uid);
CREATE TABLE log (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, task_uid TEXT NOT NULL, at INTEGER NOT NULL,
    agent TEXT NOT NULL, message TEXT NOT NULL, deleted INTEGER NOT NULL
);
CREATE UNIQUE INDEX logrow_uid ON log (uid);
CREATE TABLE state (
    uid TEXT NOT NULL PRIMARY KEY, agent TEXT NOT NULL, approach TEXT, files_modified TEXT NOT NULL,
    completed_steps TEXT NOT NULL, remaining_steps TEXT NOT NULL, blockers TEXT NOT NULL,
    decisions TEXT NOT NULL, context_snapshot TEXT, saved_at INTEGER NOT NULL, deleted INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE memory (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, task_uid TEXT NOT NULL, title TEXT NOT NULL,
    domain TEXT, content TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    deleted INTEGER NOT NULL
);
CREATE UNIQUE INDEX memoryrow_uid ON memory (uid);
CREATE UNIQUE INDEX memoryrow_task_uid ON memory (task_uid);
CREATE TABLE claim (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, task_uid TEXT NOT NULL, agent TEXT NOT NULL,
    was_agent TEXT, lease INTEGER NOT NULL, expires_at INTEGER NOT NULL, state TEXT NOT NULL
);
CREATE UNIQUE INDEX claimrow_uid ON claim (uid);
CREATE INDEX claimrow_task_uid ON claim (task_uid);
CREATE TABLE ask (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, agent TEXT NOT NULL, question TEXT NOT NULL,
    options TEXT NOT NULL, task_uid TEXT, opened_at INTEGER NOT NULL, expires_at INTEGER,
    state TEXT NOT NULL, answer TEXT, answered_at INTEGER
);
CREATE UNIQUE INDEX askrow_uid ON ask (uid);
CREATE TABLE agent (
    uid TEXT NOT NULL PRIMARY KEY, paused INTEGER NOT NULL, message TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE job (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, name TEXT NOT NULL, name_key TEXT NOT NULL,
    type TEXT NOT NULL, system_prompt TEXT NOT NULL, prompt TEXT NOT NULL, schedule TEXT, plan TEXT,
    timezone TEXT NOT NULL, dedicated_context INTEGER NOT NULL, enabled INTEGER NOT NULL,
    settings TEXT NOT NULL, created_by TEXT NOT NULL, created_at INTEGER NOT NULL, next_run INTEGER,
    last_run INTEGER, last_outcome TEXT, last_result TEXT, failures INTEGER NOT NULL,
    decided_until INTEGER NOT NULL, active INTEGER NOT NULL, deleted INTEGER NOT NULL
);
CREATE UNIQUE INDEX jobrow_uid ON job (uid);
CREATE TABLE run (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, job_uid TEXT NOT NULL, trigger TEXT NOT NULL,
    scheduled_for INTEGER, attempt INTEGER NOT NULL, retry_of TEXT, decision TEXT NOT NULL,
    outcome TEXT, state TEXT NOT NULL, dedicated INTEGER NOT NULL, context TEXT NOT NULL,
    requested_by TEXT NOT NULL, started_at INTEGER, ended_at INTEGER, exit_code INTEGER, result TEXT,
    reason TEXT, token_hash TEXT, deadline INTEGER, not_before INTEGER, stop_reason TEXT
);
CREATE UNIQUE INDEX runrow_uid ON run (uid);
CREATE TABLE journal (
    seq INTEGER NOT NULL PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, kind TEXT NOT NULL,
    entity TEXT NOT NULL, uid TEXT NOT NULL, task TEXT, change INTEGER NOT NULL, undoes INTEGER,
    old TEXT, new TEXT, image TEXT, why TEXT, hash BLOB NOT NULL
);
CREATE TABLE kept_reply (
    agent TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, reply TEXT NOT NULL,
    at INTEGER NOT NULL, PRIMARY KEY (agent, key)
) WITHOUT ROWID;
CREATE INDEX keptreplyrow_at ON kept_reply (at);
CREATE TABLE beat (
    run_uid TEXT NOT NULL PRIMARY KEY, supervised INTEGER NOT NULL, boot TEXT NOT NULL,
    namespace TEXT NOT NULL, pid INTEGER NOT NULL, born TEXT NOT NULL, at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE run_log (
    run_uid TEXT NOT NULL, start INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (run_uid, start)
) WITHOUT ROWID;
CREATE TABLE view (
    key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX task_place ON task (list_id, rank) WHERE (deleted = 0);
CREATE INDEX task_column ON task (list_id, status, rank) WHERE (deleted = 0);
CREATE UNIQUE INDEX task_key ON task (list_id, key) WHERE ((deleted = 0) AND (key IS NOT NULL));
CREATE INDEX task_ready ON task (priority, id)
    WHERE (((deleted = 0) AND (status = 'pending')) AND (waiting_on = 0));
CREATE INDEX task_urgency ON task (list_id, status, (waiting_on > 0), priority, id)
    WHERE (deleted = 0);
CREATE UNIQUE INDEX task_solo ON task (list_id)
    WHERE (((deleted = 0) AND (solo = 1)) AND (status = 'in_progress'));
CREATE UNIQUE INDEX list_name ON list (name) WHERE ((deleted = 0) AND (kind = 'list'));
CREATE INDEX log_of_task ON log (task_uid, id);
CREATE INDEX claim_lease ON claim (expires_at) WHERE (state = 'active');
CREATE INDEX ask_open ON ask (opened_at) WHERE (state = 'open');
CREATE UNIQUE INDEX job_name ON job (name_key) WHERE (deleted = 0);
CREATE INDEX job_due ON job (next_run) WHERE ((deleted = 0) AND (next_run IS NOT NULL));
CREATE UNIQUE INDEX run_nominal ON run (job_uid, scheduled_for, attempt)
    WHERE (scheduled_for IS NOT NULL);
CREATE INDEX run_of_job ON run (job_uid, id);
CREATE INDEX run_open ON run (state, job_uid) WHERE (state != 'final');
CREATE INDEX run_retry ON run (retry_of) WHERE (retry_of IS NOT NULL);
CREATE INDEX journal_task ON journal (task, seq) WHERE (task IS NOT NULL);
CREATE INDEX journal_actor ON journal (actor, seq);
CREATE INDEX journal_undoes ON journal (undoes) WHERE (undoes IS NOT NULL);
INSERT INTO list VALUES
    (1, '15a51341-0536-5cbf-bda7-c21bc3ea0c63', 'list', 'tasklist', '', NULL, 'tasklist', 1, 0, 0, 0, 0, 0, 0, 0, 0),
    (2, '0d72d79f-b0d2-5c62-8b31-bcb5355fb853', 'list', 'task', '', NULL, 'task', 0, 0, 0, 0, 0, 0, 0, 0, 0),
    (3, '6f76c96f-3b26-5ab0-8060-c935075d3508', 'list', 'todo', '', NULL, 'todo', 0, 0, 0, 0, 0, 0, 0, 0, 0);
