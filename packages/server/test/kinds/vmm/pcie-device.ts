/** Requests by which suites that cover every kind reach PCIe devices of VMs. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { tagged } from '../../restart/asked.ts'
import { hostId } from '../../support/clustermgmt.ts'
import { aNativeCluster, aVm } from '../../support/native-cluster.ts'
import type { TestApp } from '../../support/start-app.ts'
import type { Creation, RestartScenario } from '../kind.ts'
import { install } from './gpu.ts'

const vms = '/vmm/v4.2/ahv/config/vms'
const source = `${vms}/${seedId('vm/template-source')}`

/** @returns the part of a VM that has this device */
export const deviceOf = (deviceExtId: string) => ({
  backingInfo: { $objectType: 'vmm.v4.ahv.config.PcieDeviceReference', deviceExtId },
})
/** The demo's device: the second of its host, after a GPU. */
const demoDevice = seedId(`device/${hostId('hp-n01-d')}/1`)
/** The third, which no other request of the suites names. */
export const otherDemoDevice = seedId(`device/${hostId('hp-n01-d')}/2`)

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createPcieDevice': { path: `${source}/pcie-devices`, body: () => deviceOf(demoDevice), tagOf: source },
}

async function aClusterWithDevices(app: TestApp) {
  const cluster = await aNativeCluster(app)
  const devices = await install(app, cluster.extId, cluster.hostExtIds[0] as string, [], ['accelerator', 'accelerator'])
  return { cluster, parts: devices.map(({ extId }) => deviceOf(extId)) }
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.create-pcie-device': async (app) => {
    const { cluster, parts } = await aClusterWithDevices(app)
    const vm = `${vms}/${(await aVm(app, cluster, { pcieDevices: [parts[0]] })).extId}`
    return tagged(app, 'POST', `${vm}/pcie-devices`, parts[1], vm)
  },
  'vmm.delete-pcie-device': async (app) => {
    const { cluster, parts } = await aClusterWithDevices(app)
    const vm = await aVm(app, cluster, { pcieDevices: [parts[0]] })
    return tagged(app, 'DELETE', `${vms}/${vm.extId}/pcie-devices/${vm.pcieDevices[0].extId}`)
  },
}
