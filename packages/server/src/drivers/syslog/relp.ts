import type { ConnectSyslog } from '../syslog.ts'
import { openStream, patienceMillis } from './stream.ts'

const offers = 'relp_version=0\nrelp_software=hyperplane\ncommands=syslog'
/** Transaction numbers begin again after this one. */
const lastNumber = 999_999_999

/** A line is done when the receiver has acknowledged it. */
export const connectRelp: ConnectSyslog = (receiver, events) => {
  const waiting = new Map<number, () => void>()
  let number = 0
  let timer: NodeJS.Timeout | undefined
  const command = (name: string, data: string): number => {
    number = (number % lastNumber) + 1
    const bytes = Buffer.from(data)
    const head = `${number} ${name} ${bytes.byteLength}${bytes.byteLength === 0 ? '' : ' '}`
    stream.socket.write(Buffer.concat([Buffer.from(head), bytes, Buffer.from('\n')]))
    return number
  }
  /** A receiver that acknowledges nothing for so long is treated as disconnected. */
  const watch = (): void => {
    clearTimeout(timer)
    timer = waiting.size === 0 ? undefined : setTimeout(() => stream.socket.destroy(), patienceMillis).unref()
  }
  const expect = (sent: number, done: () => void): void => {
    waiting.set(sent, done)
    watch()
  }
  const onEnd = (): void => {
    clearTimeout(timer)
    waiting.clear()
    events.onEnd()
  }
  const read = createFrameReader((frame) => {
    const done = frame.command === 'rsp' ? waiting.get(frame.number) : undefined
    // Other commands, such as `serverclose`, announce the end; so does a refusal.
    if (done === undefined || !frame.data.startsWith('200')) stream.socket.destroy()
    else {
      waiting.delete(frame.number)
      watch()
      done()
    }
  })
  const onOpen = (): void => expect(command('open', offers), events.onOpen)
  const stream = openStream(receiver, { onOpen, onEnd }, (bytes) => {
    if (!read(bytes)) stream.socket.destroy()
  })
  return {
    window: 64,
    send: (line, done) => expect(command('syslog', line), done),
    close() {
      if (!stream.socket.connecting) command('close', '')
      clearTimeout(timer)
      stream.close()
    },
  }
}

interface Frame {
  readonly number: number
  readonly command: string
  readonly data: string
}

const maximumFrame = 65_536
const header = /^(\d{1,9}) ([a-z]{1,32}) (\d{1,9})([ \n])/

/** Collects frames from bytes. @returns false: the bytes are no RELP */
export function createFrameReader(onFrame: (frame: Frame) => void): (bytes: Buffer) => boolean {
  let rest = Buffer.alloc(0)
  return (bytes) => {
    rest = Buffer.concat([rest, bytes])
    for (;;) {
      const [head, number = '', command = '', length = '', end] = header.exec(rest.toString('latin1', 0, 60)) ?? []
      if (head === undefined) return rest.length < 60
      const size = Number(length)
      if (size > maximumFrame) return false
      // A frame without data ends right after its length.
      const frameBytes = head.length + (end === '\n' ? 0 : size + 1)
      if (rest.length < frameBytes) return true
      const data = end === '\n' ? '' : rest.toString('utf8', head.length, head.length + size)
      rest = rest.subarray(frameBytes)
      onFrame({ number: Number(number), command, data })
    }
  }
}
