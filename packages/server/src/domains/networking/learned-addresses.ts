/** Leases addresses in use when a VLAN becomes managed. Source: behaviour networking.md 1.2 (ipConfig changes). */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { formatAddress, isInRange, parseAddress } from '../../core/ip-address.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Reader } from '../../store/store.ts'
import { hostsOf, planOf, type SubnetEntity } from '../addressing/address-plan.ts'
import { holdersOf, type LeasingContext, leaseAddress } from '../addressing/leases.ts'
import { nicsOn } from './subnet-nics.ts'

export interface Learned {
  readonly nicExtId: string
  readonly vmExtId: string
  readonly address: string
}

export async function learnedOn(
  ctx: { readonly store: Reader; readonly drivers: Drivers },
  subnetExtId: string,
): Promise<readonly Learned[]> {
  const nics = await nicsOn(ctx.store, subnetExtId)
  const guests = await ctx.drivers.hypervisor.observeGuests([...new Set(nics.map(({ vmExtId }) => vmExtId))])
  return nics.flatMap(({ extId, vmExtId }) =>
    (guests.get(vmExtId)?.learnedAddresses.get(extId) ?? []).map((address) => ({ nicExtId: extId, vmExtId, address })),
  )
}

export async function adoptLearned(
  ctx: LeasingContext,
  subnet: SubnetEntity,
  learned: readonly Learned[],
): Promise<void> {
  const prefix = planOf(subnet.ipConfig).IPV4?.prefix
  if (prefix === undefined) return
  for (const { nicExtId, vmExtId, address: text } of learned) {
    const address = parseAddress('IPV4', text)
    if (address === undefined || !isInRange(hostsOf(prefix), address.value)) continue
    if ((await holdersOf(ctx.store, subnet.extId, [address])).length > 0) continue
    await leaseAddress(ctx, subnet, { kind: 'ASSIGNED', holder: nicExtId, address })
    await showOnNic(ctx, vmExtId, nicExtId, formatAddress(address))
  }
}

async function showOnNic(ctx: LeasingContext, vmExtId: string, nicExtId: string, value: string): Promise<void> {
  const vm = await ctx.store.get(Vm, vmExtId)
  if (vm === undefined) return
  const ipv4Config = { shouldAssignIp: true, ipAddress: { value, prefixLength: 32 } }
  const nics = (vm.nics ?? []).map((nic) =>
    nic.extId !== nicExtId
      ? nic
      : {
          ...nic,
          networkInfo: { ...nic.networkInfo, ipv4Config },
          nicNetworkInfo: { ...nic.nicNetworkInfo, ipv4Config },
        },
  )
  // No client changed the VM, so its ETag must stay.
  await ctx.store.observe(Vm, vmExtId, { nics })
}
