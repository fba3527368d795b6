/**
 * The service that a walk goes over: it answers, it comes to rest, and it dies at any moment and is there again on what it had
 * written. In this process a death is a copy of its folder as it lies there, which is what a killed process leaves: nothing that
 * happens later counts. As a process of its own it is killed for real.
 */
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Config } from '../../../src/config/config.ts'
import { type HttpResult, http } from '../../support/http.ts'
import { entitiesOf } from '../../support/seeds.ts'
import { beginning, type CallOptions, startApp, type TestApp } from '../../support/start-app.ts'
import type { Victim, Victims } from '../victims.ts'

export interface Told {
  readonly status: number
  readonly data: any
  readonly etag?: string
  readonly total?: number
  readonly replayed?: boolean
  /** What refusals say. */
  readonly text: string
}

/** `nothing`: the connection broke, so nobody knows what was done. */
export type Heard = Told | 'nothing'

export interface Service {
  call(method: string, path: string, options?: CallOptions): Promise<Heard>
  /** What was started has come to rest, as far as that takes no time. */
  rest(): Promise<void>
  /** Dies after so many turns, in the midst of what goes on, and is started again. */
  die(turns: number): Promise<void>
  /** What another world holds, as text; it has come to rest. Empty where nobody can look. */
  insideOf(world: string): Promise<readonly string[]>
  /** Goes on in this process, whose insides can be looked at. */
  settle(): Promise<TestApp>
  /** It is over; only what lies in the folder stays. */
  end(): Promise<void>
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export class ServiceInProcess implements Service {
  #app: TestApp
  readonly #parent: string
  readonly #config: Partial<Config>
  /** An app is dead as soon as its folder is copied, though it takes a while to close. */
  readonly #dead = new WeakSet<TestApp>()
  readonly #closing: Promise<void>[] = []

  private constructor(app: TestApp, parent: string, config: Partial<Config>) {
    this.#app = app
    this.#parent = parent
    this.#config = config
  }

  /** @param seeded a folder to begin from, which stays as it is */
  static async start(seeded: string, parent: string, config: Partial<Config>): Promise<ServiceInProcess> {
    return new ServiceInProcess(await open(copyOf(seeded, parent), config), parent, config)
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<Heard> {
    const app = this.#app
    try {
      const heard = await app.call(method, path, options)
      // A dead service tells nobody anything.
      if (heard.isCut || this.#dead.has(app)) return 'nothing'
      return { ...heard, text: JSON.stringify(heard.errors) }
    } catch (error) {
      if (this.#dead.has(app)) return 'nothing'
      throw error
    }
  }

  async rest(): Promise<void> {
    await this.#app.clock.settled()
  }

  async die(turns: number): Promise<void> {
    for (let count = 0; count < turns; count++) await turn()
    const copy = copyOf(this.#app.folder, this.#parent)
    this.#bury(this.#app)
    this.#app = await open(copy, this.#config)
  }

  async insideOf(world: string): Promise<readonly string[]> {
    const instance = await this.#app.worlds.get(world)?.instance()
    assert.ok(instance, world)
    await instance.clock.settled()
    return [...(await entitiesOf(instance))].flatMap(([kind, rows]) =>
      rows.map((row) => `${kind} ${JSON.stringify(row)}`),
    )
  }

  async settle(): Promise<TestApp> {
    return this.#app
  }

  async end(): Promise<void> {
    this.#bury(this.#app)
    await Promise.all(this.#closing)
  }

  #bury(app: TestApp): void {
    this.#dead.add(app)
    this.#closing.push(app.close().then(() => rmSync(app.folder, { recursive: true, force: true })))
  }
}

/** Killed for real, over sockets. */
export class ServiceOfItsOwn implements Service {
  #victim: Victim
  #url: string
  readonly #folder: string
  readonly #victims: Victims
  readonly #config: Partial<Config>
  #settled: TestApp | undefined

  private constructor(victim: Victim, folder: string, victims: Victims, config: Partial<Config>) {
    this.#victim = victim
    this.#url = victim.url
    this.#folder = folder
    this.#victims = victims
    this.#config = config
  }

  static async start(
    seeded: string,
    parent: string,
    victims: Victims,
    config: Partial<Config>,
  ): Promise<ServiceOfItsOwn> {
    const folder = copyOf(seeded, parent)
    const victim = await victims.start({ folder, startAt: beginning, config })
    return new ServiceOfItsOwn(victim, folder, victims, config)
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<Heard> {
    const place = path.startsWith('/control/') ? path : `/api${path}`
    const { body, ifMatch, requestId, clusterId } = options
    const answer = await http(this.#url, place, {
      method,
      headers: {
        ...(ifMatch === undefined ? {} : { 'If-Match': ifMatch }),
        ...(requestId === undefined ? {} : { 'SVC-Request-Id': requestId }),
        ...(clusterId === undefined ? {} : { 'X-Cluster-Id': clusterId }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch(() => undefined)
    return answer === undefined ? 'nothing' : toldOverHttp(answer, this.#url)
  }

  async insideOf(): Promise<readonly string[]> {
    return []
  }

  /** Over HTTP each call waits for that itself. */
  async rest(): Promise<void> {}

  async die(turns: number): Promise<void> {
    for (let count = 0; count < turns; count++) await turn()
    this.#victim.kill()
    assert.equal(await this.#victim.dead, 'SIGKILL')
    this.#victim = await this.#victims.start({ folder: this.#folder, startAt: beginning, config: this.#config })
    this.#url = this.#victim.url
  }

  async settle(): Promise<TestApp> {
    if (this.#settled === undefined) {
      this.#victim.kill()
      await this.#victim.dead
      this.#settled = await open(this.#folder, this.#config)
      this.#url = (await this.#settled.listen()).url
    }
    return this.#settled
  }

  async end(): Promise<void> {
    if (this.#settled === undefined) this.#victim.kill()
    await this.#victim.dead
    await this.#settled?.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

const open = (folder: string, config: Partial<Config>): Promise<TestApp> =>
  // What goes wrong on purpose is logged as what it would be.
  startApp({ folder, config, logLevel: 'silent', unchecked: 'a dead service stops anywhere' })

function toldOverHttp({ status, headers, text }: HttpResult, url: string): Told {
  const { etag } = headers
  // The port is another one after each start.
  const json = text.startsWith('{') ? JSON.parse(text.replaceAll(new URL(url).host, 'HOST')) : undefined
  const total = json?.metadata?.totalAvailableResults
  return {
    status,
    data: json?.data,
    ...(typeof etag === 'string' ? { etag } : {}),
    ...(total === undefined ? {} : { total }),
    ...(headers['idempotent-replayed'] === 'true' ? { replayed: true } : {}),
    text,
  }
}

/** A power failure leaves neither locks nor the memory that connections share; other threads write what is left out for them. */
const leftOut = /^(?:lock|journal\.sqlite.*|trial\.sqlite.*|.*-shm)$/

/** As it lies there now: this thread alone writes the stores, and between two turns of it nothing is half written. */
function copyOf(folder: string, parent: string): string {
  for (;;) {
    const copy = mkdtempSync(join(parent, 'walk-'))
    try {
      cpSync(folder, copy, { recursive: true, filter: (from) => !leftOut.test(basename(from)) })
      return copy
    } catch (error) {
      rmSync(copy, { recursive: true })
      // A file got its name, or went, while they were listed.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}
