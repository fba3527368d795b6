/** Source: behaviour clustermgmt.md 1.1 (addresses, secrets), 1.2, 1.10 to 1.12. */
import type { ValueOf } from '@hyperplane/contract'
import type { ClusterNetworkReference } from '@hyperplane/contract/clustermgmt/cluster'
import type {
  NtpServerConfig,
  RsyslogServer,
  SmtpServerRef,
  SnmpConfig,
} from '@hyperplane/contract/clustermgmt/settings'
import type { IPAddressOrFQDN } from '@hyperplane/contract/shapes'
import { type ApiError, invalid } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import { notFound } from '../../core/standard.ts'

type Address = ValueOf<typeof IPAddressOrFQDN>
type Network = ValueOf<typeof ClusterNetworkReference>
type Smtp = ValueOf<typeof SmtpServerRef>
type Snmp = ValueOf<typeof SnmpConfig>
type SnmpUser = NonNullable<Snmp['users']>[number]
type SnmpTrap = NonNullable<Snmp['traps']>[number]

/** From `network` and `config` of a cluster, or the top level of a profile. */
export interface Settings {
  readonly nameServerIpList?: readonly Address[]
  readonly ntpServerIpList?: readonly Address[]
  readonly ntpServerConfigList?: readonly ValueOf<typeof NtpServerConfig>[]
  readonly smtpServer?: Smtp
  readonly nfsSubnetWhitelist?: readonly string[]
  readonly httpProxyWhiteList?: Network['httpProxyWhiteList']
  readonly snmpConfig?: Snmp
  readonly rsyslogServerList?: readonly ValueOf<typeof RsyslogServer>[]
}

export const maximumRsyslogServers = 10
const defaultSmtpPorts: Readonly<Record<string, number>> = { PLAIN: 25, STARTTLS: 587, SSL: 465 }

/** @param prefix of all paths: `network/` or empty */
export function settingsFaults(given: Settings, prefix = ''): ApiError[] {
  const faults: ApiError[] = []
  const fault = (path: string, text: string): void => void faults.push(invalid(`${prefix}${path}`, text))
  const addresses = <I>(name: string, list: readonly I[] | undefined, addressOf: (item: I) => Address): void => {
    list?.forEach((item, index) => {
      if (!hasAddress(addressOf(item))) fault(`${name}[${index}]`, 'expected ipv4, ipv6 or fqdn, found none')
    })
    distinct(name, list, (item) => JSON.stringify(addressOf(item)), 'an address')
  }
  const distinct = <I>(
    name: string,
    list: readonly I[] | undefined,
    keyOf: (item: I) => string | undefined,
    what: string,
  ): void => {
    const seen = new Set<string>()
    list?.forEach((item, index) => {
      const key = keyOf(item)
      if (key !== undefined && seen.has(key)) fault(`${name}[${index}]`, `expected ${what} that is not in the list yet`)
      if (key !== undefined) seen.add(key)
    })
  }

  addresses('nameServerIpList', given.nameServerIpList, (item) => item)
  addresses('ntpServerIpList', given.ntpServerIpList, (item) => item)
  addresses('ntpServerConfigList', given.ntpServerConfigList, (item) => item.ntpServerAddress)
  given.ntpServerConfigList?.forEach((item, index) => {
    if (item.encryptionKey !== undefined && item.encryptionKeyId === undefined) {
      fault(`ntpServerConfigList[${index}]/encryptionKeyId`, 'is required beside encryptionKey')
    }
  })
  if (given.smtpServer !== undefined && !hasAddress(given.smtpServer.server.ipAddress)) {
    fault('smtpServer/server/ipAddress', 'expected ipv4, ipv6 or fqdn, found none')
  }
  given.nfsSubnetWhitelist?.forEach((entry, index) => {
    if (!isContiguous(entry.split('/')[1] ?? '')) {
      fault(`nfsSubnetWhitelist[${index}]`, `expected a netmask of leading ones, found "${entry}"`)
    }
  })
  distinct('nfsSubnetWhitelist', given.nfsSubnetWhitelist, (entry) => entry, 'a subnet')
  distinct('httpProxyWhiteList', given.httpProxyWhiteList, (entry) => `${entry.targetType}/${entry.target}`, 'a target')

  const servers = given.rsyslogServerList
  distinct('rsyslogServerList', servers, (server) => server.serverName, 'a serverName')
  distinct(
    'rsyslogServerList',
    servers,
    (server) => JSON.stringify([server.ipAddress, server.port, server.networkProtocol]),
    'an address, port and protocol',
  )
  servers?.forEach((server, index) => {
    for (const [path, text] of rsyslogFaults(server)) fault(`rsyslogServerList[${index}]/${path}`, text)
  })
  if (servers !== undefined && servers.length > maximumRsyslogServers) {
    fault('rsyslogServerList', `expected at most ${maximumRsyslogServers} servers, found ${servers.length}`)
  }
  const snmp = given.snmpConfig
  if (snmp !== undefined) {
    distinct('snmpConfig/users', snmp.users, (user) => user.username, 'a username')
    distinct('snmpConfig/transports', snmp.transports, (item) => `${item.protocol}/${item.port}`, 'a transport')
    distinct(
      'snmpConfig/traps',
      snmp.traps,
      (trap) => JSON.stringify([trap.address, trap.port, trap.username]),
      'an address, port and username',
    )
    snmp.traps?.forEach((trap, index) => {
      for (const [path, text] of trapFaults(trap)) fault(`snmpConfig/traps[${index}]/${path}`, text)
    })
  }
  return faults
}

/** Parts still missing after `keepSecrets`: keys (400), then users that traps name (404). */
export function missingParts({ snmpConfig }: Settings, prefix = ''): ApiError[] {
  const faults: ApiError[] = []
  for (const [index, user] of (snmpConfig?.users ?? []).entries()) {
    const at = `${prefix}snmpConfig/users[${index}]`
    if (user.authKey === undefined) faults.push(invalid(`${at}/authKey`, 'is required of a new user'))
    if ((user.privType === undefined) !== (user.privKey === undefined)) {
      faults.push(invalid(at, 'expected privType and privKey together, found one of them'))
    }
  }
  return snmpConfig === undefined ? faults : [...faults, ...unknownUsers(snmpConfig, `${prefix}snmpConfig`)]
}

export function trapFaults(trap: Omit<SnmpTrap, 'extId'>): (readonly [path: string, text: string])[] {
  const faults: [string, string][] = []
  if (!hasAddress(trap.address)) faults.push(['address', 'expected ipv4 or ipv6, found none'])
  if (trap.version === 'V3' && trap.username === undefined) faults.push(['username', 'is required for version V3'])
  if (trap.shouldInform === true && trap.version !== 'V3' && !['TCP', 'UDP'].includes(trap.protocol ?? 'UDP'))
    faults.push(['shouldInform', 'expected version V3, or V2 over TCP or UDP'])
  const digits = trap.engineId?.replace(/^0[xX]/, '')
  if (digits !== undefined && (digits.length % 2 !== 0 || digits.length < 10 || digits.length > 64))
    faults.push([
      'engineId',
      `expected an even number of hexadecimal digits, 5 to 32 octets; found ${digits.length} digits`,
    ])
  return faults
}

function unknownUsers(snmp: Snmp, prefix: string): ApiError[] {
  const usernames = new Set((snmp.users ?? []).map((user) => user.username))
  return (snmp.traps ?? []).flatMap((trap, index) =>
    trap.version !== 'V3' || trap.username === undefined || usernames.has(trap.username)
      ? []
      : [notFound('SNMP user', trap.username, `${prefix}/traps[${index}]/username`)],
  )
}

export function withSettingDefaults<T extends Settings>(given: T): T {
  const { smtpServer, snmpConfig } = given
  return {
    ...given,
    ...(smtpServer && { smtpServer: withPort(smtpServer) }),
    ...(snmpConfig?.traps && { snmpConfig: { ...snmpConfig, traps: snmpConfig.traps.map(withCommunity) } }),
  }
}

const withPort = (smtp: Smtp): Smtp => {
  const type = smtp.type ?? 'PLAIN'
  return { ...smtp, type, server: { ...smtp.server, port: smtp.server.port ?? defaultSmtpPorts[type] } }
}
export const withCommunity = <T extends Pick<SnmpTrap, 'version' | 'communityString'>>(trap: T): T =>
  trap.version === 'V2' && trap.communityString === undefined ? { ...trap, communityString: 'public' } : trap

/** Keeps secrets of owners in the body: SMTP server, SNMP `username`, NTP `encryptionKeyId`, proxy `name`. */
export function keepSecrets<T extends Settings & { readonly httpProxyList?: Network['httpProxyList'] }>(
  given: T,
  stored: T | undefined,
): T {
  const user = keeping<SnmpUser>('username', ['authKey', 'privKey'])
  const key = keeping<ValueOf<typeof NtpServerConfig>>('encryptionKeyId', ['encryptionKey'])
  const proxy = keeping<NonNullable<Network['httpProxyList']>[number]>('name', ['password'])
  const { smtpServer, snmpConfig, ntpServerConfigList, httpProxyList } = given
  const password = smtpServer?.server.password ?? stored?.smtpServer?.server.password
  const users = snmpConfig?.users?.map((item) => dropUnusedPrivacyKey(user(item, stored?.snmpConfig?.users)))
  return {
    ...given,
    ...(smtpServer && { smtpServer: { ...smtpServer, server: defined({ ...smtpServer.server, password }) } }),
    ...(users && { snmpConfig: { ...snmpConfig, users } }),
    ...(ntpServerConfigList && {
      ntpServerConfigList: ntpServerConfigList.map((item) => key(item, stored?.ntpServerConfigList)),
    }),
    ...(httpProxyList && { httpProxyList: httpProxyList.map((item) => proxy(item, stored?.httpProxyList)) }),
  }
}

const keeping =
  <I extends object>(owner: keyof I, secrets: readonly (keyof I)[]) =>
  (item: I, list: readonly I[] | undefined): I => {
    const storedItem = item[owner] === undefined ? undefined : list?.find((other) => other[owner] === item[owner])
    const kept = secrets.flatMap((name) => {
      const secret = item[name] ?? storedItem?.[name]
      return secret === undefined ? [] : [[name, secret]]
    })
    return { ...item, ...Object.fromEntries(kept) }
  }

/** Without a privacy type the stored privacy key is dropped. */
const dropUnusedPrivacyKey = (user: SnmpUser): SnmpUser => {
  if (user.privType !== undefined || typeof user.privKey === 'string') return user
  const { privKey: _, ...rest } = user
  return rest
}

const hasAddress = ({ ipv4, ipv6, fqdn }: Address): boolean =>
  ipv4 !== undefined || ipv6 !== undefined || fqdn !== undefined

export function rsyslogFaults({
  ipAddress,
  modules = [],
}: Pick<ValueOf<typeof RsyslogServer>, 'ipAddress' | 'modules'>): (readonly [path: string, text: string])[] {
  const names = modules.map(({ name }) => name)
  const repeated = names.flatMap((name, index) => (names.indexOf(name) < index ? [index] : []))
  return [
    ...(hasAddress(ipAddress) ? [] : [['ipAddress', 'expected ipv4 or ipv6, found none'] as const]),
    ...repeated.map((index) => [`modules[${index}]`, 'expected a module that is not in the list yet'] as const),
  ]
}

/** True if all one bits of a netmask come first: 255.255.254.0, not 255.0.255.0. */
export function isContiguous(netmask: string): boolean {
  const bits = netmask.split('.').map((part) => Number(part).toString(2).padStart(8, '0'))
  return /^1*0*$/.test(bits.join(''))
}
