-- How many questions may wait for the human, of one agent and of all, as the recorded settings file has them.
ALTER TABLE settings ADD COLUMN ask_limit INTEGER NOT NULL DEFAULT 50;
ALTER TABLE settings ADD COLUMN ask_total INTEGER NOT NULL DEFAULT 1000;
