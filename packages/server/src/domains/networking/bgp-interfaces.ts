/** Addresses at which a local gateway speaks. Source: behaviour networking.md 1.3, 1.9, 1.10. */
import { BgpSession } from '@hyperplane/contract/networking/bgp-session'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { type Address, type Family, readAddress, textOf, type WireAddress } from '../../core/ip-address.ts'
import type { Transaction } from '../../store/store.ts'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import { addressOfLease, type Lease, leaseAddress, leasesOf, release, textOfLease } from '../addressing/leases.ts'
import type { WriteContext } from '../context.ts'
import type { SessionEntity } from './bgp-view.ts'
import type { GatewayEntity } from './gateway/entity.ts'

const attributePath = 'localGatewayInterfaceIpAddress'

/** An interface that the gateway has on the subnet, or a new one. @throws ApiError 400, 409 */
export async function interfaceFor(
  ctx: WriteContext,
  gateway: GatewayEntity,
  uplink: SubnetEntity,
  family: Family,
  requested: WireAddress | undefined,
): Promise<Address> {
  const present = (await leasesOf(ctx.store, gateway.extId)).filter(({ subnetExtId }) => subnetExtId === uplink.extId)
  const text = textOf(requested)
  const own = present.find((lease) => (text === undefined ? lease.family === family : textOfLease(lease) === text))
  if (own !== undefined) return addressOfLease(own)
  const terms = { kind: 'GATEWAY_INTERFACE', holder: gateway.extId, family, attributePath } as const
  const address = requested && (readAddress(requested) as Address)
  return leaseAddress(ctx, uplink, address === undefined ? terms : { ...terms, address })
}

/** Releases interfaces that neither the gateway nor a session of it uses any more. */
export async function keepInterfaces(
  store: Transaction,
  gatewayExtId: string,
  { settled, released }: { readonly settled?: SessionEntity; readonly released?: string } = {},
): Promise<void> {
  const sessions = await store.find(BgpSession, { refersTo: { kind: Gateway.kind, extId: gatewayExtId } })
  const { change: updated, deployment } = (await store.get(Gateway, gatewayExtId)) ?? {}
  const used = new Set([textOf(settled?.localGatewayInterfaceIpAddress), ...(updated?.addresses ?? [])])
  for (const { extId, localGatewayInterfaceIpAddress, change } of sessions) {
    // A session whose update failed still holds what it did not get.
    if (extId === released || extId === settled?.extId) continue
    used.add(textOf(localGatewayInterfaceIpAddress)).add(textOf(change?.localGatewayInterfaceIpAddress))
  }
  // With the subnet: the gateway may have left another one where it had the same address.
  const own = new Set(
    (deployment?.interfaces ?? []).map(({ ipAddress, subnetReference }) => `${subnetReference} ${textOf(ipAddress)}`),
  )
  const leases = await leasesOf(store, gatewayExtId)
  const isUnused = (lease: Lease): boolean =>
    !used.has(textOfLease(lease)) && !own.has(`${lease.subnetExtId} ${textOfLease(lease)}`)
  await release(store, leases.filter(isUnused))
}
