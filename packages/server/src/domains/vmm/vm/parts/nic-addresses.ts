/** New addresses are leased first, former ones released last: a failure changes nothing. Source: vmm.md 1.4, 1.16; networking.md 1.3. */

import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { formatAddress } from '../../../../core/ip-address.ts'
import type { Reader, Transaction } from '../../../../store/store.ts'
import { floatingIpsOf } from '../../../addressing/floating-ips.ts'
import { addressOfLease, type Lease, leasesOf, release, requireLeasable } from '../../../addressing/leases.ts'
import type { RecordContext, Step, StepContext } from '../../../context.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { MacLease } from '../../../virtual-machines/mac-lease.ts'
import { endUnchanged, requireVm } from '../admission.ts'
import {
  asVmm,
  type EthernetNic,
  ethernetNicsOf,
  leaseRequestedAddresses,
  requestedAddresses,
  requireRoomOnSubnet,
  subnetOf,
  takeFreeAddress,
} from './nics.ts'
import type { PartChange, PartTask } from './part.ts'

export type OfNic = Pick<PartChange<unknown>, 'partExtId' | 'vmExtId'>

export const nicIn = (vm: VmEntity, extId: string): EthernetNic | undefined =>
  ethernetNicsOf(vm).find((nic) => nic.extId === extId)

/** @throws ApiError 409 when another holder has an address that the NIC requests, or it is outside the subnet */
export async function requireRequestedFree(store: Reader, nic: EthernetNic): Promise<void> {
  const subnet = await subnetOf(store, nic)
  const held = (await leasesOf(store, nic.extId)).filter(({ subnetExtId }) => subnetExtId === subnet?.extId)
  const own = new Set(held.map((lease) => formatAddress(addressOfLease(lease))))
  for (const { address, attributePath } of requestedAddresses(nic)) {
    const text = formatAddress(address)
    if (subnet === undefined || own.has(text)) continue
    await asVmm(subnet, text, () => requireLeasable(store, subnet, [address], () => attributePath))
  }
}

/** Names of the steps; `plug` may take a time of its own. */
export interface Readdressing {
  readonly reserve: { readonly name: string; readonly progress: number }
  readonly plug: Pick<Step<never>, 'name' | 'seconds'>
  readonly release: string
}

/**
 * Reserves addresses, gives the domain the changed NIC, then releases addresses that the NIC no longer has.
 * @param planned made from the stored NIC; its `ipv4Config` names the addresses that it keeps
 */
export const readdressing =
  <B>(
    { reserve, plug, release }: Readdressing,
    planned: (change: PartChange<B>, vm: VmEntity, store: Reader) => Promise<EthernetNic>,
  ) =>
  (task: PartTask<B>): PartTask<B> => {
    const [define, store] = task.steps as [Step<PartChange<B>>, Step<PartChange<B>>]
    return {
      ...task,
      // The steps before it check everything; the release only goes forward.
      pointOfNoReturn: release,
      steps: [
        {
          ...reserve,
          record: async (ctx, change) => {
            const vm = await requireVm(ctx.store, change.vmExtId, 'update')
            await reserveAddresses(ctx, await planned(change, vm, ctx.store))
          },
          unrecord: async (ctx, change) => {
            await keepShownAddresses(ctx, change)
          },
        },
        { ...define, ...store, ...plug, progress: 80 },
        {
          name: release,
          acts: async (ctx, { partExtId }) => (await floatingIpsOf(ctx.store, [{ extId: partExtId }])).length > 0,
          run: async (ctx, change) => {
            for (const { extId } of await staleFloatingIps(ctx, change))
              await ctx.drivers.networkFabric.removeFloatingIp(extId)
          },
          record: async (ctx, change) => {
            await keepShownAddresses(ctx, change)
            await endUnchanged(ctx, change)
          },
        },
      ],
    }
  }

/** Leases the addresses that the planned NIC requests; the addresses of the stored one are released last. */
export async function reserveAddresses(ctx: RecordContext, nic: EthernetNic): Promise<void> {
  const named = new Set(requestedAddresses(nic).map(({ address }) => formatAddress(address)))
  const subnetExtId = nic.networkInfo.subnet?.extId
  for (const lease of await leasesOf(ctx.store, nic.extId)) {
    const stays = lease.subnetExtId === subnetExtId && named.has(formatAddress(addressOfLease(lease)))
    if (!stays) await markLeaving(ctx.store, lease, true)
  }
  await countOnSubnet(ctx, nic)
  await leaseRequestedAddresses(ctx, nic)
  await takeFreeAddress(ctx, nic)
}

/** The subnet counts the NIC from the reservation on. */
async function countOnSubnet(ctx: RecordContext, nic: EthernetNic): Promise<void> {
  const subnetExtId = nic.networkInfo.subnet?.extId
  if ((await ctx.store.get(MacLease, nic.extId))?.subnetExtId === subnetExtId) return
  await requireRoomOnSubnet(ctx, nic)
  await ctx.store.observe(MacLease, nic.extId, { subnetExtId })
}

/** Makes the leases those of the addresses that the stored NIC shows. */
export async function keepShownAddresses(ctx: RecordContext, { vmExtId, partExtId }: OfNic): Promise<void> {
  const { leaving, nic } = await staleLeases(ctx.store, { vmExtId, partExtId })
  await release(ctx.store, leaving)
  if (nic === undefined) return
  await ctx.store.observe(MacLease, nic.extId, { subnetExtId: nic.networkInfo.subnet?.extId })
  const primary = nic.networkInfo.ipv4Config?.ipAddress?.value
  for (const lease of await leasesOf(ctx.store, nic.extId)) {
    const kind = formatAddress(addressOfLease(lease)) === primary ? 'ASSIGNED' : 'ASSIGNED_SECONDARY'
    await markLeaving(ctx.store, lease, undefined)
    if (lease.kind !== kind) await ctx.store.observe(AddressLease, lease.extId, { kind })
  }
}

async function markLeaving(store: Transaction, lease: Lease, isLeaving: true | undefined): Promise<void> {
  if (lease.isLeaving !== isLeaving) await store.observe(AddressLease, lease.extId, { isLeaving } as Partial<Lease>)
}

interface StaleLeases {
  readonly nic: EthernetNic | undefined
  readonly leaving: readonly Lease[]
}

async function staleLeases(store: Reader, { vmExtId, partExtId }: OfNic): Promise<StaleLeases> {
  const nic = nicIn(await requireVm(store, vmExtId), partExtId)
  const shown = new Set(nic === undefined ? [] : requestedAddresses(nic).map(({ address }) => formatAddress(address)))
  const subnetExtId = nic?.networkInfo.subnet?.extId
  const isShown = (lease: Lease): boolean =>
    lease.subnetExtId === subnetExtId && shown.has(formatAddress(addressOfLease(lease)))
  return { nic, leaving: (await leasesOf(store, partExtId)).filter((lease) => !isShown(lease)) }
}

async function staleFloatingIps({ store }: Pick<StepContext, 'store'>, change: OfNic) {
  const { leaving } = await staleLeases(store, change)
  const texts = new Set(leaving.map((lease) => formatAddress(addressOfLease(lease))))
  const translated = await floatingIpsOf(store, [{ extId: change.partExtId }])
  return translated.filter(({ privateIp }) => texts.has(privateIp ?? ''))
}
