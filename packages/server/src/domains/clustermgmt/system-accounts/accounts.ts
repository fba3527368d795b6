/** The accounts that clusters and hosts bring with them. Source: behaviour clustermgmt.md 1.14. */
import { type EntityOf, resource } from '@hyperplane/contract'
import { BmcInfo } from '@hyperplane/contract/clustermgmt/bmc-info'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import type { SystemUserPassword } from '@hyperplane/contract/clustermgmt/system-user-password'
import { User } from '@hyperplane/contract/iam/user'
import * as s from '@hyperplane/contract/schema'
import { derivedId, seedId } from '../../../core/ids/named-id.ts'
import { formatTime } from '../../../core/time/clock.ts'
import type { TypedFilter } from '../../../odata/index.ts'
import type { Reader, Transaction } from '../../../store/store.ts'
import { isManager } from '../../containers/storage-containers.ts'

type Row = EntityOf<typeof SystemUserPassword>
type SystemType = NonNullable<Row['systemType']>

const nativeNames = ['root', 'admin'] as const
const validMillis = 90 * 86_400_000
export const adminId = seedId('user/admin')

/** For accounts with changed or tried passwords. The password of PC `admin` is that of the user. */
export const SystemAccount = resource('internal.v1.clustermgmt.SystemAccount', {
  fields: {
    clusterExtId: s.uuid(),
    passwordHash: s.optional(s.text()),
    /** The last five, newest first; none of them may be used again. */
    formerPasswordHashes: s.optional(s.arrayOf(s.text(), { maxItems: 5 })),
    lastUpdateTime: s.optional(s.timestamp()),
    isPasswordStrong: s.optional(s.boolean()),
    /** Wrong passwords within the last 10 minutes, oldest first. */
    failures: s.optional(s.arrayOf(s.timestamp())),
    lockedUntil: s.optional(s.timestamp()),
  },
  indexed: ['clusterExtId'],
  ofCluster: { by: 'clusterExtId' },
})
export type AccountRow = EntityOf<typeof SystemAccount>

export interface AccountRef {
  readonly extId: string
  readonly clusterExtId: string
  readonly hostExtId?: string
}

export interface Account {
  readonly extId: string
  readonly systemType: SystemType
  readonly username: string
  readonly cluster: Cluster
  readonly host?: Host
  readonly bmc?: BmcInfo
  /** The local user that PC `admin` is. */
  readonly user?: User
}

export const accountId = (type: SystemType, ownerExtId: string, username: string): string =>
  derivedId('system account', type, ownerExtId, username)

/** @param scope of clusters */
export async function accountsOf(store: Reader, scope: TypedFilter | undefined): Promise<readonly Account[]> {
  const clusters = await store.find(Cluster, scope === undefined ? {} : { scope })
  const hosts = Map.groupBy(await store.find(Host), (host) => host.cluster.uuid)
  const bmcs = new Map((await store.find(BmcInfo)).map((bmc) => [bmc.extId, bmc]))
  const user = await store.get(User, adminId)
  return clusters.flatMap((cluster) => [
    ...accountsOfCluster(cluster, user),
    ...(hosts.get(cluster.extId) ?? []).flatMap((host) => accountsOfHost(cluster, host, bmcs.get(host.extId))),
  ])
}

export async function findAccount(
  store: Reader,
  { extId, clusterExtId, hostExtId }: AccountRef,
): Promise<Account | undefined> {
  const cluster = await store.get(Cluster, clusterExtId)
  if (cluster === undefined) return undefined
  const host = hostExtId === undefined ? undefined : await store.get(Host, hostExtId)
  const accounts =
    host === undefined
      ? accountsOfCluster(cluster, await store.get(User, adminId))
      : accountsOfHost(cluster, host, await store.get(BmcInfo, host.extId))
  return accounts.find((account) => account.extId === extId)
}

function accountsOfCluster(cluster: Cluster, user: User | undefined): readonly Account[] {
  if (!isManager(cluster))
    return ['admin', 'service'].map((name) => ({ ...named('AOS', cluster.extId, name), cluster }))
  return user?.passwordHash === undefined ? [] : [{ ...named('PC', cluster.extId, 'admin'), cluster, user }]
}

function accountsOfHost(cluster: Cluster, host: Host, bmc: BmcInfo | undefined): readonly Account[] {
  const native = host.hypervisor?.type === 'AHV' ? nativeNames : []
  const own = native.map((name) => ({ ...named('AHV', host.extId, name), cluster, host }))
  // The single account of the BMC, under any name.
  const ipmi = { ...named('IPMI', host.extId, ''), username: bmc?.credential?.username ?? 'ADMIN', cluster, host }
  return bmc === undefined ? own : [...own, { ...ipmi, bmc }]
}

const named = (systemType: SystemType, ownerExtId: string, username: string) => ({
  extId: accountId(systemType, ownerExtId, username),
  systemType,
  username,
})

/** The password of an account as the manager keeps it, wherever that is. */
export async function keptOf(store: Reader, account: Account): Promise<AccountRow> {
  const row = (await store.get(SystemAccount, account.extId)) ?? emptyRow(account)
  const { user } = account
  if (user === undefined) return row
  const { passwordHash, formerPasswordHashes, isPasswordStrong } = user
  const lastUpdateTime = user.passwordChangedTime ?? user.createdTime
  return { ...row, passwordHash, formerPasswordHashes, isPasswordStrong, lastUpdateTime } as AccountRow
}

export async function forgetAccounts(store: Transaction, hostExtId: string): Promise<void> {
  const ids = [...nativeNames.map((name) => accountId('AHV', hostExtId, name)), accountId('IPMI', hostExtId, '')]
  for (const { extId } of await store.getMany(SystemAccount, ids)) await store.remove(SystemAccount, extId)
}

export const emptyRow = ({ extId, cluster }: Account): AccountRow =>
  ({ extId, tenantId: cluster.tenantId, clusterExtId: cluster.extId }) as AccountRow

export async function shownAccount(store: Reader, account: Account): Promise<Row> {
  const { extId, systemType, username, cluster, host } = account
  const { passwordHash, lastUpdateTime, isPasswordStrong } = await keptOf(store, account)
  const address = host?.hypervisor?.externalAddress?.ipv4
  return {
    extId,
    tenantId: cluster.tenantId,
    username,
    systemType,
    clusterExtId: cluster.extId,
    ...(address === undefined ? {} : { hostIp: address }),
    status: passwordHash === undefined ? 'DEFAULT' : 'SECURE',
    hasHspInUse: isPasswordStrong === true,
    ...(passwordHash === undefined || lastUpdateTime === undefined
      ? {}
      : { lastUpdateTime, expiryTime: formatTime(Date.parse(lastUpdateTime) + validMillis) }),
  } as Row
}
