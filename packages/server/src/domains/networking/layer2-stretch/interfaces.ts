/** Addresses of a stretch at both sites. Source: behaviour networking.md 1.3 (STRETCH_INTERFACE), 1.12. */
import { ApiError, refuseAll } from '../../../core/api-error.ts'
import { defined } from '../../../core/defined.ts'
import {
  type Address,
  formatAddress,
  formatPrefix,
  isInRange,
  readAddress,
  textOf,
  type WireAddress,
  writeAddress,
  writeAsGiven,
} from '../../../core/ip-address.ts'
import type { Transaction } from '../../../store/store.ts'
import { type AddressPlan, familyOf, hostsOf, planOf, type SubnetEntity } from '../../addressing/address-plan.ts'
import { leaseAddress, leasesOf, release, textOfLease } from '../../addressing/leases.ts'
import type { WriteContext } from '../../context.ts'
import { invalidField } from '../ip-config.ts'
import type { ConnectionEntity } from '../vpn-connection/rules.ts'
import type { SiteParams, StretchEntity } from './entity.ts'
import type { StretchReferences } from './references.ts'

/** With values from their subnets. Leases the local interface. @throws ApiError 400, 409 */
export async function sitesFor(
  ctx: WriteContext,
  entity: StretchEntity,
  { connection, remoteIpConfig, subnet }: StretchReferences,
  stored: StretchEntity | undefined,
): Promise<Pick<StretchEntity, 'localSiteParams' | 'remoteSiteParams'>> {
  const { localSiteParams: local, remoteSiteParams: remote } = entity
  const [ownPlan, remotePlan] = [planOf(subnet.ipConfig), planOf(remoteIpConfig)]
  refuseAll([
    ...gatewayFaults(local, ownPlan, 'localSiteParams'),
    ...gatewayFaults(remote, remotePlan, 'remoteSiteParams'),
    ...remoteInterfaceFaults(remote, remotePlan),
    ...(connection === undefined ? [] : vpnInterfaceFaults(entity, connection)),
  ])
  const stretchInterfaceIpAddress = await interfaceFor(ctx, entity, subnet, remotePlan, stored)
  if (textOf(stretchInterfaceIpAddress) === textOf(remote.stretchInterfaceIpAddress))
    throw invalidField(
      'remoteSiteParams/stretchInterfaceIpAddress',
      'expected another address than that of the local interface',
    )
  return {
    localSiteParams: defined({ ...local, ...gatewayOf(ownPlan), ...ofConnection, stretchInterfaceIpAddress }),
    remoteSiteParams: defined({ ...remote, ...gatewayOf(remotePlan), ...ofConnection }),
  }
}

/** Answers show the present addresses of the connection. */
const ofConnection = { vpnInterfaceIPAddress: undefined }

/** An absent address keeps the present one, or is the next free one. */
async function interfaceFor(
  ctx: WriteContext,
  { extId, localSiteParams: { stretchInterfaceIpAddress: given } }: StretchEntity,
  subnet: SubnetEntity,
  remotePlan: AddressPlan,
  stored: StretchEntity | undefined,
): Promise<SiteParams['stretchInterfaceIpAddress']> {
  const current = stored?.localSiteParams.stretchInterfaceIpAddress
  if (current !== undefined && [undefined, textOf(current)].includes(textOf(given))) return current
  const attributePath = 'localSiteParams/stretchInterfaceIpAddress'
  const terms = { kind: 'STRETCH_INTERFACE', holder: extId, attributePath } as const
  if (given === undefined)
    return writeAddress(await leaseAddress(ctx, subnet, { ...terms, family: familyOf(planOf(subnet.ipConfig)) }))
  const address = readAddress(given) as Address
  const isRemote = remotePlan[address.family]?.pools.some((pool) => isInRange(pool, address.value)) === true
  if (isRemote)
    throw new ApiError('IP_ADDRESS_UNAVAILABLE', {
      address: formatAddress(address),
      state: 'in a pool of the remote subnet',
    })
  await leaseAddress(ctx, subnet, { ...terms, address })
  return writeAsGiven(given)
}

/** Releases leases of the stretch for other addresses than its own. */
export async function releaseOthers(store: Transaction, { extId, localSiteParams }: StretchEntity): Promise<void> {
  const own = textOf(localSiteParams.stretchInterfaceIpAddress)
  await release(
    store,
    (await leasesOf(store, extId)).filter((lease) => textOfLease(lease) !== own),
  )
}

function gatewayOf(plan: AddressPlan): { readonly defaultGatewayIPAddress?: WireAddress } {
  const family = familyOf(plan)
  const value = plan[family]?.gateway
  return value === undefined ? {} : { defaultGatewayIPAddress: writeAddress({ family, value }) }
}

function gatewayFaults({ defaultGatewayIPAddress: given }: SiteParams, plan: AddressPlan, side: string): ApiError[] {
  return followed(`${side}/defaultGatewayIPAddress`, given, gatewayOf(plan).defaultGatewayIPAddress)
}

/** A client may leave out a field that follows another entity, or repeat its value. */
function followed(path: string, given: WireAddress | undefined, own: WireAddress | undefined): ApiError[] {
  const isSame = given === undefined || textOf(given) === textOf(own)
  return isSame ? [] : [invalidField(path, `expected ${textOf(own) ?? 'none'}${own === undefined ? '' : ', or none'}`)]
}

function remoteInterfaceFaults({ stretchInterfaceIpAddress: given }: SiteParams, plan: AddressPlan): ApiError[] {
  const address = given && (readAddress(given) as Address)
  const prefix = address && plan[address.family]?.prefix
  if (address === undefined || (prefix !== undefined && isInRange(hostsOf(prefix), address.value))) return []
  const ranges = Object.values(plan).map((of) => formatPrefix(of.prefix))
  return [
    invalidField(
      'remoteSiteParams/stretchInterfaceIpAddress',
      `expected a host of the remote subnet, ${ranges.join(' or ')}`,
    ),
  ]
}

/** The interfaces inside the tunnel are those of the connection. */
const vpnInterfaceFaults = (
  { localSiteParams, remoteSiteParams }: StretchEntity,
  { ipsecConfig: { localVtiIp, remoteVtiIp } }: ConnectionEntity,
): ApiError[] => [
  ...followed('localSiteParams/vpnInterfaceIPAddress', localSiteParams.vpnInterfaceIPAddress, localVtiIp),
  ...followed('remoteSiteParams/vpnInterfaceIPAddress', remoteSiteParams.vpnInterfaceIPAddress, remoteVtiIp),
]
