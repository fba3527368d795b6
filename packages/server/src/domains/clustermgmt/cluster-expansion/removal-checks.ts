/** Obstacles to leaving, all at once. Source: behaviour clustermgmt.md 1.3 (Remove, checks). */
import type { ValueOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { NodeRemovalParams } from '@hyperplane/contract/clustermgmt/cluster-expansion'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { TrafficMirror } from '@hyperplane/contract/networking/traffic-mirror'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { pathOf, rowWithId } from '../../../core/standard.ts'
import { equals } from '../../../odata/index.ts'
import type { Reader } from '../../../store/store.ts'
import type { StepContext } from '../../context.ts'
import { DeviceClaim } from '../../scheduling/device-claim.ts'
import { HostAllocation } from '../../scheduling/host-allocation.ts'
import { hostCapacity, hostsOf, poolUsage, storesData } from '../../storage-space/capacity.ts'
import { defaultAwareness } from '../../storage-space/fault-tolerance.ts'
import { defaultCopies, tooFewDomains } from '../cluster-rules.ts'
import { refuseWith } from '../topology/nodes.ts'
import { NodeReservation } from '../topology/reservations.ts'

export interface Removal {
  readonly clusterExtId: string
  readonly hostExtIds: readonly string[]
  readonly skipsChecks: boolean
  readonly skips: NonNullable<ValueOf<typeof NodeRemovalParams>['extraParams']>
}

/** Percent of the capacity of the remaining hosts. */
const mostFilledPercent = 90
const upgrading: readonly unknown[] = ['PENDING', 'DOWNLOADING', 'QUEUED', 'PREUPGRADE', 'UPGRADING', 'SCHEDULED']

export async function checkRemoval(ctx: StepContext, removal: Removal): Promise<void> {
  const { clusterExtId, hostExtIds, skipsChecks, skips } = removal
  const cluster = await rowWithId(ctx.store, Cluster, clusterExtId, 'clusterExtId')
  const hosts = await hostsOf(ctx.store, clusterExtId)
  const leaving = hosts.filter(({ extId }) => hostExtIds.includes(extId))
  const staying = hosts.filter(({ extId }) => !hostExtIds.includes(extId))
  const storing = staying.filter(storesData)
  const bonds = await bondFaults(ctx, removal, leaving)
  if (storing.length === 0) bonds.unshift('nodeUuids: a cluster keeps one host at least; destroy the cluster instead')
  if (skipsChecks) return refuseWith(bonds)
  const { config = {} } = cluster
  const level = config.faultToleranceState?.domainAwarenessLevel ?? defaultAwareness(hosts.filter(storesData))
  const copies = config.redundancyFactor ?? defaultCopies(hosts.filter(storesData))
  const tooFew = tooFewDomains(copies, level, config.clusterFunction ?? [], storing, ctx.drivers.hardware)
  const silent = hosts.filter(({ extId }) => !ctx.drivers.hardware.isHostUp(extId))
  const adding = skips.shouldSkipAddCheck === true ? [] : await ctx.store.findWhere(NodeReservation, { clusterExtId })
  refuseWith([
    ...bonds,
    ...(tooFew === undefined ? [] : [`nodeUuids: ${tooFew} afterwards`]),
    ...silent.map(({ hostName }) => `The host "${hostName}" does not answer. Bring it back first.`),
    ...(skips.shouldSkipUpgradeCheck !== true && upgrading.includes(cluster.upgradeStatus)
      ? [`The cluster is being upgraded (${cluster.upgradeStatus}). Wait for it.`]
      : []),
    ...adding.map(({ extId, taskExtId }) => `The node ${extId} is being added by task ${taskExtId}. Wait for it.`),
    ...(skips.shouldSkipSpaceCheck === true ? [] : await spaceFaults(ctx, clusterExtId, staying)),
  ])
}

async function spaceFaults(ctx: StepContext, clusterExtId: string, staying: readonly Host[]): Promise<string[]> {
  const { takenBytes } = await poolUsage(ctx, clusterExtId)
  const left = staying.reduce((sum, host) => sum + hostCapacity(host, ctx.drivers.hardware), 0)
  const most = Math.floor((left * mostFilledPercent) / 100)
  if (takenBytes <= most) return []
  return [`The other hosts have room for ${most} bytes, and the cluster stores or reserves ${takenBytes}.`]
}

/** Entities that are bound to the hosts, and cannot leave with their VMs. */
export async function bondFaults(
  { store }: { readonly store: Reader },
  { clusterExtId }: Removal,
  leaving: readonly Host[],
): Promise<string[]> {
  const vms = await store.find(Vm, { filter: equals(pathOf(Vm, 'cluster/extId'), clusterExtId) })
  const vmsById = new Map(vms.map((vm) => [vm.extId, vm]))
  const extern = await store.find(ExternVm, { filter: equals(pathOf(ExternVm, 'cluster/extId'), clusterExtId) })
  const claims = await store.findWhere(DeviceClaim, { clusterExtId })
  const containers = await store.findWhere(StorageContainer, { clusterExtId })
  const managers = new Map<string, string | undefined>()
  for (const { nodeExtIds = [], config } of await store.find(DomainManager))
    for (const node of nodeExtIds) managers.set(node, config?.name)
  const faults: string[] = []
  for (const { extId: host, hostName } of leaving) {
    const names = (what: readonly (string | undefined)[]): string =>
      [...new Set(what)].map((name) => `"${name}"`).join(', ')
    const pinned = vms.filter(({ pinnedHostExtId }) => pinnedHostExtId === host).map(({ name }) => name)
    if (pinned.length > 0) faults.push(`These VMs are bound to "${hostName}": ${names(pinned)}.`)
    const stored = containers.filter(({ affinityHostExtId }) => affinityHostExtId === host).map(({ name }) => name)
    if (stored.length > 0)
      faults.push(`These storage containers have their only copy on "${hostName}": ${names(stored)}.`)
    const owners = claims.filter(({ hostExtId }) => hostExtId === host).map(({ vmExtId }) => vmsById.get(vmExtId)?.name)
    if (owners.length > 0) faults.push(`These VMs have devices of "${hostName}": ${names(owners)}.`)
    const outside = extern.filter((vm) => vm.host?.extId === host).map(({ name }) => name)
    if (outside.length > 0) faults.push(`These external VMs run on "${hostName}": ${names(outside)}.`)
    const held = await store.findWhere(HostAllocation, { hostExtId: host })
    const running = held.flatMap(({ vmExtId }) => managers.get(vmExtId) ?? [])
    if (running.length > 0) faults.push(`Nodes of these managers run on "${hostName}": ${names(running)}.`)
    const mirrors = await store.findWhere(TrafficMirror, { hostExtId: host })
    if (mirrors.length > 0)
      faults.push(`These traffic mirrors are on "${hostName}": ${names(mirrors.map(({ name }) => name))}.`)
    const users = (await store.referrers(Host.kind, host)).filter(({ kind }) => kind !== Vm.kind)
    if (users.length > 0)
      faults.push(`"${hostName}" is in use by ${users.map(({ kind, extId }) => `${kind} ${extId}`).join(', ')}.`)
  }
  return faults
}
