# A client of the control channel for Bash: `source <(tui-tasks help --bash)`.
# usage: . client.sh; tasks_open; tasks tasklist:add_task '{"name": "Build"}'; tasks_close
tasks_open() {  # [OPTIONS of serve]
  TASKS_OPTIONS=("$@")
  coproc TASKS { exec tui-tasks serve "${TASKS_OPTIONS[@]}"; }
  TASKS_SERVER=${TASKS_PID-}
  # A pipe's subshell has no descriptors of a coproc, but has copies of them.
  exec {TASKS_IN}<&"${TASKS[0]-}" {TASKS_OUT}>&"${TASKS[1]-}" {TASKS[0]}<&- {TASKS[1]}>&-
}
tasks() {  # TOOL [ARGUMENTS]: prints the reply; status 1: it is a refusal, 2: no server answers
  local id="$BASHPID-$RANDOM$RANDOM" arguments=${2:-"{}"} line try
  for try in 1 2 3; do
    # In a subshell, as a closed pipe ends the shell that writes to it. JSON takes \r for \n between its values.
    (printf '{"id": "%s", "idempotency_key": "%s", "tool": "%s", "arguments": %s}\n' \
      "$id" "$id" "$1" "${arguments//$'\n'/$'\r'}" >&"$TASKS_OUT") 2>/dev/null || true
    while IFS= read -r line <&"$TASKS_IN"; do  # other lines are events
      [[ $line == '{"id":"'"$id"'",'* || $line == '{"id":null,'* ]] || continue
      printf '%s\n' "$line"
      [[ $line == '{"id":"'"$id"'","ok":true,'* ]]
      return
    done
    tasks_close
    tasks_open "${TASKS_OPTIONS[@]}" || true  # another server gets the request again, under its key
  done
  return 2
}
tasks_close() {
  exec {TASKS_OUT}>&- {TASKS_IN}<&-
  kill "$TASKS_SERVER" 2>/dev/null || true
  wait "$TASKS_SERVER" 2>/dev/null || true
}
