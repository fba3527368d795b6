/** SNMP V2c and V3 through the library `net-snmp`; see docs/decisions/2026-11-23-traps-through-net-snmp.md. */

import snmp, { type Session, type SessionOptions, type User } from 'net-snmp'
import type { pino } from 'pino'
import type { AddressGuard } from '../../core/access/address-guard.ts'
import { Semaphore } from '../../core/concurrency/semaphore.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { Clock } from '../../core/time/clock.ts'
import type { Notification, TrapReceiver, TrapSender, UserSecurity } from '../traps.ts'
import { provideDes } from './des.ts'
import { streamSockets } from './stream-socket.ts'

export interface TrapSettings {
  readonly guard: Pick<AddressGuard, 'refusalOf'>
  /** Receivers compare the time of an engine with their own. */
  readonly real: Pick<Clock, 'now'>
  readonly log: Pick<pino.Logger, 'warn'>
  readonly timeoutMilliseconds?: number
}

const timeoutMilliseconds = 5000
const repetitions = 3
const maximumConcurrent = 20
const maximumWaiting = 1000
const maximumKeys = 1000
const maximumTicks = 2 ** 32

/** Engines started once, in 2020: times continue across restarts, restores and copies, so receivers refuse nothing as too old. */
const engineBoots = 1
const engineStart = Date.UTC(2020, 0, 1)

provideDes()

export function createTrapSender(settings: TrapSettings): TrapSender {
  const { guard, real, log } = settings
  const open = new Set<Session>()
  const queues = new Map<string, { readonly semaphore: Semaphore; length: number }>()
  const closing = new AbortController()
  const engineTime = (): number => Math.floor((real.now() - engineStart) / 1000)

  async function deliver(receiver: TrapReceiver, notification: Notification): Promise<void> {
    const session = sessionOf(receiver, settings.timeoutMilliseconds ?? timeoutMilliseconds, engineTime)
    open.add(session)
    try {
      await sent(session, receiver, notification)
    } finally {
      if (open.delete(session)) session.close()
    }
  }

  async function enqueue(receiver: TrapReceiver, notification: Notification): Promise<void> {
    const refusal = guard.refusalOf(receiver.address)
    if (refusal !== undefined) throw new Error(refusal)
    const destination = `${receiver.protocol} ${receiver.address} ${receiver.port}`
    const queue = queues.get(destination) ?? { semaphore: new Semaphore(maximumConcurrent), length: 0 }
    if (queue.length >= maximumWaiting) throw new Error(`${queue.length} messages wait for it already`)
    queues.set(destination, queue)
    queue.length++
    try {
      await queue.semaphore.use(() => deliver(receiver, notification), closing.signal)
    } finally {
      queue.length--
      if (queue.length === 0) queues.delete(destination)
    }
  }

  return {
    refusalOf: (address) => guard.refusalOf(address),
    async send(receiver, notification) {
      try {
        await enqueue(receiver, notification)
      } catch (error) {
        const failure = lost(receiver, (error as Error).message)
        if (!closing.signal.aborted) log.warn({ oid: notification.oid }, failure.message)
        throw failure
      }
    },
    close() {
      closing.abort(new Error('the service stops'))
      for (const session of open) session.close()
      open.clear()
    },
  }
}

const lost = ({ address, port, isInform }: TrapReceiver, why: string): DriverError =>
  DriverError.final(`the ${isInform ? 'inform' : 'trap'} to ${address}:${port} is lost: ${why}`)

function sessionOf(
  { address, port, protocol, security }: TrapReceiver,
  timeout: number,
  engineTime: () => number,
): Session {
  const options: SessionOptions = {
    ...{ port, trapPort: port, timeout, retries: repetitions },
    transport: protocol.endsWith('6') ? 'udp6' : 'udp4',
    ...(protocol.startsWith('TCP') ? { dgramModule: streamSockets } : {}),
  }
  if (security.version === 'V2')
    return withoutThrowing(snmp.createSession(address, security.community, { ...options, version: snmp.Version2c }))
  forgetKeys()
  const engineID = Buffer.from(security.engineId, 'hex')
  const session = snmp.createV3Session(address, userOf(security), { ...options, engineID })
  return withoutThrowing(withEngineTime(session, engineTime))
}

/** The sender of a trap is its authority. The library states 0 as its time, which receivers refuse after 150 s. */
function withEngineTime(session: Session, engineTime: () => number): Session {
  const send = session.send.bind(session)
  session.send = (request, isTrap) => {
    const { msgSecurityParameters } = request.message
    if (isTrap === true && msgSecurityParameters !== undefined) {
      msgSecurityParameters.msgAuthoritativeEngineBoots = engineBoots
      msgSecurityParameters.msgAuthoritativeEngineTime = engineTime()
    }
    return send(request, isTrap)
  }
  return session
}

function withoutThrowing(session: Session): Session {
  // An answer that is no SNMP: the inform is repeated.
  session.on('error', () => undefined)
  // The library throws at a V3 message or a report within a V2 session, after it has forgotten the request.
  session.dgram.removeAllListeners('message').on('message', (bytes: Buffer) => {
    try {
      session.onMsg(bytes)
    } catch (error) {
      session.emit('refused', error)
    }
  })
  return session
}

const userOf = ({ username, authType, authKey, privType, privKey }: UserSecurity): User => ({
  name: username,
  authProtocol: authType === 'MD5' ? snmp.AuthProtocols.md5 : snmp.AuthProtocols.sha,
  authKey,
  ...(privType === undefined || privKey === undefined
    ? { level: snmp.SecurityLevel.authNoPriv }
    : {
        level: snmp.SecurityLevel.authPriv,
        privProtocol: privType === 'DES' ? snmp.PrivProtocols.des : snmp.PrivProtocols.aes,
        privKey,
      }),
})

/** The library keeps the key of every password and engine that it has met. */
function forgetKeys(): void {
  if (Object.keys(snmp.Authentication.authToKeyCache).length > maximumKeys) snmp.Authentication.authToKeyCache = {}
}

function sent(session: Session, { isInform }: TrapReceiver, { oid, upTime, values }: Notification): Promise<void> {
  const varbinds = values.map(({ oid, value }) => ({
    oid,
    type: typeof value === 'number' ? snmp.ObjectType.Integer : snmp.ObjectType.OctetString,
    value,
  }))
  // 0 would be replaced by the time of this process.
  const options = { upTime: Math.max(1, Math.floor(upTime) % maximumTicks) }
  return new Promise((resolve, reject) => {
    const done = (error: Error | null): void => (error === null || error === undefined ? resolve() : reject(error))
    session.on('refused', ({ message }: Error) => reject(new Error(`its answer cannot be processed: ${message}`)))
    if (isInform) session.inform(oid, varbinds, options, done)
    else session.trap(oid, varbinds, options, done)
  })
}
