import type { ConnectSyslog } from '../syslog.ts'
import { openStream } from './stream.ts'

/** RFC 6587 with octet counting, which takes lines with line feeds. */
export const connectTcp: ConnectSyslog = (receiver, events) => {
  const { socket, close } = openStream(receiver, events, () => undefined)
  return {
    window: 64,
    send(line, done) {
      const bytes = Buffer.from(line)
      socket.write(Buffer.concat([Buffer.from(`${bytes.byteLength} `), bytes]), (error) => {
        if (error === undefined || error === null) done()
      })
    },
    close,
  }
}
