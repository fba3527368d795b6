/** A process that waits for the lock of its data folder. Source: decision standbys-forward-connections. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/config.ts'
import { StartRefusal } from '../core/start-refusal.ts'
import { FolderInUse } from '../data-folder/folder.ts'
import { originAt } from '../http/origins.ts'
import { headerFor, ownConnectionHeader } from '../http/wire/proxy-protocol.ts'
import { refusalToListen } from './refusal-to-listen.ts'

const waiting = {
  retryMillis: 100,
  /** Afterwards waiting connections are closed, and the lock is tried ten times less often. */
  retries: 100,
  connections: 1024,
}
/** The active process ends an answer before it has read the whole request (`Lingering`). */
const lingerMillis = 30_000
const stopping = { idleMillis: 300, drainMillis: 3_000 } as const
/** On macOS, the shortest. */
const maximumSocketPath = 103

/** Differs with --http: a standby for other machines must never forward to a process without TLS. */
export const standbySocket = ({ data, http }: Config): string => join(data, http ? 'http.sock' : 'https.sock')

/** Forwards connections to the active process, which holds the lock, until it gets the lock itself. */
export class Standby {
  readonly #config: Config
  readonly #log: (line: string) => void
  readonly #path: string
  readonly #bounds: typeof waiting
  readonly #clients = new Set<Socket>()
  #server: Server | undefined
  #isWaiting = false
  #isStopping = false
  #waitingClients = 0
  #failures = 0

  /** @throws StartRefusal when the folder can have no socket */
  constructor(config: Config, log: (line: string) => void, bounds = waiting) {
    this.#config = config
    this.#log = log
    this.#path = standbySocket(config)
    this.#bounds = bounds
    if (process.platform === 'win32')
      throw new StartRefusal('--standby needs Unix sockets, which Node.js lacks on Windows: leave it out.')
    const excess = Buffer.byteLength(this.#path) - maximumSocketPath
    if (excess > 0)
      throw new StartRefusal(
        `The path of the data folder ${config.data} is ${excess} bytes too long for --standby: choose a shorter one with --data.`,
      )
  }

  get isWaiting(): boolean {
    return this.#isWaiting
  }

  /** For `App.listen`; undefined: this process was never a standby. */
  get server(): Server | undefined {
    return this.#server
  }

  /** Until no other process holds the lock. @throws StartRefusal; the errors of `open` */
  async open<T>(open: () => Promise<T>): Promise<T> {
    for (;;) {
      this.#isWaiting = false
      try {
        return await open()
      } catch (error) {
        if (!(error instanceof FolderInUse)) throw error
      }
      this.#isWaiting = true
      this.#server ??= await this.#listen()
      await this.#activeEnds()
      // The process ends.
      if (this.#isStopping) await new Promise(() => undefined)
    }
  }

  async close(): Promise<void> {
    this.#isStopping = true
    const server = this.#server
    if (server === undefined) return
    const closed = new Promise((resolve) => server.close(resolve))
    for (const client of this.#clients) client.setTimeout(stopping.idleMillis, () => client.destroy())
    await Promise.race([closed, sleep(stopping.drainMillis)])
  }

  async #listen(): Promise<Server> {
    const { host, port, http, data } = this.#config
    // Half-open, as HTTP is: the end of a request must not end its answer.
    const options = { allowHalfOpen: true, pauseOnConnect: true, noDelay: true }
    const server = createServer(options, (client) => void this.#forward(client)).listen(port, host)
    await once(server, 'listening').catch((error: unknown) => {
      throw refusalToListen(error, host, port)
    })
    const { port: opened } = server.address() as { readonly port: number }
    const url = originAt(http ? 'http' : 'https', host, opened)
    this.#log(`Standby of the process that holds ${data}: ${url}/api`)
    return server
  }

  /** Waits for the end of the active process; if it cannot be reached, only for a moment. */
  async #activeEnds(): Promise<void> {
    const active = await this.#connect()
    if (active !== undefined) {
      this.#failures = 0
      active.write(ownConnectionHeader)
      active.resume().once('end', () => active.destroy())
      await new Promise((resolve) => active.once('close', resolve))
      return
    }
    const { retries, retryMillis } = this.#bounds
    this.#failures++
    if (this.#failures === retries)
      this.#log(
        `The process that holds ${this.#config.data} has taken no connection for ${(retries * retryMillis) / 1000} s: if it is not starting, start every process with --standby, and all or none with --http.`,
      )
    await sleep(this.#failures < retries ? retryMillis : 10 * retryMillis)
  }

  async #forward(client: Socket): Promise<void> {
    client.on('error', () => client.destroy())
    this.#clients.add(client)
    client.once('close', () => this.#clients.delete(client))
    const header = headerFor(client)
    const active = await this.#reach()
    if (header === undefined || active === undefined || client.destroyed) {
      client.destroy()
      active?.destroy()
      return
    }
    active.write(header)
    client.pipe(active).pipe(client)
    active.once('end', () => client.setTimeout(lingerMillis, () => client.destroy()))
    active.once('close', () => client.destroySoon())
    client.once('close', () => active.destroy())
  }

  /** undefined: no process became active in time, or too many connections wait. */
  async #reach(): Promise<Socket | undefined> {
    const { retries, retryMillis, connections } = this.#bounds
    for (let left = retries; ; left--) {
      const active = await this.#connect()
      if (active !== undefined) return active
      if (left === 0 || this.#waitingClients >= connections) return undefined
      this.#waitingClients++
      await sleep(retryMillis)
      this.#waitingClients--
    }
  }

  #connect(): Promise<Socket | undefined> {
    const active = connect({ path: this.#path, allowHalfOpen: true })
    active.on('error', () => active.destroy())
    return new Promise((resolve) => {
      active.once('connect', () => resolve(active)).once('close', () => resolve(undefined))
    })
  }
}
