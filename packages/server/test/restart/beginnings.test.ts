/** A baseline is stored completely or not at all, even if the first start of its world is interrupted. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ok } from '../api/iam/people.ts'
import { beginning, startApp } from '../support/start-app.ts'
import { worlds } from '../support/worlds.ts'
import { Victims } from './victims.ts'

const victims = new Victims()
after(() => victims.end())

const categories = '/platform/v4.3/config/categories'

test('a world whose first start was killed while its baseline was copied can still be reset', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-beginnings-'))
  try {
    await victims.mustDie({ folder, startAt: beginning, kill: { phase: 'amidCopy', name: 'seed.sqlite' } })
    const app = await startApp({ folder })
    ok(await app.call('POST', categories, { body: { key: 'team', value: 'later' } }), 201)
    ok(await app.call('POST', `${worlds}/default/$actions/reset`), 200)
    assert.equal((await app.call('GET', `${categories}?$filter=key eq 'team'`)).total, 0)
    // The second start seeded the world again and stored a baseline.
    assert.ok(existsSync(join(folder, 'seed.sqlite')))
    ok(await app.call('POST', `${worlds}/default/$actions/reset`), 200)
    await app.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
