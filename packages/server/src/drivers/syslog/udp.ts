import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { ConnectSyslog } from '../syslog.ts'

/** RFC 5426: every receiver takes 2,048 octets. */
const maximumBytes = 2048

/** One datagram for each line. UDP does not report whether it arrives. */
export const connectUdp: ConnectSyslog = ({ address, port }, { onOpen }) => {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
  socket.unref()
  // Receivers that are away are reported here: lines over UDP get lost silently.
  socket.on('error', () => undefined)
  let isClosed = false
  let underWay = 0
  const closeWhenIdle = (): void => {
    if (isClosed && underWay === 0) socket.close()
  }
  queueMicrotask(onOpen)
  return {
    window: 64,
    send(line, done) {
      underWay++
      socket.send(Buffer.from(line).subarray(0, maximumBytes), port, address, () => {
        underWay--
        if (!isClosed) done()
        closeWhenIdle()
      })
    },
    close() {
      isClosed = true
      closeWhenIdle()
    },
  }
}
