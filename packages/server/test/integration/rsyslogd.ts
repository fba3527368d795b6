/** A real syslog server (Debian's rsyslogd) for a test: on free loopback ports, over UDP, TCP and RELP. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const protocols = ['UDP', 'TCP', 'RELP'] as const
type Protocol = (typeof protocols)[number]

export interface Message {
  readonly protocol: Protocol
  readonly priority: string
  readonly time: string
  readonly hostName: string
  readonly appName: string
  readonly id: string
  readonly data: string
  readonly text: string
}

export class Rsyslogd {
  readonly ports: Readonly<Record<Protocol, number>>
  readonly #folder: string
  #child: ChildProcess | undefined

  private constructor(folder: string, ports: Rsyslogd['ports']) {
    this.#folder = folder
    this.ports = ports
    writeFileSync(join(folder, 'rsyslog.conf'), configuration(folder, ports))
  }

  static async start(): Promise<Rsyslogd> {
    if (!existsSync('/usr/sbin/rsyslogd'))
      throw new Error('rsyslogd is not there: run packages/server/test/integration/install-rsyslog.sh')
    const [udp, tcp, relp] = await freePorts(protocols.length)
    const server = new Rsyslogd(mkdtempSync(join(tmpdir(), 'hyperplane-rsyslogd-')), {
      UDP: udp as number,
      TCP: tcp as number,
      RELP: relp as number,
    })
    await server.open()
    return server
  }

  /** Parsed by rsyslogd, in the order of arrival. */
  messages(): readonly Message[] {
    const file = join(this.#folder, 'messages')
    if (!existsSync(file)) return []
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line) as Message)
  }

  async received(protocol: Protocol, pattern: RegExp): Promise<Message> {
    for (const end = performance.now() + 20_000; performance.now() < end; ) {
      const found = this.messages().find((one) => one.protocol === protocol && pattern.test(one.text + one.data))
      if (found !== undefined) return found
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    throw new Error(`no message over ${protocol} matches ${pattern}: ${JSON.stringify(this.messages())}`)
  }

  async open(): Promise<void> {
    const args = ['-n', '-f', join(this.#folder, 'rsyslog.conf'), '-i', join(this.#folder, 'pid')]
    this.#child = spawn('/usr/sbin/rsyslogd', args, { stdio: 'ignore' })
    for (const port of [this.ports.TCP, this.ports.RELP]) await listening(port)
  }

  async close(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined) return
    const exit = once(child, 'exit')
    child.kill('SIGTERM')
    await exit
  }

  async stop(): Promise<void> {
    await this.close()
    rmSync(this.#folder, { recursive: true })
  }
}

const configuration = (folder: string, ports: Rsyslogd['ports']): string => `
global(workDirectory="${folder}")
module(load="imudp")
module(load="imtcp")
module(load="imrelp")
template(name="parsed" type="list" option.jsonf="on") {
  property(outname="protocol" name="inputname" format="jsonf")
  property(outname="priority" name="pri" format="jsonf")
  property(outname="time" name="timereported" dateFormat="rfc3339" format="jsonf")
  property(outname="hostName" name="hostname" format="jsonf")
  property(outname="appName" name="app-name" format="jsonf")
  property(outname="id" name="msgid" format="jsonf")
  property(outname="data" name="structured-data" format="jsonf")
  property(outname="text" name="msg" format="jsonf")
}
ruleset(name="all") {
  action(type="omfile" file="${join(folder, 'messages')}" template="parsed" asyncWriting="off")
}
input(type="imudp" address="127.0.0.1" port="${ports.UDP}" name="UDP" ruleset="all")
input(type="imtcp" address="127.0.0.1" port="${ports.TCP}" name="TCP" ruleset="all")
input(type="imrelp" address="127.0.0.1" port="${ports.RELP}" name="RELP" ruleset="all")
`

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  const ports: number[] = []
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    ports.push((server.address() as { port: number }).port)
  }
  for (const server of servers) await new Promise((resolve) => server.close(resolve))
  return ports
}

async function listening(port: number): Promise<void> {
  for (const end = performance.now() + 10_000; performance.now() < end; ) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'close').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    if (isOpen) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`rsyslogd does not listen on port ${port}`)
}
