/** Which gateways can have a tunnel with each other. Source: behaviour networking.md 1.9, 1.11. */
import { type ApiError, refuseAll } from '../../../core/api-error.ts'
import type { WireAddress } from '../../../core/ip-address.ts'
import type { WriteContext } from '../../context.ts'
import { type GatewayEntity, localOf, localVpnOf, remoteVpnOf } from '../gateway/entity.ts'
import { fault } from '../ip-config.ts'
import { connectionsOf, type Ends, endsOf } from './program.ts'

/** @param attributePath of the answer */
export function pairFaults({ local, remote }: Ends, attributePath: string): readonly ApiError[] {
  const [own, other] = [localVpnOf(local), remoteVpnOf(remote)]
  const asn = own?.ebgpConfig?.asn
  const faults: ApiError[] = []
  if (asn !== undefined && asn === other?.ebgpConfig?.asn)
    faults.push(
      fault(attributePath, `expected different AS numbers, found ${asn} for ${local.name} and ${remote.name}`),
    )
  const [from, to] = [familyOf(localOf(local)?.serviceAddress), familyOf(other?.serviceAddress)]
  if (from !== to)
    faults.push(
      fault(
        attributePath,
        `expected addresses of one family, found ${from} for ${local.name} and ${to} for ${remote.name}`,
      ),
    )
  return faults
}

const familyOf = (address: WireAddress | undefined): string => (address?.ipv4 === undefined ? 'IPv6' : 'IPv4')

/** @param gateway as an update would store it @throws ApiError 400 when its tunnels could not work */
export async function refuseUnfitForTunnels(ctx: WriteContext, gateway: GatewayEntity): Promise<void> {
  for (const connection of await connectionsOf(ctx.store, gateway.extId)) {
    const faults = pairFaults(await endsOf(ctx.store, connection, gateway), 'services')
    refuseAll(faults)
  }
}
