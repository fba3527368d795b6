/**
 * A task that fails at its last step leaves the world as it was, also when the service is killed at each step of undoing
 * it. Source: behaviour conventions 18.3, 25.26, 25.27.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { after, test } from 'node:test'
import { ApiError } from '../../src/core/api-error.ts'
import type { TaskDefinition } from '../../src/core/tasks/define-task.ts'
import { staysAfterUndo } from '../kinds/collected.ts'
import { checkInvariants, differences } from '../support/invariants.ts'
import { beginning } from '../support/start-app.ts'
import type { Asked } from './asked.ts'
import {
  acceptedStatus,
  anHourLater,
  copyOf,
  definitions,
  inOwnFolder,
  isOfTime,
  prepared,
  sendOver,
  taskAfter,
  taskOf,
  within,
} from './killing.ts'
import { outcomeOf, snapshotOf } from './snapshot.ts'
import type { StepMoment } from './victim.ts'
import { Victims } from './victims.ts'

const victims = new Victims()
after(() => victims.end())
inOwnFolder()

for (const [name, definition] of definitions) {
  const fail = lastThatMayFail(definition)
  if (fail === undefined) continue
  const stays = staysAfterUndo[name]
  const what = stays === undefined ? 'nothing of it remains' : `only what may remains: ${stays}`
  test(`${name}: failed at "${fail.step}", ${what}, also when it is killed at each step of the undo`, async (t) => {
    const { folder, asked, base } = await prepared(name)
    const left = await undone(copyOf(folder), asked, fail, base)
    // The clock changes the world for other reasons too: compare with the same task failing before it did anything.
    const before = isOfTime(asked) ? await undone(copyOf(folder), asked, firstMomentOf(definition), base) : []
    if (stays === undefined) assert.deepEqual(differences(left, before), [])
    else assert.notDeepEqual(left, [], 'nothing remains: the exception is not needed')
    await t.test('killed at each step of the undo', async () => {
      assert.deepEqual(differences(await undoneThoughKilled(folder, asked, fail, base), left), [])
    })
    rmSync(folder, { recursive: true })
  })
}

/** The last moment at which the task may turn back: as late as its steps allow. */
function lastThatMayFail({
  name: definition,
  steps,
  pointOfNoReturn,
}: TaskDefinition<any, any>): StepMoment | undefined {
  const border = steps.findIndex(({ name }) => name === pointOfNoReturn)
  const begun = border < 0 ? steps : steps.slice(0, border)
  // What its run did stays, so it fails before.
  const irreversible = begun.find((step) => step.isIrreversible)
  if (irreversible !== undefined) return { definition, step: irreversible.name, phase: 'run' }
  const last = begun.at(-1)
  return last === undefined ? undefined : { definition, step: last.name, phase: 'record' }
}

const firstMomentOf = ({ name: definition, steps }: TaskDefinition<any, any>): StepMoment => ({
  definition,
  step: steps[0]!.name,
  phase: 'run',
})

/** What the task that was asked for becomes; it may have ended before the one that fails began. */
const statusOf = (name: string): string => (startedByAnother.has(name) ? 'SUCCEEDED' : 'FAILED')
const startedByAnother = new Set(['clustermgmt.copy-data', 'platform.back-up-domain-manager', 'vmm.move-to-host'])

/** Time passes only for tasks that the clock begins: otherwise, nothing but the task changes the world. */
const startOf = (asked: Asked): number => (isOfTime(asked) ? anHourLater : beginning)

async function undone(
  folder: string,
  asked: Asked,
  fail: StepMoment,
  base: readonly string[],
): Promise<readonly string[]> {
  const beforeStep = (definition: string, step: string, phase: string): void => {
    if (definition === fail.definition && step === fail.step && phase === fail.phase)
      throw new ApiError('CONFLICT', { fault: 'A test made it fail.' })
  }
  await within(
    folder,
    async (app) => {
      const task = await taskAfter(app, { asked, requestId: randomUUID(), definition: fail.definition })
      assert.equal(task.status, statusOf(fail.definition))
      await checkInvariants(app)
    },
    { beforeStep, startAt: startOf(asked) },
  )
  return outcomeOf(snapshotOf(folder), base, { traces: false })
}

/** Each start goes on with the undo until the next moment; the last one ends it. */
async function undoneThoughKilled(
  folder: string,
  asked: Asked,
  fail: StepMoment,
  base: readonly string[],
): Promise<readonly string[]> {
  const requestId = randomUUID()
  const [first, ...rest] = momentsOfUndo(definitions.get(fail.definition)!, fail.step)
  const victim = await victims.start({ folder, startAt: startOf(asked), fail, kill: first! })
  const answer = await sendOver(victim.url, asked, requestId).catch(() => undefined)
  if (answer !== undefined) assert.equal(answer.status, acceptedStatus(asked), answer.text)
  await victim.mustDie()
  for (const kill of rest) await victims.mustDie({ folder, startAt: startOf(asked), fail, kill })
  await within(
    folder,
    async (app) => {
      await checkInvariants(app)
      assert.equal(
        (await taskOf(app, { asked, requestId, definition: fail.definition })).status,
        statusOf(fail.definition),
      )
    },
    { startAt: startOf(asked) },
  )
  return outcomeOf(snapshotOf(folder), base, { traces: false })
}

/** From the step that failed back to the first. Where nothing is undone outside, the moments before and after are one. */
function momentsOfUndo({ name: definition, steps }: TaskDefinition<any, any>, failed: string): StepMoment[] {
  const begun = steps.slice(0, steps.findIndex(({ name }) => name === failed) + 1)
  return begun.reverse().flatMap(({ name: step, undo }) =>
    (undo === undefined ? (['undo'] as const) : (['undo', 'unrecord'] as const)).map((phase) => ({
      definition,
      step,
      phase,
    })),
  )
}
