/** Checks of a migration to another cluster, and its plan. Source: behaviour vmm.md 1.1 (migrate), 3.2. */
import type { EntityOf, Operation, ValueOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { vmm } from '@hyperplane/contract/vmm'
import type { VmCrossClusterMigrateParams } from '@hyperplane/contract/vmm/vm/cross-cluster-migration'
import { VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../../core/api-error.ts'
import type { Caller } from '../../../../core/caller.ts'
import { defined } from '../../../../core/defined.ts'
import { pathOf } from '../../../../core/standard.ts'
import type { Services } from '../../../../core/world.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'
import { equals } from '../../../../odata/index.ts'
import type { Reader } from '../../../../store/store.ts'
import { claimsOn } from '../../../block-volumes/attachments.ts'
import { defaultContainer } from '../../../containers/default-container.ts'
import { mayRefer } from '../../../context.ts'
import { limitOf } from '../../../limits.ts'
import { refuseReadOnly, requireReachable } from '../../../registrations/reachability.ts'
import { apcConfigOf } from '../../../scheduling/cpu-models.ts'
import { choiceFor, freeMemoryBytes } from '../../../scheduling/scheduler.ts'
import { type FileBacking, filesOf, firmwareBackingsOf, type VmEntity } from '../../../virtual-machines/entity.ts'
import { isNative } from '../create/clusters.ts'
import { architectureFaults, maximumVms } from '../create/plan.ts'
import { requireNoGuestUpdate } from '../delete.ts'
import { requireRoom } from '../files.ts'
import type { EthernetNic } from '../parts/nics.ts'
import { localZone } from '../present.ts'
import { asProblem, type Clusters, movedNics } from './moved-nics.ts'

export type Body = ValueOf<typeof VmCrossClusterMigrateParams>
type ClusterEntity = EntityOf<typeof Cluster>
type Mapping = NonNullable<NonNullable<Body['overrides']>['storageContainersMapping']>

export interface Asking {
  readonly store: Reader
  readonly drivers: Drivers
  readonly services: Services
  readonly owner: Caller
}

export interface Request {
  readonly body: Body
}

export interface Findings {
  readonly problems: readonly ApiError[]
  readonly warnings: readonly string[]
  readonly target?: Target
}

export interface Target {
  readonly clusterExtId: string
  readonly hostExtId?: string
  readonly apcConfig?: VmEntity['apcConfig']
  readonly nics: readonly EthernetNic[]
  /** By id of a file: its container there. */
  readonly containers: Readonly<Record<string, string>>
}

const migrating = vmm.operations.find(({ id }) => id === 'crossClusterMigrateVm') as Operation

/** Clusters and subnets outside the request are chosen among those that its caller may name. */
const mayName =
  ({ owner, services }: Asking, kind: typeof Cluster | typeof Subnet) =>
  (entity: { readonly extId: string }): Promise<boolean> =>
    mayRefer({ caller: owner, operation: migrating, services }, kind, entity)

/** All files of the VM, with those of its firmware. */
export const allFilesOf = (vm: VmEntity): FileBacking[] => [...filesOf(vm), ...firmwareBackingsOf(vm)]

export async function findingsOf(ctx: Asking, vm: VmEntity, { body }: Request): Promise<Findings> {
  const zone = body.targetAvailabilityZone.extId
  if (zone !== localZone.extId) {
    const fault = `The availability zone ${zone} is not paired: VMs migrate within the zone ${localZone.extId}.`
    return { problems: [new ApiError('CONFLICT', { fault })], warnings: [] }
  }
  const own = await boundBy(ctx, vm, body)
  const named = body.targetCluster?.extId
  const found = named === undefined ? await choose(ctx, vm, body) : await onCluster(ctx, vm, body, named)
  const points = await ctx.store.count(VmRecoveryPoint, {
    filter: equals(pathOf(VmRecoveryPoint, 'vmExtId'), vm.extId),
  })
  const stay = `${points} recovery points stay on the former cluster; they can be restored there, but the VM cannot be reverted to them.`
  return {
    ...found,
    problems: [...own, ...found.problems],
    warnings: [...found.warnings, ...(points > 0 ? [stay] : [])],
  }
}

/** These problems do not depend on the target. */
async function boundBy({ store }: Asking, vm: VmEntity, { isLiveMigration, overrides }: Body): Promise<ApiError[]> {
  const problems: ApiError[] = []
  const refuse = (why: string): void => {
    const fault = `The VM "${vm.name}" cannot be migrated to another cluster: ${why}.`
    problems.push(new ApiError('CONFLICT', { fault }))
  }
  const groups = await claimsOn(store, 'Vm', vm.extId)
  const devices = (vm.gpus ?? []).length + (vm.pcieDevices ?? []).length
  if (groups.length > 0)
    refuse(`volume groups are attached to it (${groups.map((group) => group.volumeGroupExtId).join(', ')})`)
  if (devices > 0) refuse('it has GPUs or PCIe devices')
  if (vm.pinnedHostExtId !== undefined) refuse('it is bound to a host of its cluster (isAgentVm)')
  else if (devices === 0 && isLiveMigration && vm.isLiveMigrateCapable !== true)
    refuse('it is bound to its host while it runs (isLiveMigrateCapable)')
  if ((overrides?.storageContainersMapping ?? []).length > 0 && (vm.protectionType ?? 'UNPROTECTED') !== 'UNPROTECTED')
    refuse(`it is protected (${vm.protectionType}), and overrides/storageContainersMapping is given`)
  await requireNoGuestUpdate(store, vm).catch((error) => problems.push(asProblem(error)))
  return problems
}

/** The suitable cluster with the most free memory. */
async function choose(ctx: Asking, vm: VmEntity, body: Body): Promise<Findings> {
  let best: { readonly found: Findings; readonly free: number } | undefined
  const refused: ApiError[] = []
  const isChoice = mayName(ctx, Cluster)
  for (const cluster of await ctx.store.find(Cluster)) {
    const { extId } = cluster
    if (extId === vm.cluster?.extId || !isNative(cluster) || !(await isChoice(cluster))) continue
    const found = await onCluster(ctx, vm, body, extId)
    refused.push(...found.problems)
    if (found.problems.length > 0) continue
    const free = await freeMemoryBytes(ctx, extId)
    if (best === undefined || free > best.free) best = { found, free }
  }
  if (best !== undefined) return best.found
  const fault = `No other cluster of the zone can take the VM "${vm.name}".`
  return { problems: [new ApiError('CONFLICT', { fault }), ...refused], warnings: [] }
}

async function onCluster(ctx: Asking, vm: VmEntity, body: Body, clusterExtId: string): Promise<Findings> {
  const to = await ctx.store.get(Cluster, clusterExtId)
  const from = await ctx.store.get(Cluster, vm.cluster?.extId as string)
  const problems: ApiError[] = []
  const attempt = async <T>(work: () => Promise<T> | T): Promise<T | undefined> => {
    try {
      return await work()
    } catch (error) {
      problems.push(asProblem(error))
      return undefined
    }
  }
  if (to === undefined || from === undefined || !isNative(to))
    await attempt(() => {
      const text = `The cluster "${to?.name ?? clusterExtId}" cannot run VMs: targetCluster is a cluster of the native hypervisor.`
      throw new ApiError('CONFLICT', { fault: text })
    })
  else if (to.extId === from.extId)
    await attempt(() => {
      const text = `The VM "${vm.name}" is on the cluster "${to.name}" already; use migrate-to-host within a cluster.`
      throw new ApiError('CONFLICT', { fault: text })
    })
  else await attempt(() => requireReachable(ctx, to))
  if (to === undefined || from === undefined || problems.length > 0) return { problems, warnings: [] }

  await attempt(() => refuseReadOnly(to, 'VMs'))
  problems.push(...architectureFaults(vm, to))
  await attempt(() => requirePlace(ctx, vm, to))
  const cpuModel = defined({ name: vm.apcConfig?.cpuModel?.name })
  const apcConfig = await attempt(() =>
    apcConfigOf(ctx.store, { ...vm, apcConfig: { ...vm.apcConfig, cpuModel } } as VmEntity, to.extId),
  )
  const files = await containersFor(ctx, vm, { from, to }, body.overrides?.storageContainersMapping ?? [])
  const route = { from, to, mayName: mayName(ctx, Subnet) }
  const nics = await movedNics(ctx.store, vm, route, body.overrides?.overrideNicList)
  problems.push(...files.problems, ...nics.problems)
  const moved = { ...vm, ...defined({ apcConfig }), cluster: { extId: to.extId }, nics: [...nics.nics] }
  const hostExtId = body.isLiveMigration ? await attempt(() => hostFor(ctx, moved)) : undefined
  const target = { clusterExtId, nics: nics.nics, containers: files.containers, ...defined({ hostExtId, apcConfig }) }
  return { problems, warnings: [...files.warnings, ...nics.warnings], target }
}

/** @throws ApiError NO_HOST_FOR_VM */
async function hostFor(ctx: Asking, vm: VmEntity): Promise<string> {
  const { choice } = await choiceFor(ctx, vm)
  if ('hostExtId' in choice) return choice.hostExtId
  throw new ApiError('NO_HOST_FOR_VM', {
    name: vm.name,
    reasons: choice.reasons.join('; ') || 'the cluster has no host',
  })
}

/** @throws ApiError 422 the cluster is full; 409 it has a VM with the same BIOS UUID */
async function requirePlace(ctx: Asking, vm: VmEntity, { extId, name }: ClusterEntity): Promise<void> {
  const found = ((await ctx.store.referrerCounts(Cluster.kind, extId)).get(Vm.kind) ?? 0) + 1
  const maximum = limitOf(ctx, maximumVms)
  if (found > maximum)
    throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: `VMs of the cluster "${name}"`, maximum, found })
  const twin = vm.biosUuid && (await ctx.store.findOne(Vm, { 'cluster/extId': extId, biosUuid: vm.biosUuid }))
  if (twin) throw new ApiError('ADDRESS_IN_USE', { kind: `VM of the cluster "${name}"`, fields: 'biosUuid' })
}

interface Containers {
  readonly containers: Readonly<Record<string, string>>
  readonly problems: readonly ApiError[]
  readonly warnings: readonly string[]
}

/** The container that the mapping names, else the default one of the target. */
async function containersFor(ctx: Asking, vm: VmEntity, { from, to }: Clusters, mapping: Mapping): Promise<Containers> {
  const problems: ApiError[] = []
  const mapped = new Map<string, string>()
  for (const [index, { sourceStorageContainer, targetStorageContainer }] of mapping.entries()) {
    const at = `overrides/storageContainersMapping[${index}]/targetStorageContainer`
    const container = await ctx.store.get(StorageContainer, targetStorageContainer?.extId as string)
    mapped.set(sourceStorageContainer?.extId as string, targetStorageContainer?.extId as string)
    if (container?.clusterExtId === to.extId && container.isMarkedForRemoval !== true) continue
    const place = container?.clusterExtId === from.extId ? `the cluster "${from.name}"` : 'another cluster'
    const lies =
      container?.clusterExtId === to.extId ? 'is being removed' : `belongs to ${place}, not to the cluster "${to.name}"`
    problems.push(
      new ApiError('CONFLICT', { fault: `${at}: the storage container ${targetStorageContainer?.extId} ${lies}.` }),
    )
  }
  const fallback = await defaultContainer(ctx.store, to.extId).catch((error) => void problems.push(asProblem(error)))
  const files = allFilesOf(vm)
  const containers = files.flatMap(({ diskExtId, storageContainer }): [string, string][] => {
    const target = mapped.get(storageContainer?.extId as string) ?? fallback?.extId
    return target === undefined ? [] : [[diskExtId as string, target]]
  })
  const used = new Set(files.map(({ storageContainer }) => storageContainer?.extId))
  const warnings = [...mapped.keys()]
    .filter((extId) => !used.has(extId))
    .map((extId) => `The VM has no file on the storage container ${extId} of storageContainersMapping.`)
  const targets = new Map(containers)
  const placed = files.map((file) => ({ ...file, storageContainer: { extId: targets.get(file.diskExtId as string) } }))
  if (problems.length === 0) await requireRoom(ctx, placed).catch((error) => problems.push(asProblem(error)))
  return { containers: Object.fromEntries(targets), problems, warnings }
}
