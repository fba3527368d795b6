import { connect, type Socket } from 'node:net'
import type { ConnectionEvents, SyslogReceiver } from '../syslog.ts'

export interface Stream {
  readonly socket: Socket
  close(): void
}

export const patienceMillis = 10_000

/** A TCP connection that ends by itself when it opens too late, breaks, or is closed by the receiver. */
export function openStream(
  { address, port }: SyslogReceiver,
  { onOpen, onEnd }: ConnectionEvents,
  onData: (bytes: Buffer) => void,
): Stream {
  const socket = connect({ host: address, port })
  const timer = setTimeout(() => socket.destroy(), patienceMillis)
  let hasEnded = false
  const end = (): void => {
    if (hasEnded) return
    hasEnded = true
    clearTimeout(timer)
    // Unsent messages are sent again over the next connection.
    socket.destroy()
    onEnd()
  }
  socket.unref()
  timer.unref()
  socket.setNoDelay(true)
  socket.setKeepAlive(true, patienceMillis)
  socket.on('connect', () => {
    clearTimeout(timer)
    onOpen()
  })
  socket.on('data', onData)
  socket.on('error', () => undefined)
  socket.on('end', end)
  socket.on('close', end)
  return {
    socket,
    close() {
      hasEnded = true
      clearTimeout(timer)
      socket.destroySoon()
    },
  }
}
