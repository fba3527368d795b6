/** Requests by which suites that cover every kind reach GPUs of VMs. */

import { seedId } from '../../../src/core/ids/named-id.ts'
import type { PassthroughGpu, SharedGpu } from '../../../src/drivers/hardware.ts'
import { deviceFacts } from '../../../src/drivers/simulated/hardware.ts'
import { devicesOf } from '../../../src/seeds/demo/host-devices.ts'
import { tagged } from '../../restart/asked.ts'
import { hostId } from '../../support/clustermgmt.ts'
import { createdPath, named, once } from '../../support/field-bases.ts'
import { aNativeCluster, aVm } from '../../support/native-cluster.ts'
import type { TestApp } from '../../support/start-app.ts'
import { type Creation, type FieldBase, GiB, nativeCluster, type RestartScenario } from '../kind.ts'

const vms = '/vmm/v4.2/ahv/config/vms'
const source = `${vms}/${seedId('vm/template-source')}`

/** The demo's card that VMs share. */
const [card] = devicesOf({
  extId: hostId('hp-n01-d'),
  clusterExtId: nativeCluster,
  gpuList: ['Virtual GPU card 16 GiB'],
})
export const virtualGpu = {
  mode: 'VIRTUAL',
  vendor: (card as SharedGpu).vendor,
  deviceId: (card as SharedGpu).types[0]?.deviceId,
}

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createGpu': { path: `${source}/gpus`, body: () => virtualGpu, tagOf: source },
}

/** Gives a host devices with these names. */
export async function install(
  app: TestApp,
  clusterExtId: string,
  hostExtId: string,
  gpuList: string[],
  pcieDevices: string[] = [],
) {
  const devices = devicesOf({ extId: hostExtId, clusterExtId, gpuList, pcieDevices })
  for (const device of devices) await deviceFacts(app.world).put(device.extId, device)
  return devices
}

/** The demo's card that one VM may have. */
const [whole] = devicesOf({ extId: hostId('hp-n01-c'), clusterExtId: nativeCluster, gpuList: ['Compute GPU 24 GiB'] })

export const bodyOf = ({ mode, vendor, deviceId }: PassthroughGpu) => ({ mode, vendor, deviceId })

export const demoGpu = bodyOf(whole as PassthroughGpu)

async function aClusterWithGpus(app: TestApp) {
  const cluster = await aNativeCluster(app)
  const [gpu] = await install(app, cluster.extId, cluster.hostExtIds[0] as string, ['Compute GPU', 'Compute GPU'])
  return { cluster, gpu: bodyOf(gpu as PassthroughGpu) }
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.create-gpu': async (app) => {
    const { cluster, gpu } = await aClusterWithGpus(app)
    const vm = `${vms}/${(await aVm(app, cluster, { gpus: [gpu] })).extId}`
    return tagged(app, 'POST', `${vm}/gpus`, gpu, vm)
  },
  'vmm.delete-gpu': async (app) => {
    const { cluster, gpu } = await aClusterWithGpus(app)
    const vm = await aVm(app, cluster, { gpus: [gpu] })
    return tagged(app, 'DELETE', `${vms}/${vm.extId}/gpus/${vm.gpus[0].extId}`)
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.createGpu': [
    async (app) => {
      const vm = await once(app, 'VM for GPUs', () =>
        createdPath(app, vms, { name: named(), memorySizeBytes: GiB, cluster: { extId: nativeCluster } }),
      )
      return { path: `${vm}/gpus`, readPath: vm, body: virtualGpu }
    },
  ],
}

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  'vmm.createGpu mode': ['VIRTUAL'],
  'vmm.createGpu vendor': [virtualGpu.vendor],
  'vmm.createGpu deviceId': [virtualGpu.deviceId],
}
