import { createSocket, type Socket } from 'node:dgram'
import type { AddressGuard } from '../core/access/address-guard.ts'
import { countMessage } from '../core/flow-counts.ts'
import type { FlowCollectors } from './flow-exporting.ts'

/** Opens a socket with the first message. */
export function createUdpCollectors(guard: AddressGuard): FlowCollectors {
  let socket: Socket | undefined
  let isClosed = false
  function opened(): Socket {
    if (socket !== undefined) return socket
    socket = createSocket('udp4')
    socket.unref()
    // Unreachable collectors are reported here: messages over UDP get lost silently.
    socket.on('error', () => undefined)
    return socket
  }
  return {
    refusalOf: (address) => guard.refusalOf(address),
    send({ address, port }, message) {
      if (isClosed || guard.refusalOf(address) !== undefined) return
      opened().send(message, port, address, countMessage)
    },
    close() {
      isClosed = true
      socket?.close()
      socket = undefined
    },
  }
}
