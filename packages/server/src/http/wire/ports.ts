/** The ports of the service and of worlds, and the Unix socket for standbys. */
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { reasonOf, StartRefusal } from '../../core/start-refusal.ts'
import type { HttpServers } from './http-servers.ts'
import { receive } from './proxy-protocol.ts'
import type { WorldPorts } from './world-ports.ts'

/** Incomplete answers are cut off after this time, because they may be endless. */
const drainMillis = 3000
const idleCheckMillis = 20

export class Ports {
  readonly #host: string
  readonly #servers: HttpServers
  readonly #worldPorts: WorldPorts
  readonly #main: Server
  readonly #ofWorlds = new Map<number, Server>()
  readonly #sockets = new Set<Socket>()
  #forStandbys: Server | undefined
  /** Each standby keeps one open, to see the end of this process. */
  readonly #ofStandbys = new Set<Socket>()

  constructor(host: string, servers: HttpServers, worldPorts: WorldPorts) {
    this.#host = host
    this.#servers = servers
    this.#worldPorts = worldPorts
    this.#main = this.#track(servers.hasTls ? this.#createServer() : servers.plain)
  }

  /** @param port a server hands over its open port, and gets no further connections */
  async listen(port: number | Server): Promise<number> {
    const opened = await this.#open(this.#main, port)
    this.#servers.start()
    return opened
  }

  /** Replaces a killed process's socket: needs the lock of the folder. @throws StartRefusal when the file system has no sockets */
  async listenForStandbys(path: string): Promise<void> {
    rmSync(path, { force: true })
    const receivers = {
      forwarded: (socket: Socket) => this.#servers.accept(socket),
      own: (socket: Socket) => void this.#ofStandbys.add(socket.once('close', () => this.#ofStandbys.delete(socket))),
    }
    this.#forStandbys = this.#track(createServer((socket) => receive(socket, receivers)))
    const mask = process.umask(0o177)
    try {
      this.#forStandbys.listen(path)
    } finally {
      process.umask(mask)
    }
    await once(this.#forStandbys, 'listening').catch((error: unknown) => {
      throw new StartRefusal(`The socket ${path} cannot be made (${reasonOf(error)}): leave out --standby.`)
    })
  }

  async listenFor(world: string, port: number): Promise<number> {
    const server = this.#track(this.#createServer())
    const opened = await this.#open(server, port)
    this.#ofWorlds.set(opened, server)
    this.#worldPorts.add(opened, world)
    return opened
  }

  /** Destroys connections: the next world must not answer them. Pending responses (perhaps to the DELETE) end first. */
  unlisten(port: number): void {
    this.#ofWorlds.get(port)?.close()
    this.#ofWorlds.delete(port)
    this.#worldPorts.delete(port)
    const pending = new Set<string>()
    for (const response of this.#worldPorts.pendingOn(port)) {
      const { socket } = response.req
      pending.add(peerOf(socket))
      response.shouldKeepAlive = false
      response.once('close', () => socket.destroySoon())
    }
    const sockets = [...this.#sockets].filter((socket) => socket.localPort === port)
    for (const socket of sockets) if (!pending.has(peerOf(socket))) socket.destroy()
    setTimeout(() => destroyAll(sockets), drainMillis).unref()
  }

  async close(): Promise<void> {
    const ports = [this.#main, this.#forStandbys, ...this.#ofWorlds.values()].filter((each) => each !== undefined)
    const closed = Promise.all(ports.map((each) => new Promise<void>((resolve) => each.close(() => resolve()))))
    this.#servers.close()
    destroyAll(this.#ofStandbys)
    const forced = setTimeout(() => destroyAll(this.#sockets), drainMillis)
    const idle = setInterval(() => this.#servers.closeIdleConnections(), idleCheckMillis)
    await closed
    clearTimeout(forced)
    clearInterval(idle)
  }

  #createServer(): Server {
    return createServer({ noDelay: true }, (socket) => this.#servers.accept(socket))
  }

  #track(server: Server): Server {
    return server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  #open(server: Server, port: number | Server): Promise<number> {
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.once('listening', () => {
        server.off('error', reject)
        resolve(portOf(server))
      })
      if (typeof port === 'number') server.listen(port, this.#host)
      else server.listen(port)
    })
  }
}

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a server listens on no TCP port')
  return address.port
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`

function destroyAll(sockets: Iterable<Socket>): void {
  for (const socket of sockets) socket.destroy()
}
