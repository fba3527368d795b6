/**
 * Guards against calls to addresses that only this machine reaches (loopback, link-local, cloud metadata), when clients name the host.
 * Source: behaviour iam.md 4.
 */
import { lookup } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { type Clock, realClock } from '../time/clock.ts'

export interface AddressGuard {
  /**
   * At least one. Connect to it, not to the name, which may resolve differently later. @param host name or address, IPv6 perhaps in
   * brackets
   * @throws AddressRefusal when none may be called; the resolver's error (`code`), also after 5 s without answer
   */
  addressesOf(host: string): Promise<readonly string[]>
  /** Asks no resolver. Undefined: allowed, or the answer depends on the addresses. */
  refusalOf(host: string): string | undefined
}

/** The message names the option that would allow the host. */
export class AddressRefusal extends Error {
  override readonly name = 'AddressRefusal'
}

export interface AddressGuardOptions {
  /** Networks (`10.0.0.0/8`, `::1`) that may be called even if they are refused otherwise. */
  readonly allowed: readonly string[]
  readonly isOffline?: boolean
  /** Only networks in `allowed` are called: for registrations without `--allow-outbound`. */
  readonly isClosed?: boolean
  readonly resolve?: (host: string) => Promise<readonly string[]>
  readonly real?: Pick<Clock, 'setTimer'>
}

const patienceMilliseconds = 5000

/** Each IPv4 network also as `64:ff9b::` (RFC 6052) and `2002:` (RFC 3056); BlockList maps `::ffff:` itself. */
const refusedNetworks = {
  'a loopback address': ['127.0.0.0/8', '::1', '64:ff9b::7f00:0/104', '2002:7f00::/24'],
  'a metadata address': [
    '169.254.169.254',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd20:ce::254',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b::6464:64c8',
    '64:ff9b::a83f:8110',
    '64:ff9b::c000:c0',
    '2002:6464:64c8::/48',
    '2002:a83f:8110::/48',
    '2002:c000:c0::/48',
  ],
  'a link-local address': ['169.254.0.0/16', 'fe80::/10', '64:ff9b::a9fe:0/112', '2002:a9fe::/32'],
  // Connecting to the unspecified address reaches this machine.
  'an address of no single host': [
    '0.0.0.0/8',
    '224.0.0.0/4',
    '255.255.255.255',
    '::/96',
    'ff00::/8',
    '64:ff9b::/104',
    '2002::/24',
  ],
} as const

export function createAddressGuard(options: AddressGuardOptions): AddressGuard {
  const { allowed, isOffline = false, isClosed = false, resolve = resolveByDns, real = realClock } = options
  const open = blockListOf(allowed)
  const pendingLookups = new Map<string, Promise<readonly string[]>>()

  function faultOf(address: string): string | undefined {
    if (isOffline && !contains(loopback, address)) return offlineFault
    if (contains(open, address)) return undefined
    const [kind] = refused.find(([, networks]) => contains(networks, address)) ?? []
    if (kind !== undefined) return `${kind}, which is not called from here; --allow-address opens a network`
    return isClosed ? closedFault : undefined
  }

  function faultOfName(host: string): string | undefined {
    if (isLocalName(host)) return faultOf(loopbackAddress)
    if (isOffline) return offlineFault
    return isClosed && allowed.length === 0 ? closedFault : undefined
  }

  const messageOf = (host: string, address: string, fault: string): string =>
    address === host ? `${host} is ${fault}` : `${host} resolves to ${address}, ${fault}`

  async function resolved(host: string): Promise<readonly string[]> {
    if (isIP(host) !== 0) return [host]
    // RFC 6761: these names are loopback, but not every resolver knows that.
    if (isLocalName(host)) return [loopbackAddress]
    const running = pendingLookups.get(host)
    if (running !== undefined) return running
    const answer = inTime(resolve(host)).finally(() => pendingLookups.delete(host))
    pendingLookups.set(host, answer)
    return answer
  }

  function inTime<T>(answer: Promise<T>): Promise<T> {
    const late = Promise.withResolvers<never>()
    const error = Object.assign(new Error('the name server does not answer'), { code: 'EAI_AGAIN' })
    const stop = real.setTimer(patienceMilliseconds, () => late.reject(error))
    return Promise.race([answer, late.promise]).finally(stop)
  }

  return {
    async addressesOf(host) {
      const bare = bareHost(host)
      // Checked before the look-up, because the query itself would leave this machine.
      const fault = isIP(bare) === 0 ? faultOfName(bare) : undefined
      if (fault !== undefined) throw new AddressRefusal(messageOf(bare, bare, fault))
      const addresses = await resolved(bare)
      const callable = addresses.filter((address) => faultOf(address) === undefined)
      if (callable.length > 0) return callable
      const [first] = addresses
      if (first === undefined) throw new AddressRefusal(`${bare} is a name without an address`)
      throw new AddressRefusal(messageOf(bare, first, faultOf(first) as string))
    },
    refusalOf(host) {
      const bare = bareHost(host)
      const fault = isIP(bare) === 0 ? faultOfName(bare) : faultOf(bare)
      return fault === undefined ? undefined : messageOf(bare, bare, fault)
    },
  }
}

const offlineFault =
  'a place beyond this machine, which is not called with --offline: start the service without that option'
const closedFault =
  'a place outside the simulated world: start the service with --allow-outbound to register managers elsewhere, or open its network with --allow-address'

const loopbackAddress = '127.0.0.1'
const isLocalName = (host: string): boolean => /^(?:.+\.)?localhost\.?$/.test(host)
const bareHost = (host: string): string => host.replace(/^\[(.*)\]$/, '$1').toLowerCase()

/** For connections: asks no resolver. @param addresses already checked, at least one */
export function lookupOf(addresses: readonly string[]): LookupFunction {
  const records = addresses.map((address) => ({ address, family: isIP(address) }))
  const [first] = records
  return (_host, { all }, answer) => {
    if (all === true) answer(null, records)
    else answer(null, first?.address ?? '', first?.family)
  }
}

export function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0 || address.includes('%')) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bitsOf(family))
}

async function resolveByDns(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

const bitsOf = (family: number): number => (family === 4 ? 32 : 128)
const familyName = (family: number): 'ipv4' | 'ipv6' => (family === 4 ? 'ipv4' : 'ipv6')

function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    const family = isIP(address)
    list.addSubnet(address, prefix === undefined ? bitsOf(family) : Number(prefix), familyName(family))
  }
  return list
}

/** Ignores the zone of an address (`fe80::1%eth0`). */
function contains(list: BlockList, address: string): boolean {
  const [bare = ''] = address.split('%')
  return list.check(bare, familyName(isIP(bare)))
}

const loopback = blockListOf(refusedNetworks['a loopback address'])
const refused = Object.entries(refusedNetworks).map(([what, networks]) => [what, blockListOf(networks)] as const)
