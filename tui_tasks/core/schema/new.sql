CREATE TABLE list (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
    description TEXT NOT NULL, agent TEXT, origin TEXT NOT NULL, one_in_progress INTEGER NOT NULL,
    created_at INTEGER NOT NULL, deleted INTEGER NOT NULL, pending INTEGER NOT NULL,
    in_progress INTEGER NOT NULL, done INTEGER NOT NULL, failed INTEGER NOT NULL,
    skipped INTEGER NOT NULL, cancelled INTEGER NOT NULL
, archived INTEGER NOT NULL DEFAULT 0, review INTEGER NOT NULL DEFAULT 0, project TEXT);
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
, due TEXT, estimate INTEGER, held INTEGER NOT NULL DEFAULT 0, decline_reason TEXT, checks TEXT, links TEXT NOT NULL DEFAULT '[]', status_by TEXT, accepted TEXT);
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
, request TEXT, reason TEXT, project TEXT, rule TEXT);
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
, held INTEGER NOT NULL DEFAULT 0, accepted TEXT);
CREATE UNIQUE INDEX jobrow_uid ON job (uid);
CREATE TABLE run (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, job_uid TEXT NOT NULL, trigger TEXT NOT NULL,
    scheduled_for INTEGER, attempt INTEGER NOT NULL, retry_of TEXT, decision TEXT NOT NULL,
    outcome TEXT, state TEXT NOT NULL, dedicated INTEGER NOT NULL, context TEXT NOT NULL,
    requested_by TEXT NOT NULL, started_at INTEGER, ended_at INTEGER, exit_code INTEGER, result TEXT,
    reason TEXT, token_hash TEXT, deadline INTEGER, not_before INTEGER, stop_reason TEXT
, agent TEXT, session TEXT, turns INTEGER, tokens INTEGER, cost_usd REAL);
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
CREATE INDEX task_held ON task (created_by, id) WHERE ((deleted = 0) AND (held = 1));
CREATE TABLE human_message (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, agent TEXT NOT NULL, text TEXT NOT NULL,
    sent_at INTEGER NOT NULL, seq INTEGER NOT NULL, delivered_at INTEGER, delivered_seq INTEGER
, ends_turn INTEGER NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX human_message_uid ON human_message (uid);
CREATE INDEX human_message_agent ON human_message (agent, id);
CREATE INDEX human_message_waiting ON human_message (agent, id) WHERE (delivered_at IS NULL);
CREATE TABLE unfinished_change (change INTEGER NOT NULL PRIMARY KEY, actor TEXT NOT NULL, lock TEXT NOT NULL);
CREATE TABLE stuck (
    uid TEXT NOT NULL PRIMARY KEY, cause TEXT, text TEXT NOT NULL, since INTEGER
);
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
, tool_times TEXT NOT NULL DEFAULT '{}', pulse TEXT NOT NULL DEFAULT '[]', worked_at INTEGER, failure TEXT, record TEXT NOT NULL DEFAULT '{}', stopped_at INTEGER, no_task TEXT, tool_target TEXT) WITHOUT ROWID;
CREATE TABLE session_name (
    program TEXT NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL, part TEXT NOT NULL,
    PRIMARY KEY (program, session)
) WITHOUT ROWID;
CREATE TABLE taken_in (
    name TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE connection (
    agent TEXT NOT NULL, boot TEXT NOT NULL, namespace TEXT NOT NULL, pid INTEGER NOT NULL, born TEXT NOT NULL,
    opened_at INTEGER NOT NULL, closed_at INTEGER, project TEXT, stopped_at INTEGER, PRIMARY KEY (agent, boot, namespace, pid, born)
) WITHOUT ROWID;
CREATE TABLE asker (
    ask TEXT NOT NULL PRIMARY KEY, boot TEXT NOT NULL, namespace TEXT NOT NULL, pid INTEGER NOT NULL, born TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE check_definition (
    uid TEXT NOT NULL PRIMARY KEY, source TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
    lists TEXT NOT NULL DEFAULT '[]', gate INTEGER NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0
, cwd TEXT NOT NULL DEFAULT '', inputs TEXT NOT NULL DEFAULT '[]', machines TEXT NOT NULL DEFAULT '{}') WITHOUT ROWID;
CREATE TABLE check_run (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, check_uid TEXT NOT NULL, digest TEXT NOT NULL,
    state TEXT NOT NULL, requested_by TEXT NOT NULL, requested_at INTEGER NOT NULL, started_at INTEGER,
    ended_at INTEGER, exit_code INTEGER, output TEXT, inputs TEXT, git_commit TEXT, git_diff TEXT
, cwd TEXT, worktree TEXT, tree TEXT, machine TEXT NOT NULL DEFAULT '');
CREATE UNIQUE INDEX checkrunrow_uid ON check_run (uid);
CREATE INDEX check_run_state ON check_run (state, check_uid)
    WHERE state IN ('waiting', 'running', 'passed', 'failed');
CREATE TABLE task_check (
    uid TEXT NOT NULL PRIMARY KEY, task_uid TEXT NOT NULL, check_uid TEXT NOT NULL, run_uid TEXT NOT NULL
, waived INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX task_check_of_task ON task_check (task_uid);
CREATE INDEX task_check_of_run ON task_check (run_uid);
CREATE INDEX task_due ON task (list_id, due, rank) WHERE ((deleted = 0) AND (due IS NOT NULL));
CREATE INDEX check_run_of_check ON check_run (check_uid, id);
CREATE TABLE phone_message (ask TEXT NOT NULL PRIMARY KEY, sent_at INTEGER) WITHOUT ROWID;
CREATE TABLE phone_answer (
    nonce TEXT NOT NULL PRIMARY KEY, ask TEXT NOT NULL, answer TEXT NOT NULL, expires_at INTEGER NOT NULL,
    used_at INTEGER
) WITHOUT ROWID;
CREATE INDEX phone_answer_of_ask ON phone_answer (ask);
CREATE UNIQUE INDEX task_solo ON task (list_id, coalesce(agent, status_by))
    WHERE (((deleted = 0) AND (solo = 1)) AND (status = 'in_progress'));
CREATE TABLE settings (
    uid TEXT NOT NULL PRIMARY KEY, source TEXT NOT NULL, review_lists TEXT NOT NULL DEFAULT '[]',
    review_limit INTEGER NOT NULL DEFAULT 25, review_jobs INTEGER NOT NULL DEFAULT 0,
    rules TEXT NOT NULL DEFAULT '[]'
, ask_limit INTEGER NOT NULL DEFAULT 50, ask_total INTEGER NOT NULL DEFAULT 1000) WITHOUT ROWID;
CREATE TABLE work (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, task_uid TEXT NOT NULL, agent TEXT NOT NULL,
    program TEXT NOT NULL, repository TEXT NOT NULL, worktree TEXT NOT NULL, makes_worktree INTEGER NOT NULL DEFAULT 1,
    branch TEXT, base TEXT, base_commit TEXT, terminal TEXT, state TEXT NOT NULL, message TEXT, summary TEXT,
    pull_request TEXT, started_at INTEGER NOT NULL, merged_at INTEGER, head TEXT, intent TEXT, kept TEXT,
    limits TEXT
, machine TEXT NOT NULL DEFAULT '');
CREATE UNIQUE INDEX work_uid ON work (uid);
CREATE INDEX work_task ON work (task_uid);
CREATE TABLE work_count (
    uid TEXT NOT NULL PRIMARY KEY, head TEXT, ahead INTEGER, behind INTEGER, files INTEGER, insertions INTEGER,
    deletions INTEGER, dirty INTEGER, near TEXT, at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE auto (
    uid TEXT NOT NULL PRIMARY KEY, program TEXT NOT NULL DEFAULT '', folder TEXT NOT NULL, at_once INTEGER NOT NULL,
    failures INTEGER NOT NULL, stays INTEGER NOT NULL DEFAULT 0, is_on INTEGER NOT NULL, host TEXT NOT NULL DEFAULT '',
    after INTEGER NOT NULL DEFAULT 0, message TEXT
, machine TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
INSERT INTO list (id, uid, kind, name, description, agent, origin, one_in_progress, created_at, deleted, pending, in_progress, done, failed, skipped, cancelled, archived, review, project) VALUES
    (1, '15a51341-0536-5cbf-bda7-c21bc3ea0c63', 'list', 'tasklist', '', NULL, 'tasklist', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL);
INSERT INTO list (id, uid, kind, name, description, agent, origin, one_in_progress, created_at, deleted, pending, in_progress, done, failed, skipped, cancelled, archived, review, project) VALUES
    (2, '0d72d79f-b0d2-5c62-8b31-bcb5355fb853', 'list', 'task', '', NULL, 'task', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL);
INSERT INTO list (id, uid, kind, name, description, agent, origin, one_in_progress, created_at, deleted, pending, in_progress, done, failed, skipped, cancelled, archived, review, project) VALUES
    (3, '6f76c96f-3b26-5ab0-8060-c935075d3508', 'list', 'todo', '', NULL, 'todo', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL);
