/** The service dies between commit and answer: whoever asks again gets what was done. Source: behaviour conventions 6, 25.11. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { creations } from '../support/creations.ts'
import { checkInvariants } from '../support/invariants.ts'
import { beginning, startApp } from '../support/start-app.ts'
import { sendOver } from './killing.ts'
import { Victims } from './victims.ts'

let folder: string
const victims = new Victims()
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hyperplane-answers-'))
  await (await startApp({ folder })).close()
})
after(async () => {
  await victims.end()
  rmSync(folder, { recursive: true, force: true })
})

const container = creations['clustermgmt.createStorageContainer']!
const stories = [
  {
    what: 'a category, made at once',
    path: '/platform/v4.3/config/categories',
    body: { key: 'lost', value: 'answer' },
    list: "key eq 'lost'",
  },
  {
    what: 'a storage container, made by a task',
    ...container,
    body: container.body('lost-answer'),
    list: "name eq 'lost-answer'",
  },
]

for (const { what, path, body, list, ...more } of stories) {
  test(`11 killed after the commit and before the answer, a retry gets the same entity: ${what}`, async () => {
    const requestId = randomUUID()
    const victim = await victims.start({ folder, startAt: beginning, kill: { phase: 'answer' } })
    await assert.rejects(sendOver(victim.url, { method: 'POST', path, body, ...more }, requestId), 'there is no answer')
    assert.equal(await victim.dead, 'SIGKILL')

    const app = await startApp({ folder })
    try {
      await app.runner.idle()
      const found = await app.call('GET', `${path}?$filter=${encodeURIComponent(list)}`)
      assert.equal(found.total, 1)
      const again = await app.call('POST', path, { body, requestId, ...more })
      assert.equal(again.replayed, true)
      const extId = again.status === 202 ? (await app.task(again)).entitiesAffected[0].extId : again.data.extId
      assert.equal(extId, found.data[0].extId)
      assert.equal((await app.call('GET', `${path}?$filter=${encodeURIComponent(list)}`)).total, 1)
      await checkInvariants(app)
    } finally {
      await app.close()
    }
  })
}
