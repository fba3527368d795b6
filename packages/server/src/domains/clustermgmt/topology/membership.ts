/** The rows by which a node is a host of its cluster, written and removed together. Source: behaviour clustermgmt.md 1.3. */
import { BmcInfo } from '@hyperplane/contract/clustermgmt/bmc-info'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { DataStore } from '@hyperplane/contract/clustermgmt/data-store'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { Registration } from '@hyperplane/contract/platform/registration'
import type { Clock } from '../../../core/time/clock.ts'
import type { Drive } from '../../../drivers/drives.ts'
import type { NodeView } from '../../../drivers/nodes.ts'
import type { Transaction } from '../../../store/store.ts'
import { detailsOf, registrationOf } from '../../registrations/registrations.ts'
import { HostMaintenance } from '../../scheduling/host-maintenance.ts'
import type { SwitchHost, SwitchRow } from '../../scheduling/switch-bridges.ts'
import { hostsOf } from '../../storage-space/capacity.ts'
import { forgetDisks, recordDisks } from '../../storage-space/disks.ts'
import { forgetAccounts } from '../system-accounts/accounts.ts'
import { bmcRowOf, type HostType, hostRowOf } from './host-row.ts'
import type { NodeUplinks } from './uplinks.ts'

/** Item of `blockList` in a request. */
interface BlockItem {
  readonly blockId?: string | undefined
  readonly rackName?: string | undefined
}

interface Writing {
  readonly store: Transaction
  readonly clock: Clock
}

export interface NewHost {
  /** With the addresses that it has in the cluster. */
  readonly node: NodeView
  readonly hostName: string
  readonly hostType: HostType
  readonly uplinks: readonly NodeUplinks[]
  readonly drives: readonly Drive[]
}

export async function insertHosts(
  { store, clock }: Writing,
  clusterExtId: string,
  hosts: readonly NewHost[],
  racks: readonly BlockItem[] = [],
): Promise<void> {
  const cluster = await store.get(Cluster, clusterExtId)
  if (cluster === undefined) throw new Error(`hosts of the cluster ${clusterExtId}, which is not there`)
  for (const { node, hostName, hostType, drives } of hosts) {
    const of = { tenantId: cluster.tenantId, cluster, hostName, bootedAt: clock.now(), hostType }
    await store.insert(Host, hostRowOf(node, of))
    await recordDisks(store, node.nodeUuid, drives)
    const bmc = bmcRowOf(node, of)
    if (bmc !== undefined) await store.insert(BmcInfo, bmc)
  }
  await nameRacks(store, clusterExtId, racks)
  for (const row of await store.findWhere(VirtualSwitch, { clusterExtId })) {
    const added = hosts.flatMap(({ node, uplinks }) => {
      const own = uplinks.find(({ switchExtId }) => switchExtId === row.extId)
      return own === undefined ? [] : switchHostOf(row.clusters[0]?.hosts[0], node.nodeUuid, own)
    })
    if (added.length > 0) await changeHosts(store, row, added, new Set())
  }
  await settled(store, clusterExtId)
}

/** All hosts of a block are in one rack. */
async function nameRacks(store: Transaction, clusterExtId: string, given: readonly BlockItem[]): Promise<void> {
  const hosts = await hostsOf(store, clusterExtId)
  const racks = racksOf(hosts, given)
  for (const { extId, blockSerial, rackName } of hosts) {
    const named = racks.get(blockSerial)
    if (named !== rackName) await store.update(Host, extId, { rackName: named })
  }
}

/** By serial number of the block. @param given these come first */
export const racksOf = (
  hosts: readonly Pick<Host, 'blockSerial' | 'rackName'>[],
  given: readonly BlockItem[],
): ReadonlyMap<string | undefined, string> =>
  new Map(
    [...hosts.map(({ blockSerial, rackName }) => ({ blockId: blockSerial, rackName })), ...given].flatMap(
      ({ blockId, rackName }) => (rackName === undefined ? [] : [[blockId, rackName] as const]),
    ),
  )

/** The entry of the node in a virtual switch. @param like entry of a host that has the same bridge */
export const switchHostOf = (
  like: SwitchHost | undefined,
  nodeUuid: string,
  { hostNics, activeUplink }: NodeUplinks,
): SwitchHost => ({
  extId: nodeUuid,
  ...(like?.internalBridgeName !== undefined && { internalBridgeName: like.internalBridgeName }),
  hostNics: [...hostNics],
  ...(activeUplink !== undefined && { activeUplink }),
})

export async function removeHosts(
  store: Transaction,
  clusterExtId: string,
  hostExtIds: readonly string[],
): Promise<void> {
  const removed = new Set(hostExtIds)
  for (const row of await store.findWhere(VirtualSwitch, { clusterExtId }))
    if (row.clusters[0]?.hosts.some((host) => removed.has(host.extId))) await changeHosts(store, row, [], removed)
  for (const hostExtId of hostExtIds) {
    await forgetDisks(store, hostExtId)
    await forgetAccounts(store, hostExtId)
    for (const kind of [HostMaintenance, BmcInfo, Host])
      if ((await store.get(kind, hostExtId)) !== undefined) await store.remove(kind, hostExtId)
    for (const { extId } of await store.findWhere(DataStore, { hostExtId })) await store.remove(DataStore, extId)
  }
  await settled(store, clusterExtId)
}

async function changeHosts(
  store: Transaction,
  { extId, clusters, uplinks = [] }: SwitchRow,
  added: readonly SwitchHost[],
  removed: ReadonlySet<string>,
): Promise<void> {
  const [cluster] = clusters
  if (cluster === undefined) return
  const kept = uplinks.filter((key) => !removed.has(key.slice(0, key.indexOf('/'))))
  const own = added.flatMap(({ extId: host, hostNics = [] }) => hostNics.map((name) => `${host}/${name}`))
  await store.update(VirtualSwitch, extId, {
    clusters: [{ ...cluster, hosts: [...cluster.hosts.filter((host) => !removed.has(host.extId)), ...added] }],
    uplinks: [...kept, ...own],
  })
}

/** The cluster changes with its hosts; its registration names the first controller VMs. */
async function settled(store: Transaction, clusterExtId: string): Promise<void> {
  const cluster = await store.get(Cluster, clusterExtId)
  if (cluster === undefined) return
  await store.touch(Cluster, clusterExtId)
  const registration = await registrationOf(store, clusterExtId)
  if (registration?.remoteClusterDetails === undefined) return
  const { nodeIpAddresses } = detailsOf(cluster, await hostsOf(store, clusterExtId))
  await store.observe(Registration, registration.extId, {
    remoteClusterDetails: { ...registration.remoteClusterDetails, nodeIpAddresses },
  })
}
