/**
 * Killed at random moments while many clients create and delete: nothing acknowledged is lost, nothing is done twice, and
 * whoever repeats a request with its id gets the same entity. Source: behaviour conventions 6, 18.3, 25.11.
 */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { drawsFrom } from '../../src/core/ids/draws.ts'
import { creations } from '../support/creations.ts'
import { type HttpResult, http } from '../support/http.ts'
import { checkInvariants } from '../support/invariants.ts'
import { beginning, type CallResult, startApp, type TestApp } from '../support/start-app.ts'
import type { Asked } from './asked.ts'
import { sendOver } from './killing.ts'
import { Victims } from './victims.ts'

const clients = 8
const kills = 5
/** Real milliseconds between a start and the kill. */
const lifetime = { least: 300, most: 1200 }

const kinds = {
  category: { path: '/platform/v4.3/config/categories', body: (name: string) => ({ key: name, value: 'v' }) },
  container: creations['clustermgmt.createStorageContainer']!,
  group: creations['volumes.createVolumeGroup']!,
  subnet: creations['networking.createSubnet']!,
  vm: creations['vmm.createVm']!,
} as const
type Kind = keyof typeof kinds

/** What a client asked for, once; it goes on asking until it knows. */
interface Made {
  readonly kind: Kind
  readonly asked: Asked
  readonly requestId: string
  /** Id of the entity, or of the task that makes it. */
  answered?: string
  removal?: Removal
}
interface Removal {
  readonly asked: Asked
  readonly requestId: string
  isAnswered: boolean
}

test(`${kills} kills under load lose no acknowledged change and repeat none`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-load-'))
  const victims = new Victims()
  const draw = drawsFrom('restart under load')
  const all: Made[] = []
  try {
    await (await startApp({ folder })).close()
    for (let kill = 0; kill < kills; kill++) {
      const victim = await victims.start({ folder, startAt: beginning })
      const life = lifetime.least + draw() * (lifetime.most - lifetime.least)
      const killer = setTimeout(() => victim.kill(), life)
      await Promise.all(Array.from({ length: clients }, () => work(victim.url, all, draw)))
      clearTimeout(killer)
      assert.equal(await victim.dead, 'SIGKILL')
    }
    const app = await startApp({ folder })
    try {
      await app.runner.idle()
      await checkInvariants(app)
      await everythingOnce(app, all)
      await checkInvariants(app)
    } finally {
      await app.close()
    }
    assert.ok(all.length > kills * clients, `too little happened: ${all.length} requests`)
  } finally {
    await victims.end()
    rmSync(folder, { recursive: true, force: true })
  }
})

/** One client, until the service is gone. */
async function work(url: string, all: Made[], draw: () => number): Promise<void> {
  const mine: Made[] = []
  for (;;) {
    try {
      const finished = draw() < 0.4 ? mine.find((one) => one.removal === undefined) : undefined
      if (finished !== undefined) await remove(url, finished)
      else {
        const one = begin(draw)
        all.push(one)
        one.answered = answerOf(await sendOver(url, one.asked, one.requestId))
        mine.push(one)
      }
    } catch (error) {
      // The connection broke with the process; anything else is a fault of the service.
      if (error instanceof assert.AssertionError) throw error
      return
    }
  }
}

async function remove(url: string, one: Made): Promise<void> {
  const extId = one.kind === 'category' ? one.answered : await entityOf(url, one.answered as string)
  const path = `${one.asked.path}/${extId}`
  const { headers } = await get(url, path)
  const ifMatch = headers['etag'] as string
  one.removal = {
    asked: { method: 'DELETE', path, ...(one.kind === 'vm' ? { ifMatch } : {}) },
    requestId: randomUUID(),
    isAnswered: false,
  }
  const answer = await sendOver(url, one.removal.asked, one.removal.requestId)
  assert.ok(answer.status === 204 || answer.status === 202, answer.text)
  one.removal.isAnswered = true
}

/** Follows the task to its end. */
async function entityOf(url: string, task: string): Promise<string> {
  for (;;) {
    const { status, entitiesAffected } = (await get(url, `/platform/v4.3/config/tasks/${task}`)).json.data
    if (status === 'SUCCEEDED') return entitiesAffected[0].extId
    assert.ok(status === 'QUEUED' || status === 'RUNNING', status)
  }
}
const get = (url: string, path: string): Promise<HttpResult> => http(url, `/api${path}`)

function begin(draw: () => number): Made {
  const names = Object.keys(kinds) as Kind[]
  const kind = names[Math.floor(draw() * names.length)] as Kind
  const creation: { path: string; body: (name: string) => object; clusterId?: string } = kinds[kind]
  const { path, body, clusterId } = creation
  const asked = {
    method: 'POST',
    path,
    body: body(`load-${randomUUID()}`),
    ...(clusterId === undefined ? {} : { clusterId }),
  }
  return { kind, asked, requestId: randomUUID() }
}

function answerOf(answer: HttpResult): string {
  assert.ok(answer.status === 201 || answer.status === 202, answer.text)
  return answer.json.data.extId
}

/** Every request, sent again with its id, is answered as it was; each name is there once, or gone where it was removed. */
async function everythingOnce(app: TestApp, all: readonly Made[]): Promise<void> {
  for (const one of all) {
    const { method, path, ...options } = one.asked
    const again = await app.call(method, path, { ...options, requestId: one.requestId })
    assert.ok(again.status === 201 || again.status === 202, JSON.stringify(again.errors))
    if (one.answered !== undefined) {
      assert.equal(again.replayed, true, 'an acknowledged request was lost')
      assert.equal(again.data.extId, one.answered)
    }
    one.answered = again.data.extId
    await succeeds(app, again)
    if (one.removal === undefined) continue
    const { asked, requestId, isAnswered } = one.removal
    const { method: verb, path: target, ...rest } = asked
    const removed = await app.call(verb, target, { ...rest, requestId })
    assert.ok(removed.status === 204 || removed.status === 202, JSON.stringify(removed.errors))
    if (isAnswered) assert.equal(removed.replayed, true, 'an acknowledged deletion was lost')
    await succeeds(app, removed)
  }
  for (const kind of Object.keys(kinds) as Kind[]) {
    const { path } = kinds[kind]
    const field = kind === 'category' ? 'key' : 'name'
    const expected = all
      .filter((one) => one.kind === kind && one.removal === undefined)
      .map((one) => (one.asked.body as Record<string, string>)[field])
    const found: string[] = []
    for (let page = 0; ; page++) {
      const { data } = await app.call('GET', `${path}?$page=${page}&$limit=100`)
      found.push(...data.map((entity: any) => entity[field]).filter((name: string) => name.startsWith('load-')))
      if (data.length < 100) break
    }
    assert.deepEqual(found.sort(), expected.sort(), `${kind}: each once`)
  }
}

async function succeeds(app: TestApp, answer: CallResult): Promise<void> {
  if (answer.status !== 202) return
  const task = await app.task(answer)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
}
