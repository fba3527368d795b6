import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export class WorldPorts {
  readonly #worldOfPort = new Map<number, string>()
  /** A connection belongs to its world until it ends, even if its port is closed or given to another world. */
  readonly #worldOfSocket = new WeakMap<Socket, string>()
  readonly #pending = new Set<ServerResponse>()

  add(port: number, world: string): void {
    this.#worldOfPort.set(port, world)
  }

  delete(port: number): void {
    this.#worldOfPort.delete(port)
  }

  /** Call when a request arrives: a broken socket has no local port any more. */
  note(response: ServerResponse): void {
    if (this.noteSocket(response.req.socket) === undefined) return
    this.#pending.add(response)
    response.once('close', () => this.#pending.delete(response))
  }

  noteSocket(socket: Socket): string | undefined {
    if (this.#worldOfPort.size === 0) return undefined
    const world = this.#worldOfSocket.get(socket) ?? this.#worldOfPort.get(socket.localPort ?? 0)
    if (world !== undefined) this.#worldOfSocket.set(socket, world)
    return world
  }

  worldOf(socket: Socket): string | undefined {
    return this.#worldOfSocket.get(socket)
  }

  pendingOn(port: number): readonly ServerResponse[] {
    return [...this.#pending].filter(({ req }) => req.socket.localPort === port)
  }
}
