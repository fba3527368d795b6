/** V8 may free memory while the service idles: requests, responses, sockets and ticks must stay fast objects. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { compiledSources } from '../support/compiled.ts'

const support = new URL('../support/', import.meta.url)
const sources = new URL('../../src/', import.meta.url)
const program = `
  import { Server } from 'node:http'
  const { tickObject } = await import(${JSON.stringify(new URL('boot/tick-shape.ts', sources).href)})
  const { giveBackMemory } = await import(${JSON.stringify(new URL('worlds/give-back-memory.ts', sources).href)})
  const { startApp } = await import(${JSON.stringify(new URL('start-app.ts', support).href)})
  const { raw } = await import(${JSON.stringify(new URL('http.ts', support).href)})
  const isFast = new Function('object', 'return %HasFastProperties(object)')
  let seen = []
  const { emit } = Server.prototype
  Server.prototype.emit = function (name, request, response) {
    if (name === 'request') seen = [request, response, request.socket].map(isFast)
    return emit.apply(this, arguments)
  }
  const app = await startApp({ config: { seed: 'empty' } })
  const { url } = await app.listen()
  const ask = () => raw(url, 'GET /health/live HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n')
  // V8 decides about the size of these objects when it makes the seventh.
  for (let request = 0; request < 6; request++) await ask()
  await giveBackMemory()
  for (let request = 0; request < 10; request++) await ask()
  console.log(JSON.stringify({ seen, tick: isFast(tickObject) }))
  await app.close()
`

test('after an idle time in which memory was freed, requests, responses and sockets are no dictionaries', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--allow-natives-syntax', '--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program],
    { env: { ...process.env, ...compiledSources } },
  )
  assert.deepEqual(JSON.parse(stdout), { seen: [true, true, true], tick: true })
})
