/** Steps that all operations which change NICs share. Source: behaviour vmm.md 1.4, 1.16. */
import { Nic } from '@hyperplane/contract/vmm/vm/parts/nic'
import { ApiError, refuseAll } from '../../../../core/api-error.ts'
import { notFound } from '../../../../core/standard.ts'
import type { Reader } from '../../../../store/store.ts'
import { requireSubnetAttachable } from '../../../addressing/leases.ts'
import { unreachableSubnet } from '../../../scheduling/nic-reach.ts'
import { type NicEntity, type VmEntity, vcpusOf } from '../../../virtual-machines/entity.ts'
import { MacLease } from '../../../virtual-machines/mac-lease.ts'
import { hasVirtualFunction, requireProfile, virtualFunctionOf } from '../../../virtual-machines/virtual-functions.ts'
import { nicIn, readdressing, requireRequestedFree } from './nic-addresses.ts'
import { type EthernetNic, macInUse, nicFaults, nicOf, subnetFaults, subnetOf, withHeld } from './nics.ts'
import { changeOf, type PartChange, type PartKind } from './part.ts'

type Network = EthernetNic['networkInfo']

const coldFields = {
  model: ({ backingInfo }: NicEntity) => backingInfo?.model,
  nicType: ({ networkInfo }: NicEntity) => networkInfo?.nicType,
  numQueues: ({ backingInfo }: NicEntity) => backingInfo?.numQueues,
}

export const nicList: PartKind<'nics'> = {
  resource: Nic,
  field: 'nics',
  maximum: 64,
  addresses: {
    path: 'nicBackingInfo/macAddress',
    of: (vm) =>
      (vm.nics ?? []).flatMap(({ backingInfo }) => backingInfo?.macAddress ?? []).map((mac) => `MAC address ${mac}`),
  },
  coldFields: (before, after) =>
    hasVirtualFunction(before) || hasVirtualFunction(after)
      ? ['nicBackingInfo']
      : before === undefined || after === undefined
        ? []
        : Object.entries(coldFields).flatMap(([name, of]) => (of(before) === of(after) ? [] : name)),
}

/** Requested NIC. Its `ipv4Config` names every address that the NIC keeps. */
export type Wish<B> = (body: B, before: EthernetNic, store: Reader) => Promise<EthernetNic>

export const withNetwork = (nic: EthernetNic, network: Network): EthernetNic =>
  nicOf(nic.extId, nic.backingInfo, network, virtualFunctionOf(nic))

export const planned =
  <B>(wish: Wish<B>) =>
  async ({ partExtId, body }: PartChange<B>, vm: VmEntity, store: Reader): Promise<EthernetNic> => {
    const before = nicIn(vm, partExtId)
    if (before === undefined) throw notFound(Nic, partExtId, 'extId')
    return wish(body, before, store)
  }

/** With its own MAC address and present addresses. @throws ApiError when the VM cannot have the NIC */
export async function checked(store: Reader, vm: VmEntity, nic: EthernetNic): Promise<EthernetNic> {
  const subnet = await subnetOf(store, nic)
  const subnetExtId = nic.networkInfo.subnet?.extId
  if (subnet === undefined && subnetExtId !== undefined)
    throw new ApiError('VMM_ENTITY_NOT_FOUND', { kind: 'subnet', id: subnetExtId, attribute: 'subnet/extId' })
  await requireProfile(store, nic, '')
  refuseAll([...nicFaults(nic, '', vcpusOf(vm)), ...(subnet === undefined ? [] : subnetFaults(nic, subnet, ''))])
  if (subnet !== undefined) {
    requireSubnetAttachable(subnet)
    const refusal = await unreachableSubnet(store, vm, subnet)
    if (refusal !== undefined) throw refusal
  }
  await requireRequestedFree(store, nic)
  return withHeld(store, await withMac(store, nic))
}

async function withMac(store: Reader, nic: EthernetNic): Promise<EthernetNic> {
  const own = await store.get(MacLease, nic.extId)
  if (own !== undefined)
    return nicOf(nic.extId, { ...nic.backingInfo, macAddress: own.macAddress }, nic.networkInfo, virtualFunctionOf(nic))
  const { macAddress } = nic.backingInfo
  if (macAddress !== undefined && (await store.findOne(MacLease, { macAddress })) !== undefined)
    throw macInUse(macAddress)
  return nic
}

export const moving = <B>(verb: string, wish: Wish<B>, progress: number, operation?: string) =>
  changeOf<'nics', B>(
    nicList,
    verb,
    async ({ body, before, rest, store }) => checked(store, rest, await wish(body, before as EthernetNic, store)),
    readdressing({ ...stepNames, reserve: { name: 'reserve new', progress } }, planned(wish)),
    operation,
  )

const stepNames = { plug: { name: 'switch' }, release: 'release old' } as const
