/** Network functions, and the VMs that carry them. */
import { seedId } from '../../src/core/ids/named-id.ts'
import { ids } from './clustermgmt.ts'
import { aVm, bootDisk, type NativeCluster } from './native-cluster.ts'
import type { TestApp } from './start-app.ts'

export const networkFunctions = '/networking/v4.3/config/network-functions'
const cluster = { extId: ids.native, imageExtId: seedId('image/ubuntu-24.04.qcow2') } as NativeCluster

export const functionNic = (networkFunctionNicType: 'INGRESS' | 'EGRESS' | 'TAP'): object => ({
  networkInfo: { nicType: 'NETWORK_FUNCTION_NIC', networkFunctionNicType },
})

export interface Appliance {
  readonly vm: string
  readonly ingress: string
  readonly egress: string
}

/** A VM with an ingress and an egress NIC; OFF. */
export async function anAppliance(app: TestApp, name: string, more: object = {}): Promise<Appliance> {
  const { extId, nics } = await aVm(app, cluster, {
    name,
    disks: [bootDisk(cluster)],
    nics: [functionNic('INGRESS'), functionNic('EGRESS')],
    ...more,
  })
  return { vm: extId, ingress: nics[0].extId, egress: nics[1].extId }
}

export const pairOf = ({ ingress, egress }: Appliance, more: object = {}): object => ({
  ingressNicReference: ingress,
  egressNicReference: egress,
  ...more,
})

export const functionBody = (name: string, appliances: readonly Appliance[], more: object = {}): object => ({
  name,
  highAvailabilityMode: 'ACTIVE_PASSIVE',
  nicPairs: appliances.map((each) => pairOf(each)),
  ...more,
})
