/**
 * Random walks: sequences of requests, faults, events below the interface, moves of the clock, kills, forks and resets. Whatever
 * they are, nothing breaks that must hold. A walk that fails is made shorter, and printed with what makes it come again.
 * Source: behaviour conventions 23; networking.md 5 (50).
 *
 * HYPERPLANE_WALKS: how many (25). HYPERPLANE_WALK_STEPS: how long they may be (60, which is 30 on average).
 * HYPERPLANE_WALK_SECONDS: no walk begins after these (300), also none that is shorter than one that failed.
 * HYPERPLANE_WALK_SEED, HYPERPLANE_WALK_PATH, HYPERPLANE_WALK_REPLAY: those of a failure, with --test-name-pattern for its test.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { walkEntities } from '../kinds/collected.ts'
import { startQuietDemo } from '../support/events.ts'
import { Victims } from './victims.ts'
import { checkAftermath } from './walks/aftermath.ts'
import { Model } from './walks/model.ts'
import { type Service, ServiceInProcess, ServiceOfItsOwn } from './walks/service.ts'
import type { Step } from './walks/steps.ts'
import { soon } from './walks/walker.ts'
import { walks, walksOverSockets } from './walks/walks.ts'

const { env } = process
const steps = Number(env['HYPERPLANE_WALK_STEPS'] ?? 60)
const count = Number(env['HYPERPLANE_WALKS'] ?? 25)
const replayPath = env['HYPERPLANE_WALK_REPLAY']

/** Each run of the suite walks elsewhere. */
const parameters = (numRuns: number): fc.Parameters<unknown> => ({
  numRuns,
  seed: Number(env['HYPERPLANE_WALK_SEED'] ?? Date.now() % 2 ** 31),
  ...(env['HYPERPLANE_WALK_PATH'] === undefined ? {} : { path: env['HYPERPLANE_WALK_PATH'], endOnFailure: true }),
  // What is short enough by then is shown.
  interruptAfterTimeLimit: Number(env['HYPERPLANE_WALK_SECONDS'] ?? 300) * 1000,
})

let parent: string
let seeded: string
const victims = new Victims()
before(async () => {
  parent = mkdtempSync(join(tmpdir(), 'hyperplane-walks-'))
  seeded = join(parent, 'seeded')
  const app = await startQuietDemo({ folder: seeded })
  await app.close()
})
after(async () => {
  await victims.end()
  rmSync(parent, { recursive: true, force: true })
})

/** What one test has walked. */
class Journey {
  #walks = 0
  #steps = 0

  async walk(start: () => Promise<Service>, commands: Iterable<Step>): Promise<void> {
    const model = new Model(walkEntities)
    const service = await start()
    try {
      await fc.asyncModelRun(() => ({ model, real: service }), commands)
      await checkAftermath(model, service)
    } finally {
      await soon('the end of a walk', service.end())
    }
    this.#walks++
    for (const _ of commands) this.#steps++
  }

  /** Whoever gives it little time sees that it did little. */
  tell(t: TestContext): void {
    t.diagnostic(`${this.#walks} walks of ${this.#steps} steps together`)
  }
}

const durations = fc.constantFrom('instant' as const, 'natural' as const)

test('random walks violate no invariant', async (t) => {
  const journey = new Journey()
  const property = fc.asyncProperty(durations, walks(steps, replayPath), (durations, commands) =>
    journey.walk(() => ServiceInProcess.start(seeded, parent, { durations }), commands),
  )
  await fc.assert(property, parameters(count))
  journey.tell(t)
})

test('random walks with kills violate no invariant', async (t) => {
  const journey = new Journey()
  const property = fc.asyncProperty(durations, walksOverSockets(steps, replayPath), (durations, commands) =>
    journey.walk(() => ServiceOfItsOwn.start(seeded, parent, victims, { durations }), commands),
  )
  await fc.assert(property, parameters(Math.ceil(count / 12)))
  journey.tell(t)
})
