/** A real receiver of SNMP traps (Debian's snmptrapd) for a test, on free loopback ports for UDP and TCP. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export interface TrapUser {
  readonly name: string
  readonly authType: 'MD5' | 'SHA'
  readonly authKey: string
  readonly privType: 'DES' | 'AES'
  readonly privKey: string
  /** Engine id of the sender of traps. Informs use that of the receiver. */
  readonly engineId?: string
}

export interface PrintedTrap {
  /** As snmptrapd describes it: `TRAP2`, or `INFORM`. */
  readonly kind: string
  readonly values: Readonly<Record<string, string>>
}

export interface Snmptrapd {
  readonly udpPort: number
  readonly tcpPort: number
  readonly traps: readonly PrintedTrap[]
  /** Output beside traps, such as refusals. */
  readonly lines: readonly string[]
  /** @throws Error with its output, if fewer arrive within 10 s */
  arrived(count: number): Promise<readonly PrintedTrap[]>
  stop(): Promise<void>
}

const program = '/usr/sbin/snmptrapd'
const mark = '@@trap@@'

export async function startSnmptrapd(community: string, users: readonly TrapUser[]): Promise<Snmptrapd> {
  if (!existsSync(program))
    throw new Error('snmptrapd is not there: run packages/server/test/integration/install-snmptrapd.sh')
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-snmptrapd-'))
  writeFileSync(join(folder, 'snmptrapd.conf'), configuration(community, users))
  const [udpPort, tcpPort] = await freePorts()
  const child = spawn(
    program,
    [
      ...['-f', '-Lo', '-On', '-C', '-c', join(folder, 'snmptrapd.conf'), '-F', `${mark} %P ${mark} %v\n`],
      ...[`udp:127.0.0.1:${udpPort}`, `tcp:127.0.0.1:${tcpPort}`],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { SNMP_PERSISTENT_DIR: folder, MIBS: '' } },
  )
  const traps: PrintedTrap[] = []
  const lines: string[] = []
  const read = (line: string): void => {
    if (line.startsWith(mark)) traps.push(trapIn(line))
    else lines.push(line)
  }
  createInterface({ input: child.stdout }).on('line', read)
  createInterface({ input: child.stderr }).on('line', read)
  try {
    await until(child, lines, () => lines.some((line) => line.includes('NET-SNMP version')))
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
  return {
    ...{ udpPort, tcpPort, traps, lines },
    async arrived(count) {
      await until(child, lines, () => traps.length >= count)
      return traps
    },
    async stop() {
      const ended = once(child, 'exit')
      if (child.exitCode === null) child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const configuration = (community: string, users: readonly TrapUser[]): string =>
  [
    `authCommunity log ${community}`,
    ...users.map(({ name, authType, authKey, privType, privKey, engineId }) =>
      [
        ...['createUser', ...(engineId === undefined ? [] : ['-e', `0x${engineId}`])],
        ...[name, authType, `"${authKey}"`, privType, `"${privKey}"`],
      ].join(' '),
    ),
    ...users.map(({ name }) => `authUser log ${name} priv`),
    '',
  ].join('\n')

/** Variables are separated by tabs: `.1.3.6.1.2.1.1.3.0 = Timeticks: (1) 0:00:00.01`. */
function trapIn(line: string): PrintedTrap {
  const [, kind = '', variables = ''] = line.split(mark)
  const values = variables
    .trim()
    .split('\t')
    .map((variable) => variable.split(' = '))
  return {
    kind: kind.trim(),
    values: Object.fromEntries(
      values.map(([oid = '', value = '']) => [oid.slice(1), value.replace(/^\w+: /, '').replace(/^"(.*)"$/, '$1')]),
    ),
  }
}

async function until(child: ChildProcess, lines: readonly string[], isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 200 && child.exitCode === null; tries++) {
    if (isSo()) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`snmptrapd printed only:\n${lines.join('\n')}`)
}

async function freePorts(): Promise<readonly [udp: number, tcp: number]> {
  const servers = [createServer(), createServer()]
  for (const server of servers) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  for (const server of servers) server.close()
  return ports as [number, number]
}
