ALTER TABLE task_check ADD COLUMN waived INTEGER NOT NULL DEFAULT 0;
CREATE INDEX check_run_of_check ON check_run (check_uid, id);
ALTER TABLE activity ADD COLUMN worked_at INTEGER;
ALTER TABLE activity ADD COLUMN failure TEXT;
ALTER TABLE activity ADD COLUMN record TEXT NOT NULL DEFAULT '{}';
ALTER TABLE task ADD COLUMN links TEXT NOT NULL DEFAULT '[]';
