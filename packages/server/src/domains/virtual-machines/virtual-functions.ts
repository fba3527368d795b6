/** NICs of VMs by SR-IOV or offload. Source: behaviour vmm.md 1.4; networking.md 1.19. */
import type { EntityOf } from '@hyperplane/contract'
import { NicProfile } from '@hyperplane/contract/networking/nic-profile'
import type { Nic } from '@hyperplane/contract/vmm/vm/parts/nic'
import { ApiError } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import type { Reader } from '../../store/store.ts'
import { fault } from './fault.ts'

type NicEntity = EntityOf<typeof Nic>
type NicPair = Pick<NicEntity, 'nicBackingInfo' | 'nicNetworkInfo'>

export interface VirtualFunction {
  readonly type: 'SRIOV' | 'DP_OFFLOAD'
  /** Absent in bodies that do not name one. */
  readonly profileExtId?: string
  /** SRIOV only. */
  readonly vlanId?: number
}

const name = (type: string): string => `vmm.v4.ahv.config.${type}`

export const emulatedType = 'vmm.v4.ahv.config.VirtualEthernetNic'
export const emulatedNetworkType = 'vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo'

const types = {
  SRIOV: { backing: name('SriovNic'), network: name('SriovNicNetworkInfo'), profile: 'sriovProfileReference' },
  DP_OFFLOAD: {
    backing: name('DpOffloadNic'),
    network: name('DpOffloadNicNetworkInfo'),
    profile: 'dpOffloadProfileReference',
  },
} as const

/** The older fields of such a NIC. */
export const virtualFunctionModel = { model: 'VIRTIO', numQueues: 1 } as const

/** Virtual Ethernet: neither SR-IOV nor offload. */
export const isEmulated = (nic: NicPair): boolean =>
  (nic.nicBackingInfo?.$objectType ?? emulatedType) === emulatedType &&
  (nic.nicNetworkInfo?.$objectType ?? emulatedNetworkType) === emulatedNetworkType

export const hasVirtualFunction = (nic: NicPair | undefined): boolean => nic !== undefined && !isEmulated(nic)

export function virtualFunctionOf({ nicBackingInfo, nicNetworkInfo }: NicPair): VirtualFunction | undefined {
  const type = (['SRIOV', 'DP_OFFLOAD'] as const).find((each) => types[each].backing === nicBackingInfo?.$objectType)
  if (type === undefined) return undefined
  const backing = nicBackingInfo as Record<string, { readonly extId?: string } | undefined>
  const { vlanId } = (nicNetworkInfo ?? {}) as { readonly vlanId?: number }
  return {
    type,
    ...defined({
      profileExtId: backing[types[type].profile]?.extId,
      vlanId,
    }),
  }
}

export function pairOf(
  { type, profileExtId, vlanId }: VirtualFunction,
  { isConnected, macAddress }: NonNullable<NicEntity['backingInfo']>,
  network: NonNullable<NicEntity['networkInfo']>,
): NicPair {
  const { nicType: _, networkFunctionChain: __, networkFunctionNicType: ___, ...connection } = network
  const { backing, network: networkType, profile } = types[type]
  return {
    nicBackingInfo: {
      $objectType: backing,
      ...defined({ isConnected, macAddress }),
      [profile]: { extId: profileExtId },
    },
    nicNetworkInfo:
      type === 'SRIOV'
        ? { $objectType: networkType, ...defined({ vlanId }) }
        : { $objectType: networkType, ...connection },
  } as NicPair
}

/** @param at path of the NIC in the body: `nics[0]/`, or nothing @throws ApiError 501 for a device that the body chooses */
export function pairFaults(nic: NicPair & Pick<NicEntity, 'networkInfo'>, at: string): ApiError[] {
  const found = virtualFunctionOf(nic)
  const expected = found === undefined ? emulatedNetworkType : types[found.type].network
  const { $objectType = expected } = nic.nicNetworkInfo ?? {}
  const faults = $objectType === expected ? [] : [fault(`${at}nicNetworkInfo/$objectType`, expected, $objectType)]
  if (found === undefined) return faults
  if (nic.networkInfo !== undefined && nic.nicNetworkInfo === undefined)
    faults.push(fault(`${at}networkInfo`, `nicNetworkInfo of type ${expected} in its place`, nic.networkInfo))
  const { hostPcieDeviceReference: device } = nic.nicBackingInfo as { readonly hostPcieDeviceReference?: object }
  if (device !== undefined)
    throw new ApiError('NOT_IMPLEMENTED', { operation: 'A NIC with nicBackingInfo/hostPcieDeviceReference' })
  const profile = `${at}nicBackingInfo/${types[found.type].profile}/extId`
  if (found.profileExtId === undefined) faults.push(fault(profile, 'the id of a NIC profile', undefined))
  return faults
}

/** NICs with virtual functions show only the newer pair of fields. */
export function shownNic(nic: NicEntity): NicEntity {
  if (!hasVirtualFunction(nic)) return nic
  const { backingInfo: _, networkInfo: __, ...newer } = nic
  return newer
}

/** @throws ApiError 404 for a deleted profile, 400 for a profile of another capability */
export async function requireProfile(store: Reader, nic: NicPair, at: string): Promise<void> {
  const found = virtualFunctionOf(nic)
  if (found === undefined) return
  const attribute = `${at}nicBackingInfo/${types[found.type].profile}/extId`
  const profile = await store.get(NicProfile, found.profileExtId ?? '')
  if (profile === undefined)
    throw new ApiError('VMM_ENTITY_NOT_FOUND', { kind: NicProfile.title, id: found.profileExtId ?? '', attribute })
  const { capabilityType } = profile.capabilityConfig
  if (capabilityType !== found.type) throw fault(attribute, `a NIC profile with ${found.type}`, capabilityType)
}
