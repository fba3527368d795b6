/** Sessions whose listeners differ may share an address; one of them has the lease. Source: networking.md 1.3 (VIRTUAL_IP), 1.14. */
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { FloatingIp } from '@hyperplane/contract/networking/floating-ip'
import { LoadBalancerSession } from '@hyperplane/contract/networking/load-balancer-session'
import { ApiError } from '../../core/api-error.ts'
import {
  type Address,
  readAddress,
  textOf,
  type WireAddress,
  writeAddress,
  writeAsGiven,
} from '../../core/ip-address.ts'
import type { Reader, Transaction } from '../../store/store.ts'
import { familyOf, planOf, type SubnetEntity } from '../addressing/address-plan.ts'
import { holdersOf, leaseAddress, leasesOf, release, textOfLease } from '../addressing/leases.ts'
import type { WriteContext } from '../context.ts'
import { inUse, nameFor, shownUsers } from './in-use.ts'
import { invalidField } from './ip-config.ts'
import { type BalancerEntity, doOverlap, type Listener } from './load-balancer-rules.ts'

type VirtualIp = Listener['virtualIP']

export async function virtualIpFor(
  ctx: WriteContext,
  subnet: SubnetEntity,
  { extId, listener }: BalancerEntity,
  stored: BalancerEntity | undefined,
): Promise<VirtualIp> {
  const { assignmentType, ipAddress, subnetReference } = listener.virtualIP
  const current = stored?.listener.virtualIP.ipAddress
  const isSame = current !== undefined && textOf(ipAddress ?? current) === textOf(current)
  if (assignmentType === 'DYNAMIC' && ipAddress !== undefined && !isSame)
    throw invalidField('listener/virtualIP/ipAddress', 'expected none, because the server chooses a DYNAMIC address')
  if (isSame) return { assignmentType, ipAddress: current, subnetReference }
  if (stored !== undefined) await refuseTranslated(ctx, stored)
  return { assignmentType, subnetReference, ipAddress: await leased(ctx, subnet, extId, ipAddress) }
}

async function leased(
  ctx: WriteContext,
  subnet: SubnetEntity,
  holder: string,
  given: WireAddress | undefined,
): Promise<VirtualIp['ipAddress']> {
  const family = familyOf(planOf(subnet.ipConfig))
  const terms = { kind: 'VIRTUAL_IP', holder, family, attributePath: 'listener/virtualIP/ipAddress' } as const
  if (given === undefined) return writeAddress(await leaseAddress(ctx, subnet, terms))
  const address = readAddress(given) as Address
  const [lease] = await holdersOf(ctx.store, subnet.extId, [address])
  if (lease?.kind !== 'VIRTUAL_IP') await leaseAddress(ctx, subnet, { ...terms, address })
  return writeAsGiven(given)
}

/** Floating IPs translate to the address. @throws ApiError 409 */
async function refuseTranslated(ctx: WriteContext, session: BalancerEntity): Promise<void> {
  const floatingIps = await floatingIpsOfSession(ctx.store, session.extId)
  if (floatingIps.length === 0) return
  const users = await shownUsers(
    ctx,
    floatingIps.map((entity) => ({ kind: FloatingIp, entity })),
  )
  throw inUse('virtual IP', textOf(session.listener.virtualIP.ipAddress)!, users)
}

/** Includes floating IPs that an update will associate with the session. */
export const floatingIpsOfSession = (store: Reader, extId: string) =>
  store.find(FloatingIp, { refersTo: { kind: LoadBalancerSession.kind, extId } })

const sessionsIn = (store: Reader, vpcReference: string): Promise<BalancerEntity[]> =>
  store.findWhere(LoadBalancerSession, { vpcReference })

/** The present listener, and the one that a running update will set. */
const listenersOf = ({ listener, change }: BalancerEntity): readonly Listener[] =>
  change?.listener === undefined ? [listener] : [listener, change.listener]

const addressOfListener = ({ virtualIP }: Listener): string | undefined => textOf(virtualIP.ipAddress)

/** @throws ApiError 409 when another session of the VPC has the address, the protocol and one of the ports */
export async function refuseSharedListener(ctx: WriteContext, session: BalancerEntity): Promise<void> {
  const { listener } = session
  for (const other of await sessionsIn(ctx.store, session.vpcReference)) {
    if (other.extId === session.extId) continue
    const doesClash = listenersOf(other).some(
      (taken) =>
        addressOfListener(taken) === addressOfListener(listener) &&
        taken.protocol === listener.protocol &&
        taken.portRanges.some((range) => listener.portRanges.some((own) => doOverlap(range, own))),
    )
    if (!doesClash) continue
    const fields = `virtual IP, protocol and port (${await nameFor(ctx, LoadBalancerSession, other)})`
    throw new ApiError('NETWORKING_ENTITY_ALREADY_EXISTS', { kind: LoadBalancerSession.title, fields })
  }
}

/** Keeps the lease of `kept`; others are released, or passed to a session that shares the address. */
export async function releaseVirtualIps(store: Transaction, session: BalancerEntity, kept?: Listener): Promise<void> {
  const others = (await sessionsIn(store, session.vpcReference)).filter(({ extId }) => extId !== session.extId)
  for (const lease of await leasesOf(store, session.extId)) {
    const text = textOfLease(lease)
    if (kept !== undefined && text === addressOfListener(kept)) continue
    const heir = others.find((other) => listenersOf(other).some((listener) => addressOfListener(listener) === text))
    if (heir === undefined) await release(store, [lease])
    else await store.update(AddressLease, lease.extId, { holderExtId: heir.extId })
  }
}
