ALTER TABLE task ADD COLUMN status_by TEXT;
ALTER TABLE task ADD COLUMN accepted TEXT;
ALTER TABLE job ADD COLUMN accepted TEXT;
DROP INDEX task_solo;
CREATE UNIQUE INDEX task_solo ON task (list_id, coalesce(agent, status_by))
    WHERE (((deleted = 0) AND (solo = 1)) AND (status = 'in_progress'));
ALTER TABLE activity ADD COLUMN stopped_at INTEGER;
ALTER TABLE connection ADD COLUMN stopped_at INTEGER;
ALTER TABLE activity ADD COLUMN no_task TEXT;
ALTER TABLE check_definition ADD COLUMN cwd TEXT NOT NULL DEFAULT '';
ALTER TABLE check_definition ADD COLUMN inputs TEXT NOT NULL DEFAULT '[]';
CREATE TABLE settings (
    uid TEXT NOT NULL PRIMARY KEY, source TEXT NOT NULL, review_lists TEXT NOT NULL DEFAULT '[]',
    review_limit INTEGER NOT NULL DEFAULT 25, review_jobs INTEGER NOT NULL DEFAULT 0,
    rules TEXT NOT NULL DEFAULT '[]'
) WITHOUT ROWID;
CREATE TABLE work (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, task_uid TEXT NOT NULL, agent TEXT NOT NULL,
    program TEXT NOT NULL, repository TEXT NOT NULL, worktree TEXT NOT NULL, makes_worktree INTEGER NOT NULL DEFAULT 1,
    branch TEXT, base TEXT, base_commit TEXT, terminal TEXT, state TEXT NOT NULL, message TEXT, summary TEXT,
    pull_request TEXT, started_at INTEGER NOT NULL, merged_at INTEGER, head TEXT, intent TEXT, kept TEXT,
    limits TEXT
);
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
) WITHOUT ROWID;
ALTER TABLE check_run ADD COLUMN cwd TEXT;
ALTER TABLE check_run ADD COLUMN worktree TEXT;
ALTER TABLE check_run ADD COLUMN tree TEXT;
ALTER TABLE ask ADD COLUMN rule TEXT;
