/**
 * Either side is killed at each step while two managers register each other, or part. When both are up again both have
 * each other, or neither has anything of it. The two go on from test to test: each brings them where it begins.
 * Source: behaviour platform.md 4; conventions 18.3.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { registerRemote } from '../../src/domains/platform/register-task.ts'
import { unregisterRemote } from '../../src/domains/platform/unregister.ts'
import {
  ended,
  freePort,
  hosts,
  idle,
  ownOf,
  Peers,
  type Running,
  register,
  type Side,
  tracesOf,
  unregister,
} from './peers.ts'

interface Moment {
  readonly step: string
  readonly phase: 'run' | 'record'
}
/** A step that does nothing outside is, before its record, where it was before its run. */
const momentsOf = (definition: { steps: readonly { name: string; run?: unknown }[] }): Moment[] =>
  definition.steps.flatMap(({ name, run }) =>
    (run === undefined ? (['run'] as const) : (['run', 'record'] as const)).map((phase) => ({ step: name, phase })),
  )

let parent: string
let peers: Peers
type Pair = Record<Side, Running>
/** From a test that passed; where one did not, the next one begins with a new pair. */
let left: Pair | undefined
before(async () => {
  parent = mkdtempSync(join(tmpdir(), 'hyperplane-killed-peers-'))
  peers = new Peers(parent, await freePort())
  await peers.seed()
})
afterEach(async () => {
  if (left === undefined) await peers.endAll()
})
after(async () => {
  await peers.close()
  rmSync(parent, { recursive: true, force: true })
})

async function pair(): Promise<Pair> {
  const found = left
  left = undefined
  if (found !== undefined) return found
  const [near, far] = await Promise.all([peers.start('near'), peers.start('far')])
  return { near, far }
}

const nothing = { registered: [], managers: [], accounts: [] }
const bothIdle = (sides: Pair) => Promise.all([idle(sides.near.client), idle(sides.far.client)])
const tracesOfBoth = (sides: Pair) => Promise.all([tracesOf(sides.near.client), tracesOf(sides.far.client)])
const haveEachOther = async ({ near }: Pair): Promise<boolean> => (await tracesOf(near.client)).registered.length > 0

async function parted(): Promise<Pair> {
  const sides = await pair()
  if (await haveEachOther(sides)) {
    await unregister(sides.near.client, (await ownOf(sides.far.client)).extId)
    await bothIdle(sides)
  }
  return sides
}

async function joined(): Promise<Pair> {
  const sides = await pair()
  if (!(await haveEachOther(sides))) {
    assert.equal((await ended(sides.near.client, await register(sides.near.client, hosts.far))).status, 'SUCCEEDED')
    await idle(sides.far.client)
  }
  return sides
}

/** Waits until `victim` has ended itself, and brings it back. */
async function revive(sides: Pair, victim: Side): Promise<void> {
  const { dead, folder } = sides[victim]
  const end = await Promise.race([dead, new Promise((go) => setTimeout(go, 30_000, 'nothing').unref())])
  assert.equal(end, 'SIGKILL', 'the moment did not come')
  sides[victim] = await peers.start(victim, { folder })
}

for (const victim of ['near', 'far'] as const) {
  for (const moment of momentsOf(registerRemote)) {
    const when = `${victim} is killed before the ${moment.phase} of "${moment.step}"`
    test(`register, ${when}: both managers are registered, or neither is`, async () => {
      const sides = await parted()
      await sides[victim].endAt({ definition: registerRemote.name, ...moment })
      const requestId = randomUUID()
      const [nearOwn, farOwn] = await Promise.all([ownOf(sides.near.client), ownOf(sides.far.client)])
      // The answer may be lost with its server; the request is known by its id.
      await register(sides.near.client, hosts.far, { requestId }).catch(() => undefined)
      await revive(sides, victim)
      const task = await ended(sides.near.client, await register(sides.near.client, hosts.far, { requestId }))
      await bothIdle(sides)
      const traces = await tracesOfBoth(sides)
      const expected = [farOwn, nearOwn].map(({ extId, name }) =>
        task.status === 'SUCCEEDED'
          ? { registered: [name], managers: [name], accounts: [`manager-${extId}`] }
          : nothing,
      )
      assert.deepEqual(traces, expected, `${task.status} ${JSON.stringify(task.errorMessages)}`)
      // Whoever began it goes on where it was.
      if (victim === 'near') assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
      left = sides
    })
  }

  for (const moment of momentsOf(unregisterRemote)) {
    const when = `${victim} is killed before the ${moment.phase} of "${moment.step}"`
    test(`unregister, ${when}: neither manager is registered any more`, async () => {
      const sides = await joined()
      await sides[victim].endAt({ definition: unregisterRemote.name, ...moment })
      const remote = await ownOf(sides.far.client)
      await unregister(sides.near.client, remote.extId).catch(() => undefined)
      await revive(sides, victim)
      await bothIdle(sides)
      assert.deepEqual(await tracesOfBoth(sides), [nothing, nothing])
      left = sides
    })
  }
}
