/**
 * Kills the service at each step of each task, and looks at what the next start makes of it: what was acknowledged is
 * there, done once; what was not is done once when it is asked for again. Source: behaviour conventions 18.3, 25.26.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Task } from '@hyperplane/contract/platform/task'
import type { TaskDefinition } from '../../src/core/tasks/define-task.ts'
import type { TaskEntity } from '../../src/core/tasks/task-row.ts'
import { domains } from '../../src/domains/index.ts'
import { restartScenarios } from '../kinds/collected.ts'
import { type HttpResult, http } from '../support/http.ts'
import { checkInvariants, differences } from '../support/invariants.ts'
import { beginning, type CallResult, startApp, type TestApp, type TestSettings } from '../support/start-app.ts'
import type { Asked } from './asked.ts'
import { outcomeOf, snapshotOf } from './snapshot.ts'
import { Victims } from './victims.ts'

const all = Object.values(domains)
  .flatMap((kinds) => Object.values(kinds))
  .flatMap(({ tasks }) => tasks)

/** Those that are taken up again, of all domains, by name. */
export const definitions: ReadonlyMap<string, TaskDefinition<any, any>> = new Map(
  all.filter(({ endsWithProcess }) => endsWithProcess !== true).map((task) => [task.name, task]),
)

/** Those that are not. */
export const endingWithProcess: readonly TaskDefinition<any, any>[] = all.filter((task) => task.endsWithProcess)

/** Moments that differ: a step that does nothing outside is, before its record, where it was before its run. */
export const momentsOf = ({ steps }: TaskDefinition<any, any>): { step: string; phase: 'run' | 'record' }[] =>
  steps.flatMap(({ name, run }) =>
    (run === undefined ? (['run'] as const) : (['run', 'record'] as const)).map((phase) => ({ step: name, phase })),
  )

/** Guests that were started before have booted by then. */
export const anHourLater = beginning + 3600_000

let parent: string
let seeded: string
const victims = new Victims()

/** Tests of all definitions of a namespace. */
export function killAtEveryStep(namespace: string): void {
  inOwnFolder()
  for (const [name, definition] of definitions) {
    if (!name.startsWith(`${namespace}.`)) continue
    test(`${name}: killed at each step, it is done once after the next start`, async (t) => {
      const { folder, asked, base } = await prepared(name)
      const whole = await uninterrupted(folder, asked, name, base)
      for (const { step, phase } of momentsOf(definition)) {
        await t.test(`before the ${phase} of "${step}"`, () =>
          killed(folder, asked, { definition: name, step, phase }, base, whole),
        )
      }
      rmSync(folder, { recursive: true })
    })
  }
}

/** A world of its own for the tests of a file. */
export function inOwnFolder(): void {
  before(async () => {
    parent = mkdtempSync(join(tmpdir(), 'hyperplane-restart-'))
    seeded = join(parent, 'seeded')
    await (await startApp({ folder: seeded })).close()
  })
  after(async () => {
    await victims.end()
    rmSync(parent, { recursive: true, force: true })
  })
}

/** A folder with what the scenario of a definition needs, the request that starts it, and how the world is before it. */
export async function prepared(name: string): Promise<{ folder: string; asked: Asked; base: readonly string[] }> {
  const scenario = restartScenarios[name]
  assert.ok(
    scenario,
    `expected a scenario for ${name} in "restartScenarios" of a file of packages/server/test/kinds/${name.split('.')[0]}`,
  )
  const folder = copyOf(seeded)
  const prepare = async (app: TestApp): Promise<Asked> => {
    const asked = await scenario(app)
    await app.runner.idle()
    return asked
  }
  const asked = await within(folder, prepare, { startAt: beginning })
  return { folder, asked, base: snapshotOf(folder) }
}

export function copyOf(folder: string): string {
  const copy = mkdtempSync(join(parent, 'world-'))
  cpSync(folder, copy, { recursive: true })
  return copy
}

export async function within<T>(
  folder: string,
  work: (app: TestApp) => Promise<T>,
  settings: TestSettings = {},
): Promise<T> {
  const app = await startApp({ folder, startAt: anHourLater, ...settings })
  try {
    return await work(app)
  } finally {
    await app.close()
  }
}

/** The system starts the task itself when the request moves the clock. */
export const isOfTime = ({ path }: Asked): boolean => path.startsWith('/control/')
export const acceptedStatus = (asked: Asked): number => (isOfTime(asked) ? 200 : 202)

export interface Work {
  readonly asked: Asked
  readonly requestId: string
  /** The task that the request, or the time that it lets pass, begins. */
  readonly definition: string
}

/** The task of a request that is asked again; or the last of the definition that the system began by itself. */
export async function taskOf(
  app: TestApp,
  { asked, requestId, definition, first }: Work & { readonly first?: HttpResult | undefined },
): Promise<any> {
  if (isOfTime(asked)) {
    const tasks = (await app.store.find(Task, { newestFirst: true })) as readonly Partial<TaskEntity>[]
    const task = tasks.find(({ runner }) => runner?.definition === definition)
    return app.task(task?.extId as string)
  }
  const again = await send(app, asked, requestId)
  assert.equal(again.status, 202, JSON.stringify(again.errors))
  // A task's first step begins after its request was committed.
  assert.equal(again.replayed, true)
  if (first !== undefined) assert.equal(again.data.extId, first.json.data.extId)
  return app.task(again)
}

/** Sends a request for the first time. @returns its task when it has ended */
export async function taskAfter(app: TestApp, work: Work): Promise<any> {
  const answer = await send(app, work.asked, work.requestId)
  return isOfTime(work.asked) ? taskOf(app, work) : app.task(answer)
}

export const send = (app: TestApp, asked: Asked, requestId: string): Promise<CallResult> => {
  const { method, path, ...options } = asked
  return app.call(method, path, { ...options, requestId })
}

export const sendOver = (url: string, asked: Asked, requestId: string): Promise<HttpResult> =>
  http(url, isOfTime(asked) ? asked.path : `/api${asked.path}`, {
    method: asked.method,
    headers: {
      'SVC-Request-Id': requestId,
      ...(asked.ifMatch === undefined ? {} : { 'If-Match': asked.ifMatch }),
      ...(asked.clusterId === undefined ? {} : { 'X-Cluster-Id': asked.clusterId }),
    },
    ...(asked.body === undefined ? {} : { body: JSON.stringify(asked.body) }),
  })

/** What comes of the request when nothing stops it. */
async function uninterrupted(
  prepared: string,
  asked: Asked,
  definition: string,
  base: readonly string[],
): Promise<readonly string[]> {
  const folder = copyOf(prepared)
  await within(folder, async (app) => {
    const task = await taskAfter(app, { asked, requestId: randomUUID(), definition })
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    await checkInvariants(app)
  })
  const outcome = outcomeOf(snapshotOf(folder), base)
  rmSync(folder, { recursive: true })
  return outcome
}

async function killed(
  prepared: string,
  asked: Asked,
  kill: { definition: string; step: string; phase: 'run' | 'record' },
  base: readonly string[],
  whole: readonly string[],
): Promise<void> {
  const folder = copyOf(prepared)
  const requestId = randomUUID()
  const victim = await victims.start({ folder, startAt: anHourLater, kill })
  const answer = await sendOver(victim.url, asked, requestId).catch(() => undefined)
  if (answer !== undefined) assert.equal(answer.status, acceptedStatus(asked), answer.text)
  await victim.mustDie()

  await within(folder, async (app) => {
    await app.runner.idle()
    await checkInvariants(app)
    const task = await taskOf(app, { asked, requestId, definition: kill.definition, first: answer })
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  })
  const first = snapshotOf(folder)
  assert.deepEqual(differences(outcomeOf(first, base), whole), [])
  await within(folder, (app) => app.runner.idle())
  assert.deepEqual(differences(snapshotOf(folder), first), [], 'a second start changes nothing')
  rmSync(folder, { recursive: true })
}
