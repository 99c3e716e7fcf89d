ALTER TABLE list ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN due TEXT;
ALTER TABLE task ADD COLUMN estimate INTEGER;
ALTER TABLE list ADD COLUMN review INTEGER NOT NULL DEFAULT 0;
ALTER TABLE list ADD COLUMN project TEXT;
ALTER TABLE task ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN decline_reason TEXT;
CREATE INDEX task_held ON task (created_by, id) WHERE ((deleted = 0) AND (held = 1));
CREATE TABLE human_message (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, agent TEXT NOT NULL, text TEXT NOT NULL,
    sent_at INTEGER NOT NULL, seq INTEGER NOT NULL, delivered_at INTEGER, delivered_seq INTEGER
);
CREATE UNIQUE INDEX human_message_uid ON human_message (uid);
CREATE INDEX human_message_agent ON human_message (agent, id);
CREATE INDEX human_message_waiting ON human_message (agent, id) WHERE (delivered_at IS NULL);
CREATE TABLE unfinished_change (change INTEGER NOT NULL PRIMARY KEY, actor TEXT NOT NULL, lock TEXT NOT NULL);
CREATE TABLE stuck (
    uid TEXT NOT NULL PRIMARY KEY, cause TEXT, text TEXT NOT NULL, since INTEGER
);
ALTER TABLE ask ADD COLUMN request TEXT;
ALTER TABLE ask ADD COLUMN reason TEXT;
CREATE TABLE session (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, program TEXT NOT NULL, number INTEGER NOT NULL,
    session TEXT NOT NULL, boot TEXT NOT NULL, namespace TEXT NOT NULL, pid INTEGER NOT NULL, born TEXT NOT NULL,
    cwd TEXT, project TEXT, model TEXT, mode TEXT, state TEXT NOT NULL, waiting_for TEXT, last_prompt TEXT,
    last_message TEXT, task TEXT, tokens INTEGER, cost_usd REAL, started_at INTEGER NOT NULL, ended_at INTEGER,
    ended_by TEXT
);
CREATE UNIQUE INDEX sessionrow_uid ON session (uid);
CREATE UNIQUE INDEX sessionrow_number ON session (program, number);
CREATE INDEX sessionrow_process ON session (pid);
CREATE INDEX session_live ON session (id) WHERE state <> 'gone';
CREATE TABLE activity (
    uid TEXT NOT NULL PRIMARY KEY, last_seen INTEGER NOT NULL, busy INTEGER NOT NULL, tool TEXT, tool_since INTEGER,
    call TEXT, turn TEXT, background TEXT NOT NULL, request TEXT, news TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE session_name (
    program TEXT NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL, part TEXT NOT NULL,
    PRIMARY KEY (program, session)
) WITHOUT ROWID;
CREATE TABLE taken_in (
    name TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE connection (
    agent TEXT NOT NULL, boot TEXT NOT NULL, namespace TEXT NOT NULL, pid INTEGER NOT NULL, born TEXT NOT NULL,
    opened_at INTEGER NOT NULL, closed_at INTEGER, PRIMARY KEY (agent, boot, namespace, pid, born)
) WITHOUT ROWID;
CREATE TABLE asker (
    ask TEXT NOT NULL PRIMARY KEY, boot TEXT NOT NULL, namespace TEXT NOT NULL, pid INTEGER NOT NULL, born TEXT NOT NULL
) WITHOUT ROWID;
ALTER TABLE task ADD COLUMN checks TEXT;
CREATE TABLE check_definition (
    uid TEXT NOT NULL PRIMARY KEY, source TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
    lists TEXT NOT NULL DEFAULT '[]', gate INTEGER NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE check_run (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, check_uid TEXT NOT NULL, digest TEXT NOT NULL,
    state TEXT NOT NULL, requested_by TEXT NOT NULL, requested_at INTEGER NOT NULL, started_at INTEGER,
    ended_at INTEGER, exit_code INTEGER, output TEXT, inputs TEXT, git_commit TEXT, git_diff TEXT
);
CREATE UNIQUE INDEX checkrunrow_uid ON check_run (uid);
CREATE INDEX check_run_state ON check_run (state, check_uid)
    WHERE state IN ('waiting', 'running', 'passed', 'failed');
CREATE TABLE task_check (
    uid TEXT NOT NULL PRIMARY KEY, task_uid TEXT NOT NULL, check_uid TEXT NOT NULL, run_uid TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX task_check_of_task ON task_check (task_uid);
CREATE INDEX task_check_of_run ON task_check (run_uid);
CREATE INDEX task_due ON task (list_id, due, rank) WHERE ((deleted = 0) AND (due IS NOT NULL));
ALTER TABLE human_message ADD COLUMN ends_turn INTEGER NOT NULL DEFAULT 0;
ALTER TABLE activity ADD COLUMN tool_times TEXT NOT NULL DEFAULT '{}';
ALTER TABLE activity ADD COLUMN pulse TEXT NOT NULL DEFAULT '[]';
