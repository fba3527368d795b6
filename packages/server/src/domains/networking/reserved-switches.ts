/** Virtual switches that carry the traffic of VPCs alone (`isAllTrafficPermitted: false`). Source: behaviour networking.md 1.20. */
import type { EntityOf } from '@hyperplane/contract'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import type { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { VpcVirtualSwitchMapping } from '@hyperplane/contract/networking/vpc-virtual-switch-mapping'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import type { WriteContext } from '../context.ts'
import type { MappingEntity } from '../scheduling/overlay-switches.ts'
import { refuseWhileChanging } from './busy.ts'
import { refusal, shownUsers } from './in-use.ts'

type SwitchEntity = EntityOf<typeof VirtualSwitch>

/** External VLANs carry traffic of VPCs, and the default switch that of the hosts: both stay. */
const isPlainVlan = ({ isExternal, subnetType }: SubnetEntity): boolean => subnetType === 'VLAN' && isExternal !== true

/** @throws ApiError 409 for a VLAN on a switch that is reserved for VPCs, or is about to be */
export async function refuseReservedSwitch(
  { store }: WriteContext,
  subnet: SubnetEntity,
  virtualSwitch: SwitchEntity | undefined,
): Promise<void> {
  if (virtualSwitch === undefined || virtualSwitch.isDefault === true || !isPlainVlan(subnet)) return
  const mapping = await store.findOne(VpcVirtualSwitchMapping, { clusterExtId: virtualSwitch.clusterExtId! })
  if (mapping === undefined) return
  const { change, extId, isAllTrafficPermitted, virtualSwitchUuid } = mapping
  if (change?.virtualSwitchUuid === virtualSwitch.extId)
    refuseWhileChanging('VPC virtual switch mapping', { ...mapping, name: extId })
  if (virtualSwitchUuid !== virtualSwitch.extId || isAllTrafficPermitted === true) return
  throw refusal(
    `The virtual switch ${virtualSwitch.name} carries traffic of VPCs only. Choose another one, or map it with isAllTrafficPermitted true.`,
  )
}

/** @throws ApiError 409 for a switch that has VLANs, and while an update of a VLAN of the cluster may choose it */
export async function refuseReservingForVpcs(
  ctx: WriteContext,
  { clusterExtId, isAllTrafficPermitted }: MappingEntity,
  virtualSwitch: SwitchEntity,
): Promise<void> {
  if (isAllTrafficPermitted === true || virtualSwitch.isDefault === true) return
  const subnets = (await ctx.store.findWhere(Subnet, { clusterReference: clusterExtId! })).filter(isPlainVlan)
  for (const subnet of subnets) if (subnet.change?.verb === 'update') refuseWhileChanging('Subnet', subnet)
  const users = subnets.filter(({ virtualSwitchReference }) => virtualSwitchReference === virtualSwitch.extId)
  if (users.length === 0) return
  const names = await shownUsers(
    ctx,
    users.map((entity) => ({ kind: Subnet, entity })),
  )
  throw refusal(
    `The virtual switch ${virtualSwitch.name} cannot carry traffic of VPCs only: ${names.slice(0, 5).join(', ')} use it. Send isAllTrafficPermitted true, or move them first.`,
  )
}
