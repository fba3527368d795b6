/** A task that fails at its last step leaves the world as it was. Source: behaviour conventions 18.3, 25.27. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { ApiError } from '../../src/core/api-error.ts'
import type { TaskDefinition } from '../../src/core/tasks/define-task.ts'
import { checkInvariants } from '../support/invariants.ts'
import { beginning } from '../support/start-app.ts'
import { definitions, inOwnFolder, prepared, send, within } from './killing.ts'
import { outcomeOf, snapshotOf } from './snapshot.ts'

/** What stays all the same, and why. */
const stays: Readonly<Record<string, string>> = {
  'clustermgmt.apply-cluster-profile': 'clusters that were done stay members',
  'clustermgmt.copy-data': 'the change of the cluster that started it has ended before',
  'clustermgmt.delete-storage-container': 'the cluster is told of the container anew, with what it was asked meanwhile',
  'clustermgmt.update-bmc-info': 'the credential is stored whatever the probe finds',
  'clustermgmt.update-cluster-profile': 'what is desired stays desired, also when a cluster does not follow',
  'networking.unreserve-addresses': 'the same addresses are reserved anew, as new rows',
  'platform.run-batch': 'what elements did stays, as if they had been sent one by one',
}
/** What happened outside cannot be taken back; once it did, the task only goes forward. */
const irreversible = ['vmm.change-power-of-external-vm', 'vmm.power-off-vm', 'vmm.reset-vm', 'vmm.shutdown-vm']

inOwnFolder()

for (const [name, definition] of definitions) {
  const last = lastThatMayFail(definition)
  if (last === undefined || irreversible.includes(name)) continue
  const what = stays[name] === undefined ? 'nothing of it remains' : `only what may remains: ${stays[name]}`
  test(`${name}: failed at "${last}", ${what}`, async () => {
    const { folder, asked, base } = await prepared(name)
    const beforeStep = (of: string, step: string, phase: string): void => {
      if (of === name && step === last && phase === 'record')
        throw new ApiError('CONFLICT', { fault: 'A test made it fail.' })
    }
    const status = await within(
      folder,
      async (app) => {
        const task = await app.task(await send(app, asked, randomUUID()))
        await checkInvariants(app)
        return task.status
      },
      // No time passes: nothing but the task changes the world.
      { beforeStep, startAt: beginning },
    )
    const left = outcomeOf(snapshotOf(folder), base, { traces: false })
    assert.equal(status, name === 'clustermgmt.copy-data' ? 'SUCCEEDED' : 'FAILED')
    if (stays[name] === undefined) assert.deepEqual(left, [])
    else assert.notDeepEqual(left, [], 'nothing remains: the exception is not needed')
    rmSync(folder, { recursive: true })
  })
}

/** The last step that may turn the task back. */
function lastThatMayFail({ steps, pointOfNoReturn }: TaskDefinition<any, any>): string | undefined {
  const border = steps.findIndex(({ name }) => name === pointOfNoReturn)
  return (border < 0 ? steps.at(-1) : steps[border - 1])?.name
}
