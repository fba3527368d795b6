/** One connection to one LDAP server, to a checked address and within one time limit. Source: behaviour iam.md 4. */
import { connect as connectPlain, isIP, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { Client } from 'ldapts'
import { type AddressGuard, AddressRefusal, lookupOf } from '../../core/access/address-guard.ts'
import { DirectoryError, tryMilliseconds } from '../directory.ts'
import { machineAuthorities } from '../machine-authorities.ts'
import { Answers, BadAnswer } from './answers.ts'
import { directoryErrorOf } from './faults.ts'

/** Loaded on first use: most installations have no directory. */
export const ldapts = () => import('ldapts')

/** @throws DirectoryError for every failure */
export async function withConnection<T>(
  url: string,
  guard: AddressGuard,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { host, port, isSecure } = ldapUrlParts(url)
  const end = new AbortController()
  let socket: Socket | undefined
  const timer = setTimeout(
    () => end.abort(new DirectoryError('timeout', `time-out: no answer within ${tryMilliseconds / 1000} s`)),
    tryMilliseconds,
  )
  const ended = new Promise<never>((_, reject) => {
    end.signal.addEventListener('abort', () => reject(end.signal.reason), { once: true })
  })
  const converse = async (): Promise<T> => {
    const lookup = lookupOf(await guard.addressesOf(host))
    end.signal.throwIfAborted()
    const name = isIP(host) === 0 ? { servername: host } : {}
    socket = isSecure
      ? connectTls({ host, port, lookup, ...name, ca: machineAuthorities() })
      : connectPlain({ host, port, lookup })
    await opened(socket, isSecure ? 'secureConnect' : 'connect')
    const { Client } = await ldapts()
    // The socket is connected and, if required, encrypted. `never`: the library uses less of it than its type demands.
    const transport = checked(socket, (error) => end.abort(error))
    const client = new Client({
      url: `ldap://${isIP(host) === 6 ? `[${host}]` : host}:${port}`,
      createConnection: () => transport as never,
    })
    return await work(client)
  }
  try {
    const conversation = converse()
    // After the time-out, errors of the conversation are irrelevant.
    conversation.catch(() => undefined)
    return await Promise.race([conversation, ended])
  } catch (error) {
    throw error instanceof AddressRefusal
      ? new DirectoryError('address', error.message)
      : directoryErrorOf(error, isSecure)
  } finally {
    clearTimeout(timer)
    socket?.destroy()
  }
}

interface UrlParts {
  readonly host: string
  readonly port: number
  readonly isSecure: boolean
}

function ldapUrlParts(url: string): UrlParts {
  const { protocol, hostname, port } = new URL(url)
  const isSecure = protocol === 'ldaps:'
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (isSecure ? 636 : 389) : Number(port),
    isSecure,
  }
}

const opened = (socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.once(event, resolve)
    // Never removed: an error without a listener would end the process.
    socket.on('error', reject)
    socket.once('close', () => reject(new Error('closed')))
  })

/** The library's socket: passes on complete, well-formed messages only. */
function checked(socket: Socket, fail: (error: Error) => void): Duplex {
  const answers = new Answers()
  const transport = new Duplex({
    readableObjectMode: true,
    read: () => void socket.resume(),
    write: (chunk, _encoding, done) => void socket.write(chunk, done),
    destroy: (error, done) => {
      socket.destroy()
      done(error)
    },
  })
  socket.on('data', (chunk: Buffer) => {
    try {
      for (const message of answers.take(chunk)) if (!transport.push(message)) socket.pause()
    } catch (error) {
      const cause = error instanceof BadAnswer ? error.message : 'its answer cannot be read'
      fail(new DirectoryError('protocol', cause, { cause: error }))
    }
  })
  socket.on('error', (error) => fail(error))
  socket.on('close', () => fail(new DirectoryError('refused', 'the connection was closed without an answer')))
  return Object.assign(transport, { connecting: false, readyState: 'open' })
}
