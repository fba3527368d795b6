/**
 * Another Hyperplane: the given credentials are used once, to create accounts with keys at both sides.
 * Source: behaviour platform.md 4, 6; decision registering-another-hyperplane.
 */
import { createHash } from 'node:crypto'
import { isIP, isIPv4 } from 'node:net'
import type { Client } from '@hyperplane/client'
import type { AddressGuard } from '../../core/access/address-guard.ts'
import type { Clock } from '../../core/time/clock.ts'
import {
  accountName,
  type Credentials,
  isApiKey,
  RemoteFault,
  type RemoteManagers,
  type RemotePlace,
  registeringInReturn,
} from '../remote-managers.ts'
import { peerNetworks } from './peer-networks.ts'
import { fingerprintOf, type Line, open, over, sendPinned } from './pinned-connection.ts'
import { requireId, sideOf } from './self-description.ts'

interface PeerOptions extends Line {
  /** For the first contact only: registered managers are called even if new registrations are forbidden now. */
  readonly registrationGuard: AddressGuard
  /** Host under which others reach this manager; default: the local address of the connection. */
  readonly ownHost: string | undefined
  /** Real time, for certificates and time-outs. */
  readonly real: Pick<Clock, 'now' | 'setTimer' | 'sleep'>
}

/** Limit for silence of the peer while waiting for its task. */
const patienceMillis = 10_000
/** Limit for the peer's task; a registration takes about a minute. */
const longestWorkMillis = 600_000
const pollMillis = 100
const keyName = 'registration'
/** Attempts with a fresh entity tag: another client may change the entity between read and write. */
const tries = 5

class Peers {
  readonly options: PeerOptions

  constructor(options: PeerOptions) {
    this.options = options
  }

  #hostUrl(host: string): string {
    return `https://${isIP(host) === 6 ? `[${host}]` : host}:${this.options.port()}`
  }

  async clientOf(
    { address, certificate }: RemotePlace,
    login: Credentials | { readonly key: string },
  ): Promise<Client> {
    const { createClient } = await import('@hyperplane/client')
    const key = 'key' in login ? login.key : isApiKey(login) ? login.password : undefined
    return createClient({
      url: this.#hostUrl(address),
      ...(key === undefined ? (login as Credentials) : { apiKey: key }),
      pollMilliseconds: pollMillis,
      fetch: (url, init) => {
        const { pathname, search } = new URL(url)
        return sendPinned(this.options, address, certificate, pathname + search, init)
      },
    })
  }

  /** Waits for the peer's task. Repeated calls with one `callKey` register once. */
  async haveRegistered(client: Client, place: RemotePlace, account: Credentials, callKey: string): Promise<void> {
    const remoteCluster = { address: wireAddress(await this.ownHost(place)), credentials: { authentication: account } }
    const body = {
      remoteCluster: {
        $objectType: 'platform.v4.management.DomainManagerRemoteClusterSpec',
        remoteCluster,
        cloudType: 'ONPREM_CLOUD' as const,
      },
    }
    const started = await onOwn(client, place, (path, ifMatch) =>
      client.platform.register({ path, ifMatch, body, requestId: requestIdOf(callKey) }),
    )
    const look = async () => (await client.platform.getTaskById({ path: { extId: started } })).data
    const task = await patiently(this.options.real, look)
    if (task.status === 'SUCCEEDED') return
    throw new RemoteFault(
      'refused',
      `it could not register this manager: ${messageIn(task) ?? `its task ended ${task.status}`}`,
    )
  }

  async ownHost({ address, certificate }: RemotePlace): Promise<string> {
    if (this.options.ownHost !== undefined) return this.options.ownHost
    const { socket } = await open(this.options, address, certificate)
    const own = socket.localAddress ?? ''
    socket.destroy()
    return own.replace(/^::ffff:/, '')
  }
}

async function contact(options: PeerOptions, address: string): ReturnType<RemoteManagers['reach']> {
  const { socket, certificate } = await open({ ...options, guard: options.registrationGuard }, address, undefined)
  try {
    const names = isIP(address) === 0 ? certificate.checkHost(address) : certificate.checkIP(address)
    if (names === undefined) throw new RemoteFault('certificate', `the certificate of ${address} is for another name`)
    const now = options.real.now()
    if (now < certificate.validFromDate.getTime() || now >= certificate.validToDate.getTime())
      throw new RemoteFault('certificate', `the certificate of ${address} is not valid now`)
    const { status, headers } = await over(socket, address, '/api/platform/unversioned/info', {
      method: 'OPTIONS',
      headers: {},
    })
    const clock = Date.parse(headers.get('date') ?? '')
    if (status !== 200 || Number.isNaN(clock))
      throw new RemoteFault('refused', `what answers at ${address} is no domain manager`)
    return { certificate: fingerprintOf(certificate), clock }
  } finally {
    socket.destroy()
  }
}

export function createPeerManagers(options: PeerOptions): RemoteManagers {
  const peers = new Peers(options)
  return {
    // Changes in another process are not observed.
    knows: () => false,
    watch: () => () => undefined,

    reach: (address) => contact(options, address),

    identify: (place, credentials, asking) =>
      translated(place, async () => {
        const client = await peers.clientOf(place, credentials)
        const side = sideOf(await ownOf(client, place), place.address)
        return {
          ...side,
          objections: isApiKey(credentials) ? [] : await reasonsAgainst(client, side.extId, asking.extId),
        }
      }),

    async exchangeTrust(place, credentials, introduction, callKey) {
      // A caller with a key is itself being registered by the other side, which creates its own key.
      if (isApiKey(credentials)) return { key: credentials.password }
      const { extId, account } = introduction
      if (account === undefined) throw new Error('a manager is introduced with its account')
      return translated(place, async () => {
        const client = await peers.clientOf(place, credentials)
        await peers.haveRegistered(client, place, account, callKey)
        return { key: await newKey(client, extId) }
      })
    },

    revokeTrust: (place, proof, { extId }) =>
      translated(place, async () => {
        const login = 'credentials' in proof ? proof.credentials : { key: proof.key ?? '' }
        const client = await peers.clientOf(place, login)
        try {
          await onOwn(client, place, (path, ifMatch) => client.platform.unregister({ path, ifMatch, body: { extId } }))
        } catch (error) {
          const status = statusOf(error)
          // The account is gone, so the other side has unregistered this manager already.
          if ('key' in proof && (status === 401 || status === 403)) return
          if (status !== 404) throw error
          if ('credentials' in proof && (await isRegistering(client, await peers.ownHost(place))))
            throw new RemoteFault('unreachable', `${place.address} is still registering this manager`)
        }
      }),

    probe: (place, key, extId) =>
      translated(place, async () => {
        const client = await peers.clientOf(place, { key: key ?? '' })
        await client.platform.getDomainManagerById({ path: { extId } }).catch((error) => {
          const status = statusOf(error)
          if (status !== 401 && status !== 403) throw error
          throw new RemoteFault('authentication', `${place.address} does not trust this manager any more`)
        })
      }),

    networkEntities: (place, { key }, sort) =>
      translated(place, async () => peerNetworks[sort](await peers.clientOf(place, { key: key ?? '' }), place.address)),

    // Managers hold no inventory of clusters for others.
    inventory: async () => [],
    keepInventory: async () => undefined,
  }
}

type Path = { readonly extId: string }

async function onOwn(
  client: Client,
  place: RemotePlace,
  change: (path: Path, ifMatch: string) => Promise<{ readonly data: { readonly extId?: unknown } }>,
): Promise<string> {
  const { extId } = await ownOf(client, place)
  for (let left = tries; ; left--) {
    const { etag = '' } = await client.platform.getDomainManagerById({ path: { extId } })
    try {
      return String((await change({ extId }, etag)).data.extId)
    } catch (error) {
      if (statusOf(error) !== 412 || left === 1) throw error
    }
  }
}

/** The first one in the peer's list is its own. */
async function ownOf(client: Client, { address }: RemotePlace) {
  const [own] = (await client.platform.listDomainManagers()).data
  if (own === undefined) throw new RemoteFault('refused', `${address} shows no manager`)
  return { ...own, extId: requireId(own.extId, address) }
}

async function reasonsAgainst(client: Client, remoteExtId: string, ownExtId: string): Promise<string[]> {
  const { total = 0 } = await client.platform.listRegistrations({
    path: { domainManagerExtId: remoteExtId },
    filter: `remoteClusterExtId eq '${ownExtId}'`,
  })
  return total === 0 ? [] : ['it still holds a registration of this manager: unregister this manager there first']
}

/** Deletes the key of an earlier attempt first: its text is lost. */
async function newKey(client: Client, ownExtId: string): Promise<string> {
  const filter = `username eq '${accountName(ownExtId)}'`
  const [account] = (await client.iam.listUsers({ filter })).data
  if (account === undefined) throw new RemoteFault('refused', 'it made no account for this manager')
  const userExtId = account.extId
  for (const { extId, name } of (await client.iam.listUserKeys({ path: { userExtId } })).data) {
    if (name !== keyName) continue
    const path = { userExtId, extId }
    const { etag = '' } = await client.iam.getUserKeyById({ path })
    await client.iam.deleteUserKeyById({ path, ifMatch: etag })
  }
  const created = await client.iam.createUserKey({ path: { userExtId }, body: { name: keyName, keyType: 'API_KEY' } })
  return (created.data.keyDetails as { apiKey: string }).apiKey
}

/** Only registrations requested by this manager count, not those of the peer's operators. */
async function isRegistering(client: Client, ownHost: string): Promise<boolean> {
  const asked = `operationDescription eq '${registeringInReturn(ownHost)}'`
  const filter = `operation eq 'RegisterPC' and ${asked} and status in ('QUEUED','RUNNING')`
  return ((await client.platform.listTasks({ filter })).total ?? 0) > 0
}

interface TaskSeen {
  readonly status?: string
  readonly errorMessages?: readonly unknown[]
}

async function patiently(real: PeerOptions['real'], look: () => Promise<TaskSeen>): Promise<TaskSeen> {
  const startedAt = real.now()
  let answeredAt = startedAt
  while (real.now() - startedAt < longestWorkMillis) {
    try {
      const task = await look()
      answeredAt = real.now()
      if (['SUCCEEDED', 'FAILED', 'CANCELED'].includes(task.status ?? '')) return task
    } catch (error) {
      const isAway = error instanceof RemoteFault && error.reason === 'unreachable'
      if (!isAway || real.now() - answeredAt > patienceMillis) throw error
    }
    await real.sleep(pollMillis)
  }
  throw new RemoteFault(
    'refused',
    `its registration of this manager has not ended in ${longestWorkMillis / 60_000} min`,
  )
}

async function translated<T>({ address }: RemotePlace, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RemoteFault) throw error
    const status = statusOf(error)
    // The answer may be arbitrary, and one unreadable answer must not stop the probes of other managers.
    if (status === undefined)
      throw new RemoteFault('refused', `${address} answers otherwise than a domain manager`, error)
    if (status === 401) throw new RemoteFault('authentication', `${address} refused the credentials`, error)
    if (status === 412 || status === 429 || status >= 500)
      throw new RemoteFault('unreachable', `${address} answered ${status}`, error)
    const said = messageIn({ errorMessages: (error as { errors?: readonly unknown[] }).errors })
    throw new RemoteFault('refused', `${address} answered ${status}: ${said ?? ''}`, error)
  }
}

function messageIn({ errorMessages }: { readonly errorMessages?: readonly unknown[] | undefined }): string | undefined {
  const message = (errorMessages?.[0] as { message?: unknown } | undefined)?.message
  return message === undefined ? undefined : String(message).slice(0, 300)
}

const statusOf = (error: unknown): number | undefined =>
  error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : undefined

const wireAddress = (host: string) =>
  isIPv4(host) ? { ipv4: { value: host } } : isIP(host) === 6 ? { ipv6: { value: host } } : { fqdn: { value: host } }

/** The peer answers a repeated request id without repeating the effect. */
function requestIdOf(callKey: string): string {
  const hex = createHash('sha256').update(callKey).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
