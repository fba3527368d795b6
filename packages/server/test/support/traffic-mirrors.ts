/** Builders for traffic mirrors on the native cluster of the demo. */
import { seedId } from '../../src/core/ids/named-id.ts'
import { ids } from './clustermgmt.ts'
import { aVm, bootDisk, changed, type NativeCluster, nicOn } from './native-cluster.ts'
import type { TestApp } from './start-app.ts'

export const mirrors = '/networking/v4.3/config/traffic-mirrors'
export const mirrorStats = (path: string): string => `/networking/v4.3/stats/traffic-mirrors/${path.slice(-36)}`

export const spanNic = { networkInfo: { nicType: 'SPAN_DESTINATION_NIC' } }
export const from = (nicUuid: string, direction = 'BIDIRECTIONAL'): object => ({
  nicType: 'VIRTUAL_NIC',
  nicUuid,
  direction,
})
export const to = (nicUuid: string): object => ({ nicType: 'VIRTUAL_NIC', nicUuid })

/** A running VM whose first NIC is a source and whose second one takes copies; `destinations` are further ones. */
export async function aWatchedVm(app: TestApp, name: string, destinations = 1): Promise<any> {
  const cluster = { extId: ids.native, imageExtId: seedId('image/ubuntu-24.04.qcow2') } as NativeCluster
  const nics = [nicOn(seedId('subnet/web')), ...Array.from({ length: destinations }, () => spanNic)]
  const { extId } = await aVm(app, cluster, { name, disks: [bootDisk(cluster)], nics })
  await changed(app, extId, 'power-on')
  return (await app.call('GET', `/vmm/v4.2/ahv/config/vms/${extId}`)).data
}

export const mirrorBody = (name: string, source: string, destination: string, more: object = {}): object => ({
  name,
  sourceList: [from(source)],
  destinationList: [to(destination)],
  ...more,
})
