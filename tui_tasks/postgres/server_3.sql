-- What an agent's role may write of checks and of work, whichever kind it gives the entry: it asks for checks, notices
-- changed inputs, and reports its own work. What passes, what is merged and where, is the human's.

INSERT INTO tui_tasks.agent_kind (by, kind) VALUES ('system', 'check.stale');

CREATE FUNCTION tui_tasks.is_agents(entity text, kind text, old text, new text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    value CONSTANT jsonb := new::jsonb;
BEGIN
    RETURN coalesce(CASE entity
        WHEN 'check_run' THEN (kind = 'check.queued' AND old IS NULL AND value ->> 'state' = 'waiting')
            OR (kind = 'check.stale' AND value = '{"state": "stale"}')
        WHEN 'task_check' THEN kind = 'check.requested' AND coalesce(value ->> 'waived', 'false') = 'false'
            AND value - ARRAY['uid', 'task_uid', 'check_uid', 'run_uid', 'waived'] = '{}'
        WHEN 'work' THEN kind IN ('work.ready', 'work.updated') AND old IS NOT NULL
            AND value ->> 'state' IN ('ready', 'working') AND value - ARRAY['state', 'message', 'summary'] = '{}'
    END, false);
END $$;

CREATE FUNCTION tui_tasks.refuse_forged() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    speaker CONSTANT text := tui_tasks.speaker();
    what text := 'counts of work';
BEGIN
    IF speaker IS NOT NULL AND TG_TABLE_NAME = 'journal' THEN
        IF tui_tasks.is_agents(NEW.entity, NEW.kind, NEW.old, NEW.new) THEN
            RETURN NEW;
        END IF;
        what := format('%s of a %s', NEW.kind, NEW.entity);
    END IF;
    IF speaker IS NOT NULL THEN
        RAISE EXCEPTION 'role % is the agent % and may not write %', session_user, speaker, what
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER forged BEFORE INSERT ON tui_tasks.journal FOR EACH ROW
WHEN (NEW.entity IN ('check_definition', 'check_run', 'task_check', 'settings', 'work', 'auto', 'journal'))
EXECUTE FUNCTION tui_tasks.refuse_forged();
CREATE TRIGGER forged BEFORE INSERT ON tui_tasks.companion FOR EACH ROW
WHEN (NEW.kind = 'work_count') EXECUTE FUNCTION tui_tasks.refuse_forged();

REVOKE ALL ON FUNCTION tui_tasks.is_agents(text, text, text, text), tui_tasks.refuse_forged() FROM PUBLIC;
