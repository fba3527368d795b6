/** The service dies: what was read of its journal is there again, and numbers that were seen come no second time. Source: reference journal.md. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { http } from '../support/http.ts'
import { callsOf, categories, journal } from '../support/journal.ts'
import { beginning, startApp } from '../support/start-app.ts'
import { Victims } from './victims.ts'

let folder: string
const victims = new Victims()
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hyperplane-journal-'))
  await (await startApp({ folder, unchecked: 'the journal would record its calls' })).close()
})
after(async () => {
  await victims.end()
  rmSync(folder, { recursive: true, force: true })
})

test('killed while recording, the journal keeps the answered calls and continues after them', async () => {
  const victim = await victims.start({ folder, startAt: beginning })
  for (let index = 0; index < 20; index++) await http(victim.url, `${categories}?$page=${index}`)
  const seen = (await http(victim.url, `${journal}/calls?$limit=100`)).json.data
  assert.equal(seen.at(-1).sequence, 20)
  // Of these nobody knows whether they were written.
  await Promise.all(Array.from({ length: 50 }, () => http(victim.url, `${categories}?$limit=1`)))
  victim.kill()
  assert.equal(await victim.dead, 'SIGKILL')

  const app = await startApp({ folder })
  try {
    const { data } = await app.call('GET', `${journal}/calls?$limit=100`)
    assert.deepEqual(
      data.slice(0, 20).map(({ sequence, query }: any) => [sequence, query]),
      seen.map(({ sequence, query }: any) => [sequence, query]),
    )
    const { lastSequence } = (await app.call('GET', journal)).data
    const { url } = await app.listen()
    await http(url, `${categories}?$limit=2`)
    assert.deepEqual(
      (await callsOf(app, "query eq '$limit=2'")).map(({ sequence }) => sequence),
      [lastSequence + 1],
    )
  } finally {
    await app.close()
  }
})
