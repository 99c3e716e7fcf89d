ALTER TABLE list ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN due TEXT;
ALTER TABLE task ADD COLUMN estimate INTEGER;
CREATE TABLE human_message (
    id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, agent TEXT NOT NULL, text TEXT NOT NULL,
    sent_at INTEGER NOT NULL, seq INTEGER NOT NULL, delivered_at INTEGER, delivered_seq INTEGER
);
CREATE UNIQUE INDEX human_message_uid ON human_message (uid);
CREATE INDEX human_message_agent ON human_message (agent, id);
CREATE INDEX human_message_waiting ON human_message (agent, id) WHERE (delivered_at IS NULL);
