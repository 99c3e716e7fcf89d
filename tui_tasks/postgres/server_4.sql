-- An agent's role cannot hold a run of a job or check: it may not write how the run ends.

CREATE OR REPLACE FUNCTION tui_tasks.refuse_forged() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    speaker CONSTANT text := tui_tasks.speaker();
    what text;
BEGIN
    IF speaker IS NOT NULL AND TG_TABLE_NAME = 'journal' THEN
        IF tui_tasks.is_agents(NEW.entity, NEW.kind, NEW.old, NEW.new) THEN
            RETURN NEW;
        END IF;
        what := format('%s of a %s', NEW.kind, NEW.entity);
    ELSE
        what := CASE NEW.kind WHEN 'beat' THEN 'who holds a run' ELSE 'counts of work' END;
    END IF;
    IF speaker IS NOT NULL THEN
        RAISE EXCEPTION 'role % is the agent % and may not write %', session_user, speaker, what
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;

DROP TRIGGER forged ON tui_tasks.companion;
CREATE TRIGGER forged BEFORE INSERT ON tui_tasks.companion FOR EACH ROW
WHEN (NEW.kind IN ('work_count', 'beat')) EXECUTE FUNCTION tui_tasks.refuse_forged();

-- As before, without a query of the catalog: this is called as the owner.
CREATE OR REPLACE FUNCTION tui_tasks.speaker() RETURNS text LANGUAGE plpgsql STABLE
AS $$
DECLARE
    agent text;
BEGIN
    SELECT m.agent INTO agent FROM tui_tasks.member m WHERE m.role = session_user;
    IF NOT FOUND THEN
        IF NOT pg_has_role(session_user, current_user, 'MEMBER') THEN
            RAISE EXCEPTION 'role % may not write: it is no member (tui-tasks admin roles)', session_user
                USING ERRCODE = 'insufficient_privilege';
        END IF;
    END IF;
    RETURN agent;
END $$;
