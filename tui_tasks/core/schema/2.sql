ALTER TABLE list ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN due TEXT;
ALTER TABLE task ADD COLUMN estimate INTEGER;
ALTER TABLE list ADD COLUMN review INTEGER NOT NULL DEFAULT 0;
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
) WITHOUT ROWID;
