-- What an agent's role may write of every entity, whichever kind it gives the entry: nothing that is the human's, and
-- nothing in another agent's name. These are looked at once for all entries of an append.

CREATE INDEX journal_claim ON tui_tasks.journal (uid) WHERE entity = 'claim' AND old IS NULL;

-- Whether an entry of an agent's role says what the role may say.
CREATE FUNCTION tui_tasks.is_agents_entry(
    speaker text, given_actor text, given_entity text, given_kind text, given_uid text, given_old text, given_new text
) RETURNS boolean LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    value CONSTANT jsonb := given_new;
    is_new CONSTANT boolean := given_old IS NULL;
    holder text;
BEGIN
    CASE given_entity
        WHEN 'ask' THEN
            IF is_new THEN
                RETURN coalesce(given_kind = 'ask.opened' AND value ->> 'state' IN ('open', 'withdrawn')
                    AND value ->> 'answer' IS NULL AND value ->> 'rule' IS NULL
                    AND tui_tasks.speaks_as(speaker, value ->> 'agent'), false);
            END IF;
            RETURN coalesce(value ->> 'state' IN ('withdrawn', 'timeout')
                AND value - ARRAY['state', 'answered_at', 'reason'] = '{}', false);
        WHEN 'human_message' THEN
            RETURN NOT is_new AND value - ARRAY['delivered_at', 'delivered_seq'] = '{}';
        WHEN 'agent' THEN
            RETURN false;
        WHEN 'list' THEN
            RETURN CASE WHEN is_new THEN coalesce(value ->> 'review', 'false') = 'false' ELSE NOT value ? 'review' END;
        WHEN 'task' THEN
            RETURN CASE WHEN is_new
                THEN value ->> 'accepted' IS NULL AND value ->> 'checks' IS NULL
                    AND tui_tasks.speaks_as(speaker, coalesce(value ->> 'created_by', speaker))
                ELSE NOT value ?| ARRAY['accepted', 'checks', 'decline_reason', 'created_by'] END;
        WHEN 'job' THEN
            RETURN CASE WHEN is_new
                THEN value ->> 'accepted' IS NULL AND tui_tasks.speaks_as(speaker, coalesce(value ->> 'created_by', speaker))
                ELSE NOT value ? 'created_by' AND (NOT value ? 'accepted' OR value ->> 'held' = 'true') END;
        WHEN 'log' THEN
            RETURN CASE WHEN is_new THEN coalesce(tui_tasks.speaks_as(speaker, value ->> 'agent'), false)
                ELSE value - 'deleted' = '{}' END;
        WHEN 'session' THEN
            RETURN tui_tasks.speaks_as(speaker, given_uid);
        WHEN 'claim' THEN
            IF is_new THEN
                RETURN coalesce(tui_tasks.speaks_as(speaker, value ->> 'agent'), false);
            END IF;
            IF given_actor = 'system' THEN
                RETURN value = '{"state": "lapsed"}';
            END IF;
            -- NULL: taken before the oldest entry.
            SELECT j.actor INTO holder FROM tui_tasks.journal j
            WHERE j.entity = 'claim' AND j.old IS NULL AND j.uid = given_uid LIMIT 1;
            RETURN coalesce(tui_tasks.speaks_as(speaker, holder), true) AND NOT value ? 'agent';
        ELSE
            RETURN true;
    END CASE;
END $$;

CREATE FUNCTION tui_tasks.refuse_forged_entries() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    speaker CONSTANT text := tui_tasks.speaker();
    what text;
BEGIN
    IF speaker IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT format('%s of a %s that is another''s', added.kind, added.entity) INTO what FROM added
    WHERE tui_tasks.is_agents_entry(
        speaker, added.actor, added.entity, added.kind, added.uid, added.old, added.new) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'role % is the agent % and may not write %', session_user, speaker, what
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER forged_entries AFTER INSERT ON tui_tasks.journal REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION tui_tasks.refuse_forged_entries();

-- Beside the journal: replies and names of sessions are their agent's.
CREATE FUNCTION tui_tasks.refuse_forged_names() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    speaker CONSTANT text := tui_tasks.speaker();
    whose text;
BEGIN
    IF speaker IS NULL OR NEW.value IS NULL THEN
        RETURN NEW;
    END IF;
    IF NEW.kind = 'view' THEN
        RAISE EXCEPTION 'role % is the agent % and may not write who has a phone', session_user, speaker
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    whose := CASE NEW.kind WHEN 'kept_reply' THEN NEW.key::jsonb ->> 0 ELSE NEW.value::jsonb ->> 'agent' END;
    IF NOT coalesce(tui_tasks.speaks_as(speaker, whose), false) THEN
        RAISE EXCEPTION 'role % is the agent % and may not write % of %', session_user, speaker,
            CASE NEW.kind WHEN 'kept_reply' THEN 'replies' ELSE 'sessions' END, whose
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER forged_names BEFORE INSERT ON tui_tasks.companion FOR EACH ROW
WHEN (NEW.kind IN ('kept_reply', 'session_name') OR (NEW.kind = 'view' AND starts_with(NEW.key, '["until:phone:')))
EXECUTE FUNCTION tui_tasks.refuse_forged_names();

REVOKE ALL ON FUNCTION tui_tasks.is_agents_entry(text, text, text, text, text, text, text),
    tui_tasks.refuse_forged_entries(), tui_tasks.refuse_forged_names() FROM PUBLIC;
