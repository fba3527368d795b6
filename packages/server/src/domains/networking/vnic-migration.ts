/** Source: behaviour networking.md 1.4 (migrateVnicById). */
import type { EntityOf, ValueOf } from '@hyperplane/contract'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vnic, type VnicMigrationItemSpec } from '@hyperplane/contract/networking/vnic'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../core/api-error.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import { type Address, formatAddress, readAddress } from '../../core/ip-address.ts'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import { requireLeasable, requireSubnetAttachable } from '../addressing/leases.ts'
import { affected, mayRefer, type WriteContext } from '../context.ts'
import { requireClusterReachable } from '../registrations/reachability.ts'
import { unreachableSubnet } from '../scheduling/nic-reach.ts'
import type { NicEntity, VmEntity } from '../virtual-machines/entity.ts'
import { MacLease } from '../virtual-machines/mac-lease.ts'
import { migrateVnic } from '../virtual-machines/vnic-migration.ts'
import { refusal } from './in-use.ts'
import { invalidField } from './ip-config.ts'

type Body = ValueOf<typeof VnicMigrationItemSpec>

export function requestedAddressFaults({ requestedIpAddresses = [] }: Body): readonly ApiError[] {
  const path = (index: number): string => `requestedIpAddresses[${index}]`
  const read = requestedIpAddresses.map(readAddress)
  return read.flatMap((address, index) => {
    if (typeof address === 'string') return [invalidField(path(index), address)]
    if (address.family === 'IPV6')
      return [invalidField(path(index), 'expected an IPv4 address: NICs learn their IPv6 addresses from the subnet')]
    return index === 0 ? [] : [invalidField(path(index), 'expected one address for each family')]
  })
}

export async function migrate(
  ctx: WriteContext,
  { path, body }: { readonly path: { readonly extId: string }; readonly body: Body },
): Promise<TaskStarted> {
  const { vm, nic } = await vnicOf(ctx, path.extId)
  const subnet = (await ctx.store.get(Subnet, body.networkUuid)) as SubnetEntity
  const { requestedIpAddresses: [requested] = [] } = body
  const address = requested && (readAddress(requested) as Address)
  await refuse(ctx, vm, nic, subnet)
  if (address !== undefined) await requireLeasable(ctx.store, subnet, [address], () => 'requestedIpAddresses[0]')
  const input = { subnetExtId: subnet.extId, ...(address && { address: formatAddress(address) }) }
  return ctx.startTask(
    migrateVnic,
    { vmExtId: vm.extId, partExtId: path.extId, body: input },
    {
      operation: 'MIGRATE_VNIC',
      description: 'Migrate vNIC to another subnet',
      affected: [{ extId: path.extId, rel: Vnic.rel }, affected(Subnet, subnet)],
      locks: [path.extId, vm.extId],
      clusterExtIds: [vm.cluster?.extId as string],
    },
  )
}

/** @throws ApiError 404 for a NIC of a VM that the caller cannot see */
async function vnicOf(
  ctx: WriteContext,
  nicExtId: string,
): Promise<{ readonly vm: VmEntity; readonly nic: NicEntity }> {
  const vmExtId = (await ctx.store.get(MacLease, nicExtId))?.vmExtId
  const vm = vmExtId === undefined ? undefined : await ctx.store.get(Vm, vmExtId)
  const nic = vm?.nics?.find(({ extId }) => extId === nicExtId)
  if (vm === undefined || nic === undefined || !(await mayRefer(ctx, Vm, vm)))
    throw new ApiError('NETWORKING_ENTITY_NOT_FOUND', { kind: 'vNIC', id: nicExtId })
  return { vm, nic }
}

async function refuse(
  ctx: WriteContext,
  vm: VmEntity,
  { networkInfo }: NicEntity,
  subnet: EntityOf<typeof Subnet>,
): Promise<void> {
  const present = networkInfo?.subnet?.extId
  if (present === subnet.extId) throw invalidField('networkUuid', `expected another subnet, found that of the NIC`)
  if (subnet.isExternal === true) throw invalidField('networkUuid', 'expected a subnet that is not external')
  if (present === undefined) throw refusal('The NIC is not on a subnet.')
  if (networkInfo?.vlanMode === 'TRUNK' && subnet.subnetType === 'OVERLAY')
    throw refusal(`The NIC is a trunk, and the subnet ${subnet.name} is an overlay subnet.`)
  await requireClusterReachable(ctx, vm.cluster?.extId)
  requireSubnetAttachable(subnet)
  const unreached = await unreachableSubnet(ctx.store, vm, subnet)
  if (unreached !== undefined) throw refusal(unreached.message)
  if (vm.migrationTaskExtId !== undefined) {
    const values = { kind: 'VM', name: vm.name, taskExtId: vm.migrationTaskExtId, change: 'migrated' }
    throw new ApiError('NETWORKING_ENTITY_BUSY', values)
  }
}
