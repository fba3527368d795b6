/**
 * After a walk nothing goes wrong any more, and time passes until all has come to rest. Then everything must hold that holds in
 * any world, and everything that somebody was told must be true. Source: behaviour conventions 6, 18.2, 18.3, 23 (invariants).
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { catalogue } from '../../../src/drivers/simulated/events/index.ts'
import { checkInvariants, differences } from '../../support/invariants.ts'
import type { TestApp } from '../../support/start-app.ts'
import { checkAnswers } from './answers.ts'
import { collections, type Model, type Sent } from './model.ts'
import { walkersPassword } from './request-parts.ts'
import type { Service, Told } from './service.ts'
import { again, inShort, isCreation, madeBy, rememberedMillis } from './walker.ts'

const world = '/control/v1/worlds/default'
/** Real milliseconds after which what has not ended never will. */
const patience = 30_000

/** @throws AssertionError with all that does not hold */
export async function checkAftermath(model: Model, service: Service): Promise<void> {
  const app = await service.settle()
  await must(service, 'DELETE', `${world}/faults`, 204)
  model.rules.clear()
  await endEvents(service)
  await everythingEnds(app, model)
  // Whoever was not told asks again, now that nothing stands in the way.
  for (const sent of [...model.sent])
    if (sent.told === undefined && sent.mayBeDone && isRemembered(model, sent)) await again(model, service, sent)
  await everythingEnds(app, model)

  await checkInvariants(app)
  await checkAnswers(app)
  const faults = [...(await untrue(model, service)), ...(await forgotten(model, service)), ...secretsIn(app)]
  for (const [name, before] of model.forks)
    for (const fault of differences(await service.insideOf(name), before)) faults.push(`${name} has changed: ${fault}`)
  const last = await service.insideOf('default')
  if (last.length > 0) await service.die(0)
  for (const fault of differences(await service.insideOf('default'), last)) faults.push(`after another start: ${fault}`)
  assert.deepEqual(faults, [])
}

async function must(service: Service, method: string, path: string, status: number, body?: object): Promise<Told> {
  const heard = await service.call(method, path, body === undefined ? {} : { body })
  assert.ok(heard !== 'nothing')
  assert.equal(heard.status, status, `${method} ${path}: ${heard.text}`)
  return heard
}

/** What is to come is called off, what lasts is ended by its counterpart. */
async function endEvents(service: Service): Promise<void> {
  const { data } = await must(service, 'GET', `${world}/events?$limit=100`, 200)
  for (const { extId, status, event, target } of data) {
    if (status === 'SCHEDULED') await must(service, 'DELETE', `${world}/events/${extId}`, 204)
    if (status !== 'LASTING') continue
    const type = catalogue[event.type as keyof typeof catalogue].until
    const { type: _, ...fields } = event
    // What it happened to may be gone, and the fault with it.
    const ended = await service.call('POST', `${world}/events`, { body: { event: endOf(type, fields, target.extId) } })
    assert.ok(ended !== 'nothing' && [201, 404].includes(ended.status), JSON.stringify([event, ended]))
  }
}

const howItWas = new Set([
  '$objectType',
  'afterUploads',
  'factor',
  'fault',
  'percent',
  'periodSeconds',
  'port',
  'state',
  'status',
  'uplink',
])

/** The counterpart, about the same. */
function endOf(type: string | undefined, fields: Readonly<Record<string, unknown>>, target: string): object {
  const about = Object.keys(fields).filter((name) => !howItWas.has(name))
  return { type, ...Object.fromEntries(about.map((name) => [name, target])) }
}

/** Time passes after the last task too: schedules then see its result, and rows that stay for a while are removed. */
async function everythingEnds(app: TestApp, model: Model): Promise<void> {
  const deadline = performance.now() + patience
  const isAtRest = (): boolean => app.runner.size() === 0 && model.waiting.size === 0
  for (;;) {
    const wasAtRest = isAtRest()
    await app.clock.advance(10 * 60_000)
    if (wasAtRest && isAtRest()) break
    if (performance.now() > deadline) {
      const { data } = await app.call('GET', `${collections.tasks}?$filter=completedTime eq null&$limit=100`)
      assert.fail(`never ends: ${app.runner.size()} tasks, ${model.waiting.size} requests: ${JSON.stringify(data)}`)
    }
    // What failed is tried again after some real time.
    if (app.runner.size() > 0) await new Promise((resolve) => setTimeout(resolve, 20))
  }
  model.time = app.clock.now()
}

const reverting = '/$actions/revert'

const isRemembered = (model: Model, { at }: Sent): boolean => model.time - at < rememberedMillis

interface Fate {
  isThere: boolean
  /** Path of what it goes with, where that is no part of its own. */
  readonly goesWith?: string
  readonly shows: Record<string, unknown>
}

/** Acknowledged, and not so; or refused, and so all the same. */
async function untrue(model: Model, service: Service): Promise<string[]> {
  const fates = new Map<string, Fate>()
  const faults: string[] = []
  for (const sent of model.sent) {
    const { asked } = sent
    if (sent.told === undefined) {
      // Whether it was done nobody knows any more.
      if (sent.mayBeDone) fates.delete(asked.path)
      continue
    }
    const task = sent.told.status === 202 ? await taskOf(service, sent.told) : undefined
    if (task !== undefined && brokenOff(task)) faults.push(`${inShort(asked, sent.told)}: ${JSON.stringify(task)}`)
    const isDone = task === undefined || task.status === 'SUCCEEDED'
    const extId = task === undefined ? sent.told.data?.extId : madeBy(asked, task)
    const { name, displayName, description, vpcExtId } = (asked.body ?? {}) as Record<string, unknown>
    const given = Object.entries({ name, displayName, description }).filter(([, value]) => value !== undefined)
    if (isCreation(asked))
      fates.set(`${asked.path}/${extId}`, {
        isThere: isDone,
        shows: Object.fromEntries(given),
        ...(vpcExtId === undefined ? {} : { goesWith: `${collections.vpcs}/${vpcExtId}/` }),
      })
    else if (asked.method === 'DELETE' && isDone) fates.set(asked.path, { isThere: false, shows: {} })
    else if (asked.method === 'PUT' && isDone) {
      const fate = fates.get(asked.path) ?? { isThere: true, shows: {} }
      Object.assign(fate.shows, Object.fromEntries(given))
      fates.set(asked.path, fate)
    } else if (asked.path.endsWith(reverting) && isDone) {
      // It has the fields of the recovery point again.
      const path = asked.path.slice(0, -reverting.length)
      fates.set(path, { isThere: true, shows: {} })
    } else if (asked.path.endsWith('/$actions/add-disk') && isDone) {
      // A disk that is added again has the id that it had before its removal.
      for (const path of fates.keys()) if (path.includes('/config/disks/')) fates.delete(path)
    }
  }
  const gone = [...fates].flatMap(([path, { isThere }]) => (isThere ? [] : `${path}/`))
  for (const [path, { isThere, shows, goesWith }] of fates) {
    // It went with what it was a part of.
    if (gone.some((whole) => path.startsWith(whole) || whole === goesWith)) continue
    const found = await service.call('GET', path)
    if (found === 'nothing') continue
    if (found.status !== (isThere ? 200 : 404)) faults.push(`${path} is answered ${found.status}`)
    for (const [field, value] of Object.entries(isThere ? shows : {}))
      if (found.data?.[field] !== value)
        faults.push(
          `${path} shows the ${field} ${JSON.stringify(found.data?.[field])} instead of ${JSON.stringify(value)}`,
        )
  }
  return faults
}

async function taskOf(service: Service, { data }: Told): Promise<any> {
  return (await must(service, 'GET', `${collections.tasks}/${data.extId}`, 200)).data
}

/** For no reason that anybody foresaw. */
const brokenOff = ({ errorMessages = [] }: any): boolean => errorMessages.some(({ code }: any) => code === 'PLAT-10500')

/** Who asks again with the same id is told the same. */
async function forgotten(model: Model, service: Service): Promise<string[]> {
  const faults: string[] = []
  for (const sent of [...model.sent]) {
    if (sent.told === undefined || !isRemembered(model, sent)) continue
    const first = sent.told
    const heard = await again(model, service, sent)
    if (heard === 'nothing') continue
    const isSame = heard.replayed === true && heard.status === first.status
    if (!isSame || JSON.stringify(heard.data) !== JSON.stringify(first.data))
      faults.push(
        `asked again, ${inShort(sent.asked, first)} is answered ${heard.status} ${JSON.stringify(heard.data)}`,
      )
  }
  return faults
}

/** A password in what is kept. */
function secretsIn(app: TestApp): string[] {
  const files = ['world.sqlite', 'world.sqlite-wal', 'control.sqlite'].map((name) => join(app.folder, name))
  return files.flatMap((file) => {
    let bytes: Buffer
    try {
      bytes = readFileSync(file)
    } catch {
      return []
    }
    return bytes.includes(walkersPassword) ? `${file} holds a password` : []
  })
}
