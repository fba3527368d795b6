/** Subnets on the hosts of a virtual switch, and the VPC traffic that it carries. Source: behaviour networking.md 1.18, 1.20. */
import { isDeepStrictEqual } from 'node:util'
import type { EntityOf } from '@hyperplane/contract'
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { VpcVirtualSwitchMapping } from '@hyperplane/contract/networking/vpc-virtual-switch-mapping'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import type { Reader } from '../../../store/store.ts'
import type { StepContext, WriteContext } from '../../context.ts'
import { overlaySwitchOf } from '../../scheduling/overlay-switches.ts'
import { refuseWhileChanging } from '../busy.ts'
import { inUse, shownUsers, type User } from '../in-use.ts'
import { nicsOn } from '../subnet-nics.ts'
import { programmingOf } from '../subnet-tasks.ts'
import type { SwitchBody, SwitchEntity } from './rules.ts'

const hostIdsOf = (entity: Pick<SwitchEntity, 'clusters'> | undefined): readonly string[] =>
  entity?.clusters[0]?.hosts.map(({ extId }) => extId) ?? []

const subnetsOf = (store: Reader, { extId }: SwitchEntity) =>
  store.find(Subnet, { refersTo: { kind: VirtualSwitch.kind, extId } })

/** Overlay subnets, if the switch carries the VPC traffic of its cluster. */
async function overlaysOf(store: Reader, { extId, clusterExtId, isDefault = false }: SwitchEntity) {
  const mapped = await overlaySwitchOf(store, clusterExtId)
  if (mapped === undefined ? !isDefault : mapped !== extId) return []
  const overlays = await store.findWhere(Subnet, { subnetType: 'OVERLAY' })
  return overlays.filter(({ change }) => change?.verb !== 'create' && change?.verb !== 'delete')
}

/** @throws ApiError 409 while a subnet or the mapping of VPCs changes, or when a host is to leave on which VMs use the switch */
export async function refuseLeavingGuests(
  ctx: WriteContext,
  body: SwitchBody,
  stored: SwitchEntity,
  hosts: readonly EntityOf<typeof Host>[],
): Promise<void> {
  const { store } = ctx
  const own = await subnetsOf(store, stored)
  // Their tasks use the hosts that the switch has now.
  for (const subnet of own) refuseWhileChanging('Subnet', subnet)
  const mapping = await store.findOne(VpcVirtualSwitchMapping, { clusterExtId: stored.clusterExtId as string })
  if (mapping !== undefined) refuseWhileChanging('VPC virtual switch mapping', { ...mapping, name: mapping.extId })
  const staying = new Set(body.clusters[0]?.hosts.map(({ extId }) => extId))
  const leaving = new Map(hosts.flatMap(({ extId, hostName }) => (staying.has(extId) ? [] : [[extId, hostName]])))
  if (!hostIdsOf(stored).some((extId) => leaving.has(extId))) return
  const users = new Map<string, User>()
  for (const subnet of [...own, ...(await overlaysOf(store, stored))]) {
    const vmExtIds = (await nicsOn(store, subnet.extId)).map(({ vmExtId }) => vmExtId)
    for (const vm of await store.getMany(Vm, [...new Set(vmExtIds)]))
      if (vm.powerState !== 'OFF' && leaving.has(vm.host?.extId ?? ''))
        users.set(vm.extId, {
          ...{ kind: Vm, entity: vm, text: `VM ${vm.name} on ${leaving.get(vm.host?.extId as string)}` },
        })
  }
  if (users.size > 0) throw inUse('virtual switch', stored.name, await shownUsers(ctx, [...users.values()]))
}

/** As long as the task runs, the row has the former hosts. */
export async function programSubnets(ctx: StepContext, entity: SwitchEntity): Promise<boolean> {
  const hostExtIds = hostIdsOf(entity)
  const former = new Set(hostIdsOf(await ctx.store.get(VirtualSwitch, entity.extId)))
  const { networkFabric } = ctx.drivers
  const overlay = await networkFabric.overlayOf(entity.clusterExtId as string)
  if (overlay?.virtualSwitchExtId === entity.extId && !isDeepStrictEqual(overlay.hostExtIds, hostExtIds))
    await networkFabric.carryOverlay({ ...overlay, hostExtIds })
  for (const subnet of [...(await subnetsOf(ctx.store, entity)), ...(await overlaysOf(ctx.store, entity))]) {
    const { program } = await programmingOf(ctx.store, subnet)
    const elsewhere = program.hostExtIds.filter((host) => !former.has(host))
    await networkFabric.programSubnet({ ...program, hostExtIds: [...elsewhere, ...hostExtIds] })
  }
  return true
}
