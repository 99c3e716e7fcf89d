-- Which changes in steps are unfinished, and whose machine undoes them, is beside the journal. An agent's role records and
-- forgets changes of its own alone.

CREATE FUNCTION tui_tasks.is_agents_step(speaker text, given_key text, given text) RETURNS boolean LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    first CONSTANT bigint := substring(given_key FROM '^\[([0-9]{1,18})\]$');
    value CONSTANT jsonb := given;
    held text;
    makes text;
BEGIN
    IF first IS NULL THEN
        RETURN false;
    END IF;
    SELECT c.value::jsonb ->> 'actor' INTO held FROM tui_tasks.companion c
    WHERE c.kind = 'unfinished_change' AND c.key = given_key;
    IF held IS NOT NULL AND NOT tui_tasks.speaks_as(speaker, held) THEN
        RETURN false;
    END IF;
    IF given IS NULL THEN
        RETURN true;
    END IF;
    SELECT j.actor INTO makes FROM tui_tasks.journal j WHERE j.seq = first AND j.change = first;
    RETURN coalesce(
        tui_tasks.speaks_as(speaker, makes) AND value ->> 'actor' = makes
        AND value ->> 'lock' ~ '^[0-9]{1,18}@[a-z0-9-]+$' AND value - ARRAY['actor', 'lock'] = '{}', false);
END $$;

-- Whether a role that is for one agent, or for all whose names begin alike, writes as an actor.
CREATE FUNCTION tui_tasks.speaks_as(speaker text, actor text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN actor = speaker OR (speaker LIKE '%*' AND starts_with(actor, left(speaker, -1)));
END $$;

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
    ELSIF speaker IS NOT NULL AND NEW.kind = 'unfinished_change' THEN
        IF tui_tasks.is_agents_step(speaker, NEW.key, NEW.value) THEN
            RETURN NEW;
        END IF;
        what := 'steps of another''s change';
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
WHEN (NEW.kind IN ('work_count', 'beat', 'unfinished_change')) EXECUTE FUNCTION tui_tasks.refuse_forged();

REVOKE ALL ON FUNCTION tui_tasks.is_agents_step(text, text, text), tui_tasks.speaks_as(text, text) FROM PUBLIC;
