/**
 * Lines for one receiver, in order. The newest 1,000 wait while it is unreachable; then one line reports the losses, and lines that were
 * unfinished when a connection ended are sent again.
 */
import { syslogLines } from '../../core/syslog-counts.ts'
import type { ConnectSyslog, SyslogConnection, SyslogReceiver } from '../../drivers/syslog.ts'

interface Options {
  readonly receiver: SyslogReceiver
  readonly connect: ConnectSyslog
  readonly lossLine: (count: number) => string
  readonly maximum?: number
  readonly firstPauseMillis?: number
}

const longestPauseMillis = 30_000

export class LineQueue {
  readonly #options: Options
  readonly #maximum: number
  #underWay: string[] = []
  readonly #waiting: string[] = []
  #lost = 0
  #connection: SyslogConnection | undefined
  #isOpen = false
  #pauses = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: Options) {
    this.#options = options
    this.#maximum = options.maximum ?? 1000
  }

  get length(): number {
    return this.#underWay.length + this.#waiting.length
  }

  add(line: string): void {
    if (this.#isClosed) return
    this.#waiting.push(line)
    if (this.length > this.#maximum) this.#drop()
    this.#send()
  }

  /** Lines that still wait are lost. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#connection?.close()
    this.#count(this.#waiting.splice(0).length)
  }

  #drop(): void {
    this.#waiting.shift()
    this.#lost++
    this.#count(1)
  }

  #count(lost: number): void {
    syslogLines.lost += lost
  }

  #send(): void {
    if (this.#connection === undefined) this.#connect()
    const connection = this.#connection
    if (connection === undefined || !this.#isOpen) return
    if (this.#lost > 0 && this.#underWay.length < connection.window) {
      this.#waiting.unshift(this.#options.lossLine(this.#lost))
      this.#lost = 0
    }
    while (this.#underWay.length < connection.window) {
      const line = this.#waiting.shift()
      if (line === undefined) return
      this.#underWay.push(line)
      connection.send(line, () => this.#done(connection))
    }
  }

  #done(connection: SyslogConnection): void {
    if (connection !== this.#connection) return
    this.#underWay.shift()
    this.#pauses = 0
    syslogLines.sent++
    this.#send()
  }

  #connect(): void {
    if (this.#isClosed || this.#timer !== undefined) return
    const connection = this.#options.connect(this.#options.receiver, {
      onOpen: () => {
        this.#isOpen = true
        this.#send()
      },
      onEnd: () => this.#ended(connection),
    })
    this.#connection = connection
  }

  #ended(connection: SyslogConnection): void {
    if (connection !== this.#connection) return
    this.#connection = undefined
    this.#isOpen = false
    this.#waiting.unshift(...this.#underWay.splice(0))
    if (this.#isClosed) return
    const pause = Math.min((this.#options.firstPauseMillis ?? 1000) * 2 ** this.#pauses++, longestPauseMillis)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (this.length > 0 || this.#lost > 0) this.#send()
    }, pause)
    this.#timer.unref()
  }
}
