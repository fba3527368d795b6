/** Without an address, a NIC has no floating IP either. Source: behaviour networking.md 1.8. */
import type { EntityOf } from '@hyperplane/contract'
import { FloatingIp } from '@hyperplane/contract/networking/floating-ip'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Reader, Transaction } from '../../store/store.ts'

export type FloatingIpEntity = EntityOf<typeof FloatingIp>

export const notAssociated = {
  association: undefined,
  associationStatus: 'NOT_ASSOCIATED',
  loadBalancerSessionReference: undefined,
  privateIp: undefined,
  vmNicReference: undefined,
  vpcReference: undefined,
} as const satisfies Partial<FloatingIpEntity>

export async function floatingIpsOf(
  store: Reader,
  nics: readonly { readonly extId?: string | undefined }[],
): Promise<readonly FloatingIpEntity[]> {
  const found: FloatingIpEntity[] = []
  for (const { extId = '' } of nics) found.push(...(await store.findWhere(FloatingIp, { vmNicReference: extId })))
  return found
}

/** Before a task releases the addresses of these NICs. */
export async function stopTranslating(
  { drivers, store }: { readonly drivers: Pick<Drivers, 'networkFabric'>; readonly store: Reader },
  nics: readonly { readonly extId?: string | undefined }[],
): Promise<void> {
  for (const { extId } of await floatingIpsOf(store, nics)) await drivers.networkFabric.removeFloatingIp(extId)
}

export async function detachFloatingIp(store: Transaction, vmNicReference: string, privateIp: string): Promise<void> {
  const found = await store.findOne(FloatingIp, { vmNicReference, privateIp })
  if (found !== undefined) await store.update(FloatingIp, found.extId, notAssociated)
}

/** Includes floating IPs that an update will associate with the VPC. */
export const floatingIpsInVpc = (store: Reader, extId: string): Promise<FloatingIpEntity[]> =>
  store.find(FloatingIp, { refersTo: { kind: 'Vpc', extId } })
