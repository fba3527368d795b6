/**
 * Measures worlds: `big`, one with 1,000 VMs that is forked, reset and moved in time; `many`, a hundred in one process.
 * Each in a process of its own, so that nothing else fills its memory: `bench.ts` starts this file and reads what it
 * prints.
 */
import { execFileSync } from 'node:child_process'
import { type CallResult, startApp, type TestApp } from '../test/support/start-app.ts'
import { Connection, requestBytes } from './load.ts'

/** Milliseconds. */
export interface Times {
  readonly wall: number
  readonly processor: number
}

export interface BigWorld {
  readonly fork: Times
  readonly reset: Times
  /** 90 days on. */
  readonly advance: Times
  /** Times on the way at which something happened. */
  readonly moments: number
}

export interface ManyWorlds {
  readonly count: number
  /** All of them, one after another, with the filling of each. */
  readonly made: Times
  /** Of each, once nobody has called it for a while. */
  readonly idleBytes: number
  /** Medians of a GET by id over HTTPS. */
  readonly inOne: number
  readonly inDefault: number
}

const measures = { big: measureBig, many: measureMany }
const worlds = '/control/v1/worlds'
const runs = 9

export const bigWorld = (): BigWorld => apart('big')
export const manyWorlds = (): ManyWorlds => apart('many')

function apart<T>(what: keyof typeof measures): T {
  const flags = ['--disable-warning=ExperimentalWarning', '--expose-gc']
  const printed = execFileSync(process.execPath, [...flags, import.meta.filename, what], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse(printed)
}

async function measureBig(): Promise<BigWorld> {
  const app = await startApp({ durable: true, config: { seed: 'empty' } })
  try {
    // The backup target is on a cluster, because every run of a target in a bucket would take place during the
    // advance.
    const seed = 'extends: demo\nvms: 1000\n'
    done(await app.call('POST', worlds, { body: { name: 'big', seed } }))
    const fork = await medians(async () => {
      const times = await timed(() => app.call('POST', `${worlds}/big/$actions/fork`, { body: { name: 'fork' } }))
      done(await app.call('DELETE', `${worlds}/fork`))
      return times
    })
    const reset = await medians(() => timed(() => app.call('POST', `${worlds}/big/$actions/reset`)))
    let moments = 0
    const advance = await timed(async () => {
      const moved = await app.call('POST', `${worlds}/big/clock/$actions/advance`, { body: { duration: 'P90D' } })
      moments = moved.data?.moments
      return moved
    })
    return { fork, reset, advance, moments }
  } finally {
    await app.close()
  }
}

async function measureMany(): Promise<ManyWorlds> {
  const count = 100
  const measured = 50
  const app = await startApp({ durable: true, config: { seed: 'tiny', http: false } })
  try {
    const clock = { mode: 'real' }
    const make = (name: string) => app.call('POST', worlds, { body: { name, preset: 'tiny', clock } })
    // The first world is excluded, because it loads what all share.
    done(await make('first'))
    const before = residentAtRest(app)
    const made = { wall: 0, processor: 0 }
    let idleBytes = 0
    for (let number = 1; number <= count; number++) {
      const { wall, processor } = await timed(() => make(`world-${number}`))
      made.wall += wall
      made.processor += processor
      if (number === measured) idleBytes = (residentAtRest(app) - before) / measured
    }
    const { port } = new URL((await app.listen()).url)
    const connection = await Connection.open({ host: '127.0.0.1', port: Number(port) })
    const inOne = await getter(app, connection, `world-${count}`)
    const inDefault = await getter(app, connection, 'default')
    const times = { one: [] as number[], default: [] as number[] }
    // Alternating, so that both see the same load of the machine.
    for (let turn = 0; turn < 3000; turn++) {
      times.one.push(await inOne())
      times.default.push(await inDefault())
    }
    connection.close()
    return { count, made, idleBytes, inOne: median(times.one), inDefault: median(times.default) }
  } finally {
    await app.close()
  }
}

/** Reads one category of the world, and tells how long that took. */
async function getter(app: TestApp, connection: Connection, world: string): Promise<() => Promise<number>> {
  const categories = '/platform/v4.3/config/categories'
  const { data } = done(await app.call('POST', categories, { world, body: { key: 'bench', value: 'worlds' } }))
  const get = requestBytes('GET', `/api${categories}/${data.extId}`, app.config.adminPassword ?? '', undefined, {
    'X-World': world,
  })
  const read = async (): Promise<number> => {
    const began = performance.now()
    const { status } = await connection.send(get)
    if (status !== 200) throw new Error(`GET in ${world}: ${status}`)
    return performance.now() - began
  }
  for (let count = 0; count < 300; count++) await read()
  return read
}

/** Resident bytes after all worlds have been idle for a while. */
function residentAtRest(app: TestApp): number {
  // Worlds drop their caches at the second call without a request in between.
  for (const world of app.worlds.all()) {
    world.relaxUnlessUsed()
    world.relaxUnlessUsed()
  }
  for (let count = 0; count < 3; count++) globalThis.gc?.()
  return process.memoryUsage().rss
}

async function timed(work: () => Promise<CallResult>): Promise<Times> {
  const began = performance.now()
  const used = process.cpuUsage()
  done(await work())
  const { user, system } = process.cpuUsage(used)
  return { wall: performance.now() - began, processor: (user + system) / 1000 }
}

async function medians(work: () => Promise<Times>): Promise<Times> {
  await work()
  const times: Times[] = []
  for (let count = 0; count < runs; count++) times.push(await work())
  return { wall: median(times.map(({ wall }) => wall)), processor: median(times.map(({ processor }) => processor)) }
}

const median = (times: readonly number[]): number => [...times].sort((a, b) => a - b)[times.length >> 1] as number

function done(result: CallResult): CallResult {
  if (result.status >= 300) throw new Error(`${result.status} ${JSON.stringify(result.errors).slice(0, 500)}`)
  return result
}

if (import.meta.main) {
  const what = process.argv[2] as keyof typeof measures
  console.log(JSON.stringify(await measures[what]()))
}
