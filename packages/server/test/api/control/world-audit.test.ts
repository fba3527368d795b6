/** Refusals of the control interface that cannot be audited: not logged if the world is being reset. Source: conventions 21. */
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { after, before, beforeEach, type TestContext, test } from 'node:test'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { worlds } from '../../support/worlds.ts'

const clock = `${worlds}/default/clock`

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())
/** The first mutation within a world creates its control store. */
beforeEach(() => app.call('POST', `${clock}/$actions/freeze`))

/** Lines that are logged from now on. */
function logged(t: TestContext): readonly string[] {
  const messages: string[] = []
  const { write } = fs
  t.mock.method(fs, 'write', (fd: number, text: any, ...rest: any[]) => {
    if (fd !== 2) return (write as any)(fd, text, ...rest)
    const lines = String(text).trim().split('\n')
    messages.push(...lines.map((line) => JSON.parse(line).msg))
    setImmediate(() => rest.at(-1)(null, Buffer.byteLength(text), text))
  })
  return messages
}

test('a mutation during a reset of its world is refused, and nothing is logged as an error', async (t) => {
  const messages = logged(t)
  const reset = app.call('POST', `${worlds}/default/$actions/reset`)
  const others: Promise<number>[] = []
  for (let round = 0; round < 30; round++) {
    await new Promise(setImmediate)
    for (const action of ['freeze', 'resume'])
      others.push(app.call('POST', `${clock}/$actions/${action}`).then(({ status }) => status))
  }
  assert.equal((await reset).status, 200)
  assert.ok((await Promise.all(others)).includes(503))
  assert.deepEqual(messages, [])
})

test('a refusal whose record cannot be written is logged', async (t) => {
  const messages = logged(t)
  const { exec } = DatabaseSync.prototype
  t.mock.method(DatabaseSync.prototype, 'exec', function (this: DatabaseSync, text: string) {
    if (text === 'COMMIT' && this.location()?.endsWith('control.sqlite') === true) throw new Error('the disk is full')
    exec.call(this, text)
  })
  assert.equal((await app.call('POST', `${clock}/$actions/advance`, { body: {} })).status, 400)
  assert.deepEqual(messages, ['a refusal could not be audited'])
})
