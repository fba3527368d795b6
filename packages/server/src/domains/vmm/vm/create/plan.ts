/** Plans a new VM: adds defaults, ids and addresses. Source: behaviour vmm.md 1.1 to 1.4, 3.9. */

import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError, refuseAll } from '../../../../core/api-error.ts'
import type { DiskSource } from '../../../../drivers/hypervisor.ts'
import { defaultContainer } from '../../../containers/default-container.ts'
import { requireContainersNotRemoved } from '../../../containers/storage-containers.ts'
import { limit, limitOf } from '../../../limits.ts'
import { refuseReadOnly, requireClusterReachable } from '../../../registrations/reachability.ts'
import { apcConfigOf } from '../../../scheduling/cpu-models.ts'
import type { FileBacking, VmBody, VmEntity } from '../../../virtual-machines/entity.ts'
import { vcpusOf } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { requireProfile } from '../../../virtual-machines/virtual-functions.ts'
import { nvramPath, sizedNvram, withFirmware, withMachineType } from '../firmware.ts'
import { described, deviceConstraints } from '../parts/devices.ts'
import { type EthernetNic, nicBodyFaults, readNic, subnetFaults } from '../parts/nics.ts'
import { serialPortsOf } from '../parts/serial-port.ts'
import { assignSlots, misplaced } from '../parts/slots.ts'
import { configurationFaults } from '../rules.ts'
import { refuseUnbuilt } from '../unbuilt.ts'
import { type Constraint, chooseCluster } from './clusters.ts'
import {
  type Contents,
  fileConstraints,
  filesGiven,
  groupConstraints,
  partsOf,
  placed,
  slotWishes,
  withSources,
} from './plan-disks.ts'
import type { Planning } from './planning.ts'

/** Per cluster. Source: behaviour vmm.md 3.9. */
export const maximumVms = limit('vmsOfCluster', 5000)

export interface PlannedVm {
  readonly vm: VmEntity
  readonly groups: readonly { readonly volumeGroupExtId: string; readonly index: number }[]
  /** By id of a new file: the content that it copies, for files of `contents`. */
  readonly copies: Readonly<Record<string, DiskSource>>
}

/** Rules of the body alone. @throws ApiError 501 for fields that are not implemented */
export function newVmBodyFaults(body: VmBody): ApiError[] {
  refuseUnbuilt('createVm', body)
  const config = withMachineType(body)
  return [
    ...configurationFaults(config),
    ...misplaced(slotWishes(config)),
    ...(body.nics ?? []).flatMap((nic, index) => nicBodyFaults(nic, `nics[${index}]/`, vcpusOf(config))),
  ]
}

export async function planVm(
  ctx: Planning,
  body: VmBody,
  contents: Contents,
  // Seeds choose the first id that a creation draws.
  extId = ctx.ids.uuid(),
): Promise<PlannedVm> {
  const config = withMachineType(body)
  const nics = (body.nics ?? []).map((nic) => readNic(nic, () => ctx.ids.uuid()))
  for (const [index, nic] of nics.entries()) await requireProfile(ctx.store, nic, `nics[${index}]/`)
  const wishes = slotWishes(config)
  const subnets = await subnetsOf(ctx, nics)
  const files = await withSources(ctx, filesGiven(body), contents)
  const wanted = withIds(ctx, body)
  const isNamed = body.cluster?.extId !== undefined
  const cluster = await chooseCluster(ctx, body.cluster?.extId, [
    ...subnets,
    ...(await fileConstraints(ctx, files, isNamed)),
    // In a named cluster, `described` looks for the devices.
    ...(isNamed ? [] : await deviceConstraints(ctx, wanted)),
    ...(await groupConstraints(ctx, body)),
  ])
  await requireClusterReachable(ctx, cluster.extId)
  refuseReadOnly(cluster, 'VMs')
  refuseAll(architectureFaults(config, cluster))
  const pinnedHostExtId = await agentHost(ctx, body, cluster)
  const pin = pinnedHostExtId === undefined ? {} : { pinnedHostExtId }
  await requireRoomInCluster(ctx, cluster)
  const { slots, refusals } = assignSlots(wishes, [])
  refuseAll(refusals)

  const container = (await defaultContainer(ctx.store, cluster.extId)).extId
  const backings = files.map((file) => placed(file, container, cluster.extId, ctx.ids.uuid()))
  await requireContainersNotRemoved(
    ctx.store,
    backings.flatMap(({ storageContainer }) => storageContainer?.extId ?? []),
  )
  const nvram = backings[files.findIndex(({ path }) => path === nvramPath)]
  const devices = await described(ctx, { extId, cluster: { extId: cluster.extId }, ...pin }, wanted)
  const { groups, ...parts } = partsOf(body, files, backings, slots, () => ctx.ids.uuid())
  const vm = {
    ...vmOf(ctx, extId, config, cluster.extId),
    ...firmwareOf(ctx, config, container, nvram),
    apcConfig: await apcConfigOf(ctx.store, config, cluster.extId),
    ...withoutEmpty({ ...parts, ...devices, nics, serialPorts: serialPortsOf(body, () => ctx.ids.uuid()) }),
    ...pin,
  }
  const copied = files.flatMap(({ path, source }, index): [string, DiskSource][] =>
    contents.has(path) && source !== undefined ? [[backings[index]?.diskExtId as string, source.source]] : [],
  )
  return { vm, groups, copies: Object.fromEntries(copied) }
}

function firmwareOf(
  { ids }: Planning,
  config: VmBody,
  containerExtId: string,
  nvram: FileBacking | undefined,
): Pick<VmEntity, 'bootConfig' | 'vtpmConfig'> {
  const files = { nvramExtId: ids.uuid(), tpmExtId: ids.uuid(), containerExtId }
  return withFirmware(config, nvram === undefined ? files : { ...files, nvram: sizedNvram(nvram) })
}

function vmOf(ctx: Planning, extId: string, config: VmBody, clusterExtId: string): VmEntity {
  const { host: _host, disks: _disks, cdRoms: _drives, nics: _nics, serialPorts: _ports, ...plain } = config
  const now = ctx.clock.iso()
  const hasOwner = config.ownershipInfo?.owner?.extId !== undefined
  return {
    ...plain,
    extId,
    tenantId: ctx.tenantId,
    createTime: now,
    updateTime: now,
    powerState: 'OFF',
    cluster: { extId: clusterExtId },
    biosUuid: config.biosUuid ?? extId,
    generationUuid: ctx.ids.uuid(),
    ...(hasOwner ? {} : { ownershipInfo: { owner: { extId: ctx.caller.extId } } }),
    isCrossClusterMigrationInProgress: false,
    ...(config.guestCustomization === undefined ? {} : { vmGuestCustomizationStatus: 'PENDING' }),
  }
}

export const withoutEmpty = <T extends Record<string, readonly unknown[]>>(parts: T): Partial<T> =>
  Object.fromEntries(Object.entries(parts).filter(([, items]) => items.length > 0)) as Partial<T>

const withIds = (ctx: Planning, { gpus = [], pcieDevices = [] }: VmBody): Pick<VmEntity, 'gpus' | 'pcieDevices'> => ({
  gpus: gpus.map((gpu) => ({ ...gpu, extId: ctx.ids.uuid() })),
  pcieDevices: pcieDevices.map((device) => ({ ...device, extId: ctx.ids.uuid() })),
})

async function requireRoomInCluster(ctx: Planning, cluster: EntityOf<typeof Cluster>): Promise<void> {
  // Referrers include VMs that are being created.
  const found = ((await ctx.store.referrerCounts(Cluster.kind, cluster.extId)).get(Vm.kind) ?? 0) + 1
  const maximum = limitOf(ctx, maximumVms)
  if (found > maximum) throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: 'VMs of the cluster', maximum, found })
}

export function architectureFaults(config: VmBody, cluster: EntityOf<typeof Cluster>): ApiError[] {
  const isPower = cluster.config?.clusterArch === 'PPC64LE'
  if (config.machineType === 'PSERIES' && !isPower)
    return [fault('machineType', 'PC or Q35 on this cluster', 'PSERIES')]
  return []
}

async function subnetsOf(ctx: Planning, nics: readonly EthernetNic[]): Promise<Constraint[]> {
  const constraints: Constraint[] = []
  const faults: ApiError[] = []
  for (const [index, nic] of nics.entries()) {
    const extId = nic.networkInfo?.subnet?.extId
    const subnet = extId === undefined ? undefined : await ctx.store.get(Subnet, extId)
    if (subnet === undefined) continue
    const path = `nics[${index}]`
    faults.push(...subnetFaults(nic, subnet, `${path}/`))
    // An overlay subnet is available on every cluster.
    if (subnet.subnetType === 'VLAN' && subnet.clusterReference !== undefined) {
      constraints.push({ path, what: `subnet ${subnet.name}`, clusterExtIds: [subnet.clusterReference] })
    }
  }
  refuseAll(faults)
  return constraints
}

async function agentHost(ctx: Planning, body: VmBody, cluster: EntityOf<typeof Cluster>): Promise<string | undefined> {
  const extId = body.isAgentVm === true ? body.host?.extId : undefined
  if (extId === undefined) return undefined
  const host = await ctx.store.get(Host, extId)
  if (host?.cluster.uuid === cluster.extId) return extId
  throw new ApiError('VMM_ENTITY_NOT_FOUND', { kind: 'host', id: extId, attribute: 'host/extId' })
}
