/** NICs of a VM that is reverted: MAC addresses and addresses are leased again. Source: behaviour vmm.md 1.6 (revert). */

import { ApiError } from '../../../../core/api-error.ts'
import { canonicalJson } from '../../../../core/idempotency.ts'
import type { Transaction } from '../../../../store/store.ts'
import { releaseHolder } from '../../../addressing/leases.ts'
import type { RecordContext } from '../../../context.ts'
import type { NicEntity } from '../../../virtual-machines/entity.ts'
import { MacLease } from '../../../virtual-machines/mac-lease.ts'
import { virtualFunctionOf } from '../../../virtual-machines/virtual-functions.ts'
import {
  type EthernetNic,
  leaseRequestedAddresses,
  missingReferenceOf,
  nicOf,
  takeFreeAddress,
  takeMac,
} from '../parts/nics.ts'

/** Equal for NICs with the same addresses, subnet and NIC profile. */
function leasedBy(nic: NicEntity): string {
  const { macAddress } = nic.backingInfo ?? {}
  const { subnet, ipv4Config } = nic.networkInfo ?? {}
  const { profileExtId } = virtualFunctionOf(nic) ?? {}
  return canonicalJson([macAddress ?? null, subnet?.extId ?? null, ipv4Config ?? null, profileExtId ?? null])
}

/** Releases what the NICs hold, except those that hold the same as the captured ones. @returns those */
export async function releaseChanged(
  store: Transaction,
  nics: readonly NicEntity[],
  captured: readonly NicEntity[],
): Promise<readonly NicEntity[]> {
  const isKept = (nic: NicEntity): boolean =>
    captured.some((other) => other.extId === nic.extId && leasedBy(other) === leasedBy(nic))
  for (const { extId } of nics.filter((nic) => !isKept(nic))) {
    await releaseHolder(store, extId)
    await store.remove(MacLease, extId)
  }
  return nics.filter(isKept)
}

/** With their leases. A NIC whose subnet or NIC profile was deleted is left out with a warning. */
export async function takeCaptured(
  ctx: RecordContext,
  vmExtId: string,
  captured: readonly NicEntity[],
  kept: readonly NicEntity[],
): Promise<NicEntity[]> {
  const nics: NicEntity[] = []
  for (const nic of captured as readonly EthernetNic[]) {
    const isKept = kept.some(({ extId }) => extId === nic.extId)
    const missing = isKept ? undefined : await missingReferenceOf(ctx.store, nic)
    if (isKept) nics.push(nic)
    else if (missing === undefined) nics.push(await claimNic(ctx, vmExtId, nic))
    else ctx.warn(`The NIC ${nic.extId} was left out: the ${missing.kind} ${missing.id} was deleted.`)
  }
  return nics
}

async function claimNic(ctx: RecordContext, vmExtId: string, nic: EthernetNic): Promise<NicEntity> {
  const { macAddress, ...backing } = nic.backingInfo
  const isMacTaken = (await ctx.store.findOne(MacLease, { macAddress: macAddress as string })) !== undefined
  if (isMacTaken) ctx.warn(`The MAC address ${macAddress} of the NIC ${nic.extId} is in use: the NIC gets another one.`)
  const { ipv4Config, ...network } = nic.networkInfo
  const { ipAddress, secondaryIpAddressList = [] } = ipv4Config ?? {}
  const leased = await takeMac(
    ctx,
    vmExtId,
    nicOf(
      nic.extId,
      isMacTaken ? backing : nic.backingInfo,
      { ...network, ipv4Config: { shouldAssignIp: ipAddress !== undefined } },
      virtualFunctionOf(nic),
    ),
  )
  const wishes = [
    ...(ipAddress === undefined ? [] : [{ ipAddress }]),
    ...secondaryIpAddressList.map((each) => ({ secondaryIpAddressList: [each] })),
  ]
  for (const wish of wishes) {
    const asking = nicOf(nic.extId, leased.backingInfo, { ...network, ipv4Config: wish }, virtualFunctionOf(nic))
    try {
      await leaseRequestedAddresses(ctx, asking, `vm/nics/${nic.extId}`)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      ctx.warn(`${error.message} The NIC ${nic.extId} does not get it back.`)
    }
  }
  return takeFreeAddress(ctx, leased)
}
