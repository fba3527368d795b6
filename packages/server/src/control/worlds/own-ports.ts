/** Ports that belong to one world, beside the port of the service. A change is committed with the row of the world. */
import type { HttpServer } from '../../http/server.ts'

type Listener = Pick<HttpServer, 'listenFor' | 'unlisten'>

export interface OpenedPort {
  /** Absent: the world gets no port, or the service does not listen yet. */
  readonly port?: number
  commit(): void
  rollback(): void
}

export class OwnPorts {
  readonly #ports = new Map<string, number>()
  readonly #changed: (world: string) => void
  #server: Listener | undefined

  /** @param changed called with the name of each world whose port changed */
  constructor(changed: (world: string) => void) {
    this.#changed = changed
  }

  listening(server: Listener): void {
    this.#server = server
  }

  of(world: string): number | undefined {
    return this.#ports.get(world)
  }

  /** @param port 0: a free one; undefined: none. @throws the error of the system when the port is taken */
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

  close(world: string): void {
    const port = this.#ports.get(world)
    this.#ports.delete(world)
    if (port !== undefined) this.#server?.unlisten(port)
  }
}

const withPort = (port: number | undefined): Pick<OpenedPort, 'port'> => (port === undefined ? {} : { port })
