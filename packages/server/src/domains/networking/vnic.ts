/** Source: behaviour networking.md 1.2 (listVnicsBySubnetId), 1.4 (migrateVnicById). */
import type { EntityOf } from '@hyperplane/contract'
import { type Vnic, vnicOperations } from '@hyperplane/contract/networking/vnic'
import { parseAddress, type WireAddress, writeAddress } from '../../core/ip-address.ts'
import { listOf } from '../../core/standard.ts'
import { addressOfLease, type Lease, type LeaseKind, leasesOfKind } from '../addressing/leases.ts'
import { implement, type ReadContext } from '../context.ts'
import { nicsOn } from './subnet-nics.ts'
import { migrate, requestedAddressFaults } from './vnic-migration.ts'

type VnicEntity = EntityOf<typeof Vnic>

export const vnic = implement(
  vnicOperations,
  {
    async listVnicsBySubnetId(ctx, request) {
      const { subnetExtId } = request.path
      const primary = await heldBy(ctx, subnetExtId, 'ASSIGNED')
      const secondary = await heldBy(ctx, subnetExtId, 'ASSIGNED_SECONDARY')
      const items = (await nicsOn(ctx.store, subnetExtId)).map(
        ({ extId, vmExtId, macAddress }): VnicEntity => ({
          extId,
          vmReference: vmExtId,
          ...(macAddress === undefined ? {} : { macAddress }),
          ...given('assignedIpv4Addresses', primary.get(extId)),
          ...given('assignedSecondaryIpv4Addresses', secondary.get(extId)),
        }),
      )
      const { entities, total } = listOf(items, request)
      return { entities: await withLearned(ctx, entities), total }
    },
    migrateVnicById: migrate,
  },
  { rules: { migrateVnicById: ({ body }) => requestedAddressFaults(body) } },
)

async function heldBy(
  ctx: ReadContext,
  subnetExtId: string,
  kind: LeaseKind,
): Promise<ReadonlyMap<string, WireAddress[]>> {
  const held = new Map<string, WireAddress[]>()
  for (const lease of await leasesOfKind(ctx.store, subnetExtId, kind)) {
    if (lease.family !== 'IPV4' || lease.holderExtId === undefined) continue
    held.set(lease.holderExtId, [...(held.get(lease.holderExtId) ?? []), shown(lease)])
  }
  return held
}

const shown = (lease: Lease): WireAddress => writeAddress(addressOfLease(lease))

/** Called with one page, so that only guests of that page are observed. */
async function withLearned(ctx: ReadContext, items: readonly VnicEntity[]): Promise<readonly VnicEntity[]> {
  const machines = new Set(items.flatMap((item) => item.vmReference ?? []))
  const guests = await ctx.drivers.hypervisor.observeGuests([...machines])
  return items.map((item) => {
    const texts = guests.get(item.vmReference ?? '')?.learnedAddresses.get(item.extId) ?? []
    const learned = texts.flatMap((text) => parseAddress('IPV4', text) ?? []).map(writeAddress)
    return { ...item, ...given('learnedIpv4Addresses', learned) }
  })
}

const given = <N extends string>(name: N, addresses: WireAddress[] = []): { readonly [K in N]?: WireAddress[] } =>
  addresses.length === 0 ? {} : ({ [name]: addresses } as { readonly [K in N]: WireAddress[] })
