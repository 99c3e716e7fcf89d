// Tells tui-tasks what happens in opencode, and brings the human's answers and messages back.
// Written by `tui-tasks setup opencode --hooks`, which replaces it: changes here are lost.
import { spawn, spawnSync } from "node:child_process"
import fs from "node:fs"

const COMMAND = ["tui-tasks", "hook", "opencode"]
const LOOK = 1000 // milliseconds between looks for messages
const ASK_AGAIN = 60 // looks until the hook is asked again where messages are, if it could not be run
const LAST_WORDS = 5000 // milliseconds for hooks while opencode disposes of this plugin, and while it exits
const TOLD = new Set([
  "session.created", "session.deleted", "session.error", "session.idle", "session.status", "session.updated",
  "permission.asked", "permission.replied", "question.asked", "question.replied", "question.rejected", "todo.updated",
])

// This process, for hooks that outlive it: its pid, and the time of its start as Linux counts it.
function self() {
  try {
    const fields = fs.readFileSync("/proc/self/stat", "latin1").split(")").pop().trim().split(" ")
    return `${process.pid}:${fields[19]}`
  } catch { return "" }
}
const environment = { ...process.env, TUI_TASKS_AGENT_PROCESS: self() }

// Run the hook for a payload; resolve to what it says, or null. Nothing that goes wrong reaches opencode.
function run(payload, started = () => {}) {
  return new Promise((resolve) => {
    let output = ""
    try {
      const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"], env: environment })
      started(child)
      child.on("error", () => resolve(null))
      child.stdout.on("data", (data) => { output += data })
      child.on("close", () => { try { resolve(JSON.parse(output)) } catch { resolve(null) } })
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(payload))
    } catch { resolve(null) }
  })
}

export const TuiTasks = async (context) => {
  const sessions = new Set()
  const untold = [] // payloads whose hooks have not ended, in order
  let last = Promise.resolve()
  let outbox = null // the folder of messages for sessions

  // Tell in order: each hook ends before the next is run.
  function tell(payload) {
    const entry = { payload, child: null }
    untold.push(entry)
    last = last.then(() => run(payload, (child) => { entry.child = child }))
    last = last.finally(() => { if (untold.includes(entry)) untold.splice(untold.indexOf(entry), 1) })
    return last
  }

  // Tell the rest while the process exits, where opencode did not wait for it.
  function tellRest() {
    const until = Date.now() + LAST_WORDS
    for (const { payload, child } of untold.splice(0)) {
      const timeout = until - Date.now()
      if (timeout <= 0) return
      try {
        child?.kill("SIGKILL")
        const stdio = ["pipe", "ignore", "ignore"]
        spawnSync(COMMAND[0], COMMAND.slice(1), { input: JSON.stringify(payload), stdio, env: environment, timeout })
      } catch {}
    }
  }
  process.once("exit", tellRest)

  const client = context.client._client ?? context.client.client
  async function post(url, body) {
    try { await client.post({ url, body, headers: { "content-type": "application/json" } }) } catch {}
  }

  async function follow(session, said) {
    if (said?.abort) await post(`/session/${session}/abort`, {})
    // What comes with an abort is read with the next prompt.
    const parts = [{ type: "text", text: said?.message }]
    if (said?.message) await post(`/session/${session}/prompt_async`, { parts, noReply: said.abort === true })
    if (said?.permission) {
      const { id, ...reply } = said.permission
      await post(`/permission/${id}/reply`, reply)
    }
    if (said?.question) await post(`/question/${said.question.id}/reply`, { answers: said.question.answers })
  }

  function hasMail(session) {
    try { return fs.readdirSync(`${outbox}/opencode-${session}`).some((name) => /\.(message|stop)$/.test(name)) }
    catch { return false }
  }

  let looks = 0
  const timer = setInterval(async () => {
    if (sessions.size && outbox === null && looks++ % ASK_AGAIN === 0) {
      outbox = (await run({ hook_event_name: "outbox" }))?.outbox ?? null
    }
    for (const session of outbox === null ? [] : sessions) {
      if (hasMail(session)) {
        tell({ hook_event_name: "mailbox", input: { sessionID: session } }).then((said) => follow(session, said))
      }
    }
  }, LOOK)
  timer.unref?.()

  return {
    // opencode waits for this before it exits, so that the end of the last turn is told.
    dispose: async () => {
      clearInterval(timer)
      await Promise.race([last, new Promise((resolve) => setTimeout(resolve, LAST_WORDS))])
    },
    event: async ({ event }) => {
      const info = event.properties?.info
      const ends = event.type === "message.updated" && info?.role === "assistant" && info?.time?.completed
      if (!TOLD.has(event.type) && !ends) return
      const session = event.properties?.sessionID ?? info?.sessionID ?? info?.id
      if (session && !info?.parentID) sessions.add(session)
      if (event.type === "session.deleted") sessions.delete(session)
      // A hook that waits for the human holds up nothing that comes after it.
      const asks = event.type === "permission.asked" || event.type === "question.asked"
      const said = asks ? last.then(() => run(event)) : tell(event)
      said.then((form) => follow(session, form))
    },
    "chat.message": async (input, output) => {
      sessions.add(input.sessionID)
      await follow(input.sessionID, await tell({ hook_event_name: "chat.message", input, output }))
    },
    "experimental.text.complete": async (input, output) => {
      await tell({ hook_event_name: "experimental.text.complete", input, output })
    },
    "tool.execute.before": async (input, output) => {
      const said = await tell({ hook_event_name: "tool.execute.before", input, output })
      if (said?.abort) await post(`/session/${input.sessionID}/abort`, {})
      if (said?.refuse) throw new Error(said.refuse)
    },
    "tool.execute.after": async (input, output) => {
      await follow(input.sessionID, await tell({ hook_event_name: "tool.execute.after", input, output }))
    },
  }
}
