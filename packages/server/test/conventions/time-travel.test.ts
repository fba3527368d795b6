/** Moving the clock by hand leaves the world as passing time would. Source: behaviour conventions 23 (virtual clock). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import { outcomeOf, snapshotOf } from '../restart/snapshot.ts'
import { ids } from '../support/clustermgmt.ts'
import { differences } from '../support/invariants.ts'
import { beginning, startApp, type TestApp } from '../support/start-app.ts'

const minute = 60_000
const day = 24 * 60 * minute

const parent = mkdtempSync(join(tmpdir(), 'hyperplane-time-'))
after(() => rmSync(parent, { recursive: true, force: true }))

/**
 * A cluster that follows a profile, without the backups of the demo (`backup-schedule.test.ts` has those); and what the
 * world does by itself at 10:07 on the second day and at 14:02 on the third.
 */
async function aWorld(folder: string): Promise<void> {
  const app = await startApp({ folder })
  const profiles = '/clustermgmt/v4.2/config/cluster-profiles'
  const post = async (path: string, body: object): Promise<any> =>
    app.task(await app.call('POST', path, { body, requestId: randomUUID() }))
  const servers = [{ ipv4: { value: '10.8.8.8', prefixLength: 32 } }]
  const made = await post(profiles, { name: 'followed', nameServerIpList: servers, ntpServerIpList: servers })
  const profile = `${profiles}/${made.entitiesAffected[0].extId}`
  assert.equal((await post(`${profile}/$actions/apply`, { clusters: [{ uuid: ids.native }] })).status, 'SUCCEEDED')
  await app.store.transaction((store) => store.remove(BackupTarget, ids.native))
  await app.close()
}

function plan(app: TestApp): void {
  const settings = app.world.collection<{ settings: object }>('hardware.clusters')
  const faults = app.world.collection<object>('hardware.faults')
  app.clock.setTimer(day + 67 * minute, () => {
    const known = settings.get(ids.native)!
    void settings.put(ids.native, { ...known, settings: { ...known.settings, NAME_SERVER_CONFIG: [] } })
  })
  app.clock.setTimer(2 * day + 302 * minute, () => void faults.put(ids.native, { isDown: true }))
}

test('one jump of four days has the same result as steps of ten minutes', async () => {
  const origin = join(parent, 'origin')
  await aWorld(origin)
  const base = snapshotOf(origin)
  const outcomes: (readonly string[])[] = []
  for (const step of [10 * minute, 4 * day]) {
    const folder = join(parent, String(step))
    cpSync(origin, folder, { recursive: true })
    const app = await startApp({ folder, startAt: beginning })
    plan(app)
    for (let passed = 0; passed < 4 * day; passed += step) await app.clock.advance(step)
    assert.equal(app.clock.now(), beginning + 4 * day)
    const { data } = await app.call('GET', `/clustermgmt/v4.2/config/clusters/${ids.native}`)
    outcomes.push([JSON.stringify(data)])
    await app.close()
    outcomes.push(outcomeOf(snapshotOf(folder), base, { traces: false }))
  }
  const [steps, stepsStored, jump, jumpStored] = outcomes
  assert.deepEqual(jump, steps)
  assert.deepEqual(differences(jumpStored!, stepsStored!), [])
  assert.ok(
    jumpStored!.some((line) => line.includes('"lastSyncedTime":"2026-03-04T14:00:00.000000Z"')),
    'the last look before the cluster fell silent',
  )
})
