/**
 * Kills the service in each phase of a restore: the next start opens either the unchanged fresh instance or the complete restored
 * one, and the task says which. Source: behaviour platform.md 9; 14, statement 32.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { inBucket, made } from '../support/backups.ts'
import { checkInvariants, differences } from '../support/invariants.ts'
import { backupOf, endOf, foundIn, freshBeside, restoreBody } from '../support/restoring.ts'
import { startApp } from '../support/start-app.ts'
import type { Asked } from './asked.ts'
import { anHourLater, copyOf, endingWithProcess, inOwnFolder, momentsOf, send, sendOver, within } from './killing.ts'
import { outcomeOf, snapshotOf } from './snapshot.ts'
import type { Moment } from './victim.ts'
import { Victims } from './victims.ts'

const victims = new Victims()
inOwnFolder()

let fresh: string
let asked: Asked
let config: { readonly seed: 'empty'; readonly backupKey: string }
/** The fresh instance, and its state after an uninterrupted restore. */
let base: readonly string[]
let whole: readonly string[]

before(async () => {
  const original = await startApp()
  await made(original, inBucket())
  const backup = await backupOf(original)
  config = { seed: 'empty', backupKey: backup.backupKey }
  fresh = join(original.folder, '..', `hyperplane-fresh-${randomUUID()}`)
  const app = await freshBeside(backup, { folder: fresh, startAt: anHourLater })
  const { manager, path } = await foundIn(app, backup)
  asked = { method: 'POST', path, body: restoreBody(manager) }
  await app.close()
  await original.close()
  base = snapshotOf(fresh)

  const folder = copyOf(fresh)
  await within(folder, async (restoring) => void (await endOf(restoring, await send(restoring, asked, randomUUID()))), {
    config,
  })
  whole = outcomeOf(snapshotOf(folder), base)
  assert.ok(whole.length > 100)
})
after(async () => {
  await victims.end()
  rmSync(fresh, { recursive: true, force: true })
})

/** Phases that never run: the exchange does not return to the store to which they would write. */
const isNever = (definition: string, step: string, phase: string): boolean =>
  phase === 'record' && step === 'switch' && /^platform\.restore(?:-switch)?$/.test(definition)

for (const definition of endingWithProcess)
  for (const { step, phase } of momentsOf(definition)) {
    if (isNever(definition.name, step, phase)) continue
    test(`${definition.name}: killed before the ${phase} of "${step}", the instance is fresh and the task FAILED`, () =>
      killed({ definition: definition.name, step, phase }, 'FAILED'))
  }

test('killed before the new store gets its name, the instance is fresh and the task FAILED; a repeated restore succeeds', () =>
  killed({ phase: 'beforeRename' }, 'FAILED', goesThrough))

test('killed when the new store has its name, the instance is restored and the task SUCCEEDED', () =>
  killed({ phase: 'afterRename' }, 'SUCCEEDED'))

async function killed(
  kill: Moment,
  status: 'FAILED' | 'SUCCEEDED',
  then?: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = copyOf(fresh)
  const victim = await victims.start({ folder, startAt: anHourLater, config, kill })
  await sendOver(victim.url, asked, randomUUID()).catch(() => undefined)
  await victim.mustDie()

  await within(
    folder,
    async (app) => {
      await app.runner.idle()
      await checkInvariants(app)
      const filter = encodeURIComponent("operation eq 'kPcRecovery'")
      const { data } = await app.call('GET', `/platform/v4.3/config/tasks?$filter=${filter}`)
      assert.deepEqual(
        data.map((task: any) => task.status),
        [status],
      )
    },
    { config },
  )
  for (const name of ['restoring.sqlite', 'replaced.sqlite']) assert.ok(!existsSync(join(folder, name)), name)
  const outcome = outcomeOf(snapshotOf(folder), base)
  assert.deepEqual(differences(outcome, status === 'FAILED' ? [] : whole), [])
  await then?.(folder)
  rmSync(folder, { recursive: true })
}

const goesThrough = (folder: string): Promise<void> =>
  within(
    folder,
    async (app) => {
      const task = await endOf(app, await send(app, asked, randomUUID()))
      assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    },
    { config },
  )
