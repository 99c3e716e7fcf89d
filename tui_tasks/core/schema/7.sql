ALTER TABLE activity ADD COLUMN tool_target TEXT;
