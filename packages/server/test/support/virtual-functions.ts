/** NICs of VMs that are virtual functions of host NICs, as bodies request them. */
import { seedId } from '../../src/core/ids/named-id.ts'
import { hostNicId } from '../../src/drivers/simulated/host-nics.ts'
import { createdPath, named, once } from './field-bases.ts'
import type { CallResult, TestApp } from './start-app.ts'

export const nicProfiles = '/networking/v4.3/config/nic-profiles'
/** Profile of the demo: virtual functions of eth5 on each host. */
export const sriovProfile = seedId('nic-profile/sriov-cx5')

export const ofHostNic = (
  app: TestApp,
  verb: 'associate' | 'disassociate',
  hostExtId: string,
  profile = sriovProfile,
): Promise<CallResult> =>
  app.call('POST', `${nicProfiles}/${profile}/$actions/${verb}-host-nic`, {
    body: { hostNicExtId: hostNicId(hostExtId, 'eth5') },
  })

const name = (type: string): string => `vmm.v4.ahv.config.${type}`

export const sriovNic = (more: object = {}, network: object = {}): object => ({
  nicBackingInfo: { $objectType: name('SriovNic'), sriovProfileReference: { extId: sriovProfile }, ...more },
  nicNetworkInfo: { $objectType: name('SriovNicNetworkInfo'), ...network },
})

export async function offloadNic(app: TestApp, subnet: string, more: object = {}): Promise<object> {
  const body = { name: named(), nicFamily: '15b3:101d', capabilityConfig: { capabilityType: 'DP_OFFLOAD' } }
  const path = await once(app, 'NIC profile with offload', () => createdPath(app, nicProfiles, body))
  const dpOffloadProfileReference = { extId: path.slice(-36) }
  return {
    nicBackingInfo: { $objectType: name('DpOffloadNic'), dpOffloadProfileReference, ...more },
    nicNetworkInfo: {
      $objectType: name('DpOffloadNicNetworkInfo'),
      subnet: { extId: subnet },
      ipv4Config: { shouldAssignIp: true },
    },
  }
}

/** MAC addresses that no other request of the suite of fields names, as `fieldValues`. @param path operation and NIC */
export const macsOfFunctions = (path: string, number: number): Readonly<Record<string, readonly string[]>> => ({
  [`${path}nicBackingInfo<SriovNic>/macAddress`]: [`50:6b:8d:00:04:${10 + number}`],
  [`${path}nicBackingInfo<DpOffloadNic>/macAddress`]: [`50:6b:8d:00:05:${10 + number}`],
})

/** A NIC of each type. */
export const nicsWithFunctions = (subnet: string): readonly ((app: TestApp) => Promise<object>)[] => [
  async () => sriovNic({}, { vlanId: 7 }),
  (app) => offloadNic(app, subnet),
]
