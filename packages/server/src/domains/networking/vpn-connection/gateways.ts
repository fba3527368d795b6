/** Which gateways can have a tunnel with each other. Source: behaviour networking.md 1.9, 1.11. */
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { type ApiError, refuseAll } from '../../../core/api-error.ts'
import type { WireAddress } from '../../../core/ip-address.ts'
import type { WriteContext } from '../../context.ts'
import { type GatewayEntity, localOf, localVpnOf, remoteVpnOf } from '../gateway/entity.ts'
import { nameFor } from '../in-use.ts'
import { invalidField } from '../ip-config.ts'
import { connectionsOf, type Ends, endsOf } from './program.ts'

/** @param attributePath of the answer @param names of the gateways in it */
export function pairFaults(
  { local, remote }: Ends,
  attributePath: string,
  names = { local: local.name, remote: remote.name },
): readonly ApiError[] {
  const [own, other] = [localVpnOf(local), remoteVpnOf(remote)]
  const asn = own?.ebgpConfig?.asn
  const faults: ApiError[] = []
  if (asn !== undefined && asn === other?.ebgpConfig?.asn)
    faults.push(
      invalidField(attributePath, `expected different AS numbers, found ${asn} for ${names.local} and ${names.remote}`),
    )
  const [from, to] = [familyOf(localOf(local)?.serviceAddress), familyOf(other?.serviceAddress)]
  if (from !== to)
    faults.push(
      invalidField(
        attributePath,
        `expected addresses of one family, found ${from} for ${names.local} and ${to} for ${names.remote}`,
      ),
    )
  return faults
}

const familyOf = (address: WireAddress | undefined): string => (address?.ipv4 === undefined ? 'IPv6' : 'IPv4')

/** @param gateway as an update would store it @throws ApiError 400 when its tunnels could not work */
export async function refuseUnfitForTunnels(ctx: WriteContext, gateway: GatewayEntity): Promise<void> {
  for (const connection of await connectionsOf(ctx.store, gateway.extId)) {
    const ends = await endsOf(ctx.store, connection, gateway)
    const nameOf = async (end: GatewayEntity): Promise<string> =>
      end.extId === gateway.extId ? end.name : nameFor(ctx, Gateway, end)
    refuseAll(pairFaults(ends, 'services', { local: await nameOf(ends.local), remote: await nameOf(ends.remote) }))
  }
}
