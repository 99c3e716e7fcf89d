// Tells tui-tasks what happens in opencode, and brings the human's answers and messages back.
// Written by `tui-tasks setup opencode --hooks`, which replaces it: changes here are lost.
import { spawn } from "node:child_process"
import fs from "node:fs"

const COMMAND = ["tui-tasks", "hook", "opencode"]
const OUTBOX = ""
const LOOK = 1000 // milliseconds between looks for messages
const TOLD = new Set([
  "session.created", "session.deleted", "session.error", "session.idle", "session.status", "session.updated",
  "permission.asked", "permission.replied", "question.asked", "question.replied", "question.rejected", "todo.updated",
])

// Run the hook for a payload; resolve to what it says, or null. Nothing that goes wrong reaches opencode.
function run(payload) {
  return new Promise((resolve) => {
    let output = ""
    try {
      const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"] })
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
  let last = Promise.resolve()

  // Tell in order: each hook ends before the next is run.
  function tell(payload) {
    last = last.then(() => run(payload))
    return last
  }

  const client = context.client._client ?? context.client.client
  async function post(url, body) {
    try { await client.post({ url, body, headers: { "content-type": "application/json" } }) } catch {}
  }

  async function follow(session, said) {
    if (said?.message) await post(`/session/${session}/prompt_async`, { parts: [{ type: "text", text: said.message }] })
    if (said?.abort) await post(`/session/${session}/abort`, {})
    if (said?.permission) {
      const { id, ...reply } = said.permission
      await post(`/permission/${id}/reply`, reply)
    }
    if (said?.question) await post(`/question/${said.question.id}/reply`, { answers: said.question.answers })
  }

  function hasMail(session) {
    try { return fs.readdirSync(`${OUTBOX}/opencode-${session}`).some((name) => /\.(message|stop)$/.test(name)) }
    catch { return false }
  }

  if (OUTBOX) {
    setInterval(() => {
      for (const session of sessions) {
        if (hasMail(session)) {
          tell({ hook_event_name: "mailbox", input: { sessionID: session } }).then((said) => follow(session, said))
        }
      }
    }, LOOK).unref?.()
  }

  return {
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
