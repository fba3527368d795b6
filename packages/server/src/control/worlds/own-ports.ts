/** Ports of worlds' own, beside the one of all: a world changes from one to another, or has none, as its row is written. */
import type { HttpServer } from '../../http/server.ts'

type Listener = Pick<HttpServer, 'listenFor' | 'unlisten'>

/** A port that is open for a world, beside the one that it has until now. */
export interface OpenedPort {
  /** Absent: it is to have none, or nobody listens yet. */
  readonly port?: number
  /** It is the world's, and the one before is closed. */
  commit(): void
  /** It is closed, and the one before goes on. */
  rollback(): void
}

export class OwnPorts {
  readonly #ports = new Map<string, number>()
  readonly #changed: (world: string) => void
  #server: Listener | undefined

  /** @param changed hears of each world that has another port than before, or none */
  constructor(changed: (world: string) => void) {
    this.#changed = changed
  }

  /** From now on ports can be opened. */
  listening(server: Listener): void {
    this.#server = server
  }

  of(world: string): number | undefined {
    return this.#ports.get(world)
  }

  /** @param port 0: a free one; undefined: none. @throws what the system says of a port that is taken */
  async open(world: string, port: number | undefined): Promise<OpenedPort> {
    const server = this.#server
    const present = this.#ports.get(world)
    if (server === undefined || port === present) return { ...withPort(present), commit() {}, rollback() {} }
    const opened = port === undefined ? undefined : await server.listenFor(world.toLowerCase(), port)
    return {
      ...withPort(opened),
      commit: () => {
        const before = this.#ports.get(world)
        if (opened === undefined) this.#ports.delete(world)
        else this.#ports.set(world, opened)
        if (before !== undefined) server.unlisten(before)
        this.#changed(world)
      },
      rollback: () => {
        if (opened !== undefined) server.unlisten(opened)
      },
    }
  }

  /** Of a world that is removed. */
  close(world: string): void {
    const port = this.#ports.get(world)
    this.#ports.delete(world)
    if (port !== undefined) this.#server?.unlisten(port)
  }
}

const withPort = (port: number | undefined): Pick<OpenedPort, 'port'> => (port === undefined ? {} : { port })
