/** Requests by which suites that cover every kind reach VMs. */

import assert from 'node:assert/strict'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { TemplateVersion } from '@hyperplane/contract/vmm/content/template'
import { VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { derivedId, seedId } from '../../../src/core/ids/named-id.ts'
import { applianceDiskId } from '../../../src/domains/networking/gateway/appliance.ts'
import { filesOf, firmwareFilesOf } from '../../../src/domains/virtual-machines/entity.ts'
import { type Asked, completed, tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { advance, hostId } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { address, at, createdPath, creating, named, once, updating } from '../../support/field-bases.ts'
import {
  aNativeCluster,
  aSubnet,
  aVm as aVmOn,
  aVmWithTools,
  bootDisk,
  changed,
  nicOn,
  readVm,
} from '../../support/native-cluster.ts'
import { pointDisk } from '../../support/point-disk.ts'
import type { TestApp } from '../../support/start-app.ts'
import { macsOfFunctions, nicsWithFunctions, ofHostNic, sriovNic } from '../../support/virtual-functions.ts'
import { goldId } from '../../support/volumes.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  GiB,
  nativeCluster,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'
import { aPooledSubnet } from '../networking/subnet.ts'
import { acting } from './disk.ts'
import { demoGpu, virtualGpu } from './gpu.ts'
import { otherDemoDevice } from './pcie-device.ts'
import { cloneBases, cloneValues } from './vm-guest-customization-profile.ts'

const vms = '/vmm/v4.2/ahv/config/vms'
const fieldVm = (more: object = {}) => ({
  name: named(),
  memorySizeBytes: GiB,
  cluster: { extId: nativeCluster },
  ...more,
})
const uefi = { bootConfig: { $objectType: 'vmm.v4.ahv.config.UefiBoot' }, machineType: 'Q35' }
const bootAddress = { diskAddress: { busType: 'SCSI', index: 1 } }
const withDisk = {
  disks: [{ backingInfo: { $objectType: 'vmm.v4.ahv.config.VmDisk', diskSizeBytes: GiB }, ...bootAddress }],
}
const mac = { macAddress: '50:6b:8d:00:00:99' }
const withMac = {
  nics: [{ networkInfo: { subnet: { extId: seedId('subnet/vlan-100-app') } }, backingInfo: mac }],
}
const bootedFrom = (firmware: string, device: string, fields: object): object => ({
  $objectType: `vmm.v4.ahv.config.${firmware}`,
  bootDevice: { $objectType: `vmm.v4.ahv.config.${device}`, ...fields },
})
/** Clones a VM that is made once with these fields. */
const cloning =
  (source: object, body: object): FieldBase =>
  async (app) => {
    const path = await once(app, `clone of ${Object.keys(source)}`, () => createdPath(app, vms, fieldVm(source)))
    return { path: `${path}/$actions/clone`, body: { name: named(), ...body } }
  }
/** With a disk, a NIC that has an address, and a category. */
async function fullVm(app: TestApp, more: object = {}): Promise<object> {
  return {
    name: 'killed',
    memorySizeBytes: GiB,
    cluster: { extId: nativeCluster },
    categories: [{ extId: seedId('category/Environment/Dev') }],
    disks: [
      {
        backingInfo: {
          dataSource: {
            reference: {
              $objectType: 'vmm.v4.ahv.config.ImageReference',
              imageExtId: seedId('image/ubuntu-24.04.qcow2'),
            },
          },
        },
      },
    ],
    nics: [{ networkInfo: { subnet: { extId: await aPooledSubnet(app) } } }],
    ...more,
  }
}
/** @returns its id */
export const aFullVm = async (app: TestApp, more: object = {}): Promise<string> =>
  completed(app, 'POST', vms, { body: await fullVm(app, more) })
const guestCustomization = {
  config: { $objectType: 'vmm.v4.ahv.config.CloudInit', metadata: Buffer.from('instance-id: x').toString('base64') },
}
const act = (app: TestApp, vm: string, action: string): Promise<Asked> =>
  tagged(app, 'POST', `${vms}/${vm}/$actions/${action}`, undefined, `${vms}/${vm}`)
const actWith = (app: TestApp, vm: string, action: string, body: object): Promise<Asked> =>
  tagged(app, 'POST', `${vms}/${vm}/$actions/${action}`, body, `${vms}/${vm}`)
async function aRunningVm(app: TestApp, more: object = {}): Promise<string> {
  const vm = await aFullVm(app, more)
  const { method, path, ...options } = await act(app, vm, 'power-on')
  await completed(app, method, path, options)
  return vm
}

/** Its guest is up, with tools. */
async function aBootedVm(app: TestApp): Promise<string> {
  return (await aVmWithTools(app, await aNativeCluster(app))).extId
}
/** The first host of the demo has the virtual functions. */
async function withFunction(app: TestApp, more: object = {}): Promise<object> {
  assert.equal((await app.task(await ofHostNic(app, 'associate', hostId('hp-n01-a')))).status, 'SUCCEEDED')
  return { ...more, nics: [{ networkInfo: { subnet: { extId: await aPooledSubnet(app) } } }, sriovNic()] }
}
const askingGuest =
  (action: string): FieldBase =>
  async (app) => ({ path: `${vms}/${await aBootedVm(app)}/$actions/${action}`, body: withScript })
const base64 = Buffer.from('instance-id: x').toString('base64')
const scriptOf = (type: string) => ({ $objectType: `vmm.v4.ahv.config.${type}`, value: base64 })
const withScript = { guestPowerStateTransitionConfig: { shouldEnableScriptExec: true } }

const localZone = { extId: seedId('availability-zone/local') }

const vm = { name: 'by-order', memorySizeBytes: 1024 ** 3, categories: [{ extId: unknown }] }

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createVm': {
    path: '/vmm/v4.2/ahv/config/vms',
    body: (name) => ({ name, memorySizeBytes: GiB, cluster: { extId: nativeCluster } }),
  },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'vmm.assignVmOwner': {
    path: `/ahv/config/vms/${seedId('vm/web-01')}/$actions/assign-owner`,
    body: { owner: { extId: unknown } },
    broken: { owner: {} },
  },
  'vmm.associateCategories': {
    path: `/ahv/config/vms/${seedId('vm/web-01')}/$actions/associate-categories`,
    body: { categories: [{ extId: unknown }] },
    broken: { categories: [{}] },
  },
  'vmm.disassociateCategories': {
    path: `/ahv/config/vms/${seedId('vm/web-01')}/$actions/disassociate-categories`,
    body: { categories: [{ extId: unknown }] },
    broken: { categories: [{}] },
  },
  'vmm.crossClusterMigrateVm': {
    path: `/ahv/config/vms/${seedId('vm/web-01')}/$actions/migrate`,
    body: { isLiveMigration: true, targetAvailabilityZone: localZone, targetCluster: { extId: unknown } },
    broken: { isLiveMigration: true, targetAvailabilityZone: {} },
  },
  'vmm.migrateVmToHost': {
    path: `/ahv/config/vms/${seedId('vm/web-01')}/$actions/migrate-to-host`,
    body: { host: { extId: unknown } },
    broken: { host: {} },
  },
  'vmm.cloneVm': {
    path: `/ahv/config/vms/${seedId('vm/web-01')}/$actions/clone`,
    body: { nics: [{ networkInfo: { subnet: { extId: unknown } } }] },
    broken: { memorySizeBytes: 1 },
  },
  'vmm.createVm': { path: '/ahv/config/vms', body: vm, broken: { memorySizeBytes: 1 } },
  'vmm.updateVmById': {
    path: `/ahv/config/vms/${seedId('vm/web-01')}`,
    body: vm,
    broken: { hardwareClockTimezone: 'Nowhere/Never' },
  },
}

const vlan = { subnet: { extId: seedId('subnet/vlan-100-app') } }
const cloneMacs = { legacy: { macAddress: '50:6b:8d:00:01:98' }, uefi: { macAddress: '50:6b:8d:00:01:99' } }
const cloningWithMac = (firmware: string, macAddress: object): FieldBase =>
  cloning(
    {},
    {
      nics: [{ networkInfo: vlan, backingInfo: macAddress }],
      bootConfig: bootedFrom(firmware, 'BootDeviceNic', macAddress),
    },
  )

interface Across {
  readonly overrides: { readonly overrideNicList: readonly [{ readonly networkInfo: object }] }
}
/** Migrates a running VM with a disk from a cluster of its own to another one. */
async function acrossClusters(app: TestApp): Promise<{ vm: string; body: Across }> {
  const [cluster, target] = [await aNativeCluster(app), await aNativeCluster(app)]
  const { extId } = await aVmOn(app, cluster, {
    disks: [bootDisk(cluster), bootDisk(cluster)],
    nics: [nicOn(await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.20']))],
  })
  assert.equal((await changed(app, extId, 'power-on')).status, 'SUCCEEDED')
  const nic = nicOn(await aSubnet(app, target, ['10.0.0.10', '10.0.0.20']))
  const body = {
    isLiveMigration: true,
    targetAvailabilityZone: localZone,
    targetCluster: { extId: target.extId },
    overrides: { overrideNicList: [nic] as const },
  }
  return { vm: extId, body }
}

const web01 = `${vms}/${seedId('vm/web-01')}`
const dev = { categories: [{ extId: seedId('category/Environment/Dev') }] }

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.assignVmOwner': [at(`${web01}/$actions/assign-owner`, {})],
  'vmm.associateCategories': [at(`${web01}/$actions/associate-categories`, dev)],
  'vmm.disassociateCategories': [at(`${web01}/$actions/disassociate-categories`, dev)],
  'vmm.revertVm': [
    async (app) => {
      const vm = await aFullVm(app)
      const body = { vmExtId: vm }
      const point = await completed(app, 'POST', '/vmm/v4.2/ahv/config/vm-recovery-points', { body })
      return { path: `${vms}/${vm}/$actions/revert`, body: { vmRecoveryPointExtId: point } }
    },
  ],
  'vmm.rebootGuestVm': [askingGuest('guest-reboot')],
  'vmm.shutdownGuestVm': [askingGuest('guest-shutdown')],
  'vmm.crossClusterMigrateVm': [
    async (app) => {
      const { vm, body } = await acrossClusters(app)
      return { path: `${vms}/${vm}/$actions/migrate`, body }
    },
    async (app) => {
      const { vm, body } = await acrossClusters(app)
      const [{ networkInfo }] = body.overrides.overrideNicList
      const $objectType = 'vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo'
      const nic = {
        nicNetworkInfo: { $objectType, ...networkInfo },
        nicBackingInfo: { $objectType: 'vmm.v4.ahv.config.VirtualEthernetNic' },
      }
      return { path: `${vms}/${vm}/$actions/migrate`, body: { ...body, overrides: { overrideNicList: [nic] } } }
    },
  ],
  'vmm.migrateVmToHost': [
    async (app) => {
      const path = `${vms}/${await aRunningVm(app)}`
      const { extId } = (await app.call('GET', path)).data.host
      const others = ['hp-n01-a', 'hp-n01-b'].map(hostId).filter((host) => host !== extId)
      return { path: `${path}/$actions/migrate-to-host`, body: { host: { extId: others[0] } } }
    },
  ],
  'vmm.cloneVm': [
    cloning({ numSockets: 4 }, { nics: [{ networkInfo: vlan }] }),
    cloning(
      { numSockets: 4 },
      {
        nics: [
          {
            nicNetworkInfo: { $objectType: 'vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo', ...vlan },
            nicBackingInfo: { $objectType: 'vmm.v4.ahv.config.VirtualEthernetNic' },
          },
        ],
      },
    ),
    ...nicsWithFunctions(vlan.subnet.extId).map(
      (nicFor): FieldBase =>
        async (app) => {
          return cloning({ numSockets: 4 }, { nics: [await nicFor(app)] })(app)
        },
    ),
    cloning(uefi, { bootConfig: { $objectType: 'vmm.v4.ahv.config.UefiBoot' } }),
    cloning(withDisk, { bootConfig: bootedFrom('LegacyBoot', 'BootDeviceDisk', bootAddress) }),
    cloning(withDisk, { bootConfig: bootedFrom('UefiBoot', 'BootDeviceDisk', bootAddress) }),
    cloningWithMac('LegacyBoot', cloneMacs.legacy),
    cloningWithMac('UefiBoot', cloneMacs.uefi),
    ...cloneBases,
  ],
  'vmm.customizeGuestVm': [
    { $objectType: 'vmm.v4.ahv.config.Sysprep', installType: 'PREPARED', sysprepScript: scriptOf('Unattendxml') },
    { $objectType: 'vmm.v4.ahv.config.CloudInit', metadata: base64, cloudInitScript: scriptOf('Userdata') },
  ].map((config) => async (app: TestApp) => {
    const path = await once(app, 'VM that is customized', () => createdPath(app, vms, fieldVm()))
    return { path: `${path}/$actions/customize-guest`, body: { config } }
  }),
  'vmm.createVm': [
    creating(vms, () =>
      fieldVm({
        disks: [{ backingInfo: { $objectType: 'vmm.v4.ahv.config.VmDisk', diskSizeBytes: GiB } }],
        cdRoms: [{ backingInfo: { diskSizeBytes: GiB } }],
        nics: [{ networkInfo: { subnet: { extId: seedId('subnet/vlan-100-app') } } }],
      }),
    ),
    creating(vms, () =>
      fieldVm({
        numSockets: 4,
        nics: [
          {
            nicNetworkInfo: {
              $objectType: 'vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo',
              subnet: { extId: seedId('subnet/vlan-100-app') },
            },
            nicBackingInfo: { $objectType: 'vmm.v4.ahv.config.VirtualEthernetNic' },
          },
        ],
      }),
    ),
    ...nicsWithFunctions(vlan.subnet.extId).map(
      (nicFor): FieldBase =>
        async (app) => {
          return { path: vms, body: fieldVm({ nics: [await nicFor(app)] }) }
        },
    ),
    creating(vms, () => ({ name: named(), source: { entityType: 'VM', extId: seedId('vm/template-source') } })),
    async (app) => {
      const backingInfo = await pointDisk(app)
      return { path: vms, body: fieldVm({ disks: [{ backingInfo }], cdRoms: [{ backingInfo }] }) }
    },
    creating(vms, () => fieldVm({ ...uefi, vtpmConfig: { isVtpmEnabled: true } })),
    creating(vms, () => fieldVm({ apcConfig: { isApcEnabled: true } })),
    creating(vms, () => fieldVm({ gpus: [virtualGpu] })),
    creating(vms, () => fieldVm({ isAgentVm: true, host: { extId: hostId('hp-n01-a') } })),
    creating(vms, () => fieldVm({ ...withDisk, bootConfig: bootedFrom('LegacyBoot', 'BootDeviceDisk', bootAddress) })),
    creating(vms, () => fieldVm({ ...withDisk, bootConfig: bootedFrom('UefiBoot', 'BootDeviceDisk', bootAddress) })),
    creating(vms, () => fieldVm({ ...withMac, bootConfig: bootedFrom('LegacyBoot', 'BootDeviceNic', mac) })),
    creating(vms, () => fieldVm({ ...withMac, bootConfig: bootedFrom('UefiBoot', 'BootDeviceNic', mac) })),
  ],
  'vmm.addVmCustomAttributes': [acting('add-custom-attributes', false, { customAttributes: ['a:1'] })],
  'vmm.removeVmCustomAttributes': [acting('remove-custom-attributes', false, { customAttributes: ['a:1'] })],
  'vmm.migrateVmDisks': [
    acting('migrate-vm-disks', false, {
      migrateDisks: { $objectType: 'vmm.v4.ahv.config.AllDisksMigrationPlan', storageContainer: { extId: goldId } },
    }),
  ],
  'vmm.updateVmById': [
    updating(vms, fieldVm),
    updating(vms, () =>
      fieldVm({
        bootConfig: { $objectType: 'vmm.v4.ahv.config.UefiBoot' },
        disks: [{ backingInfo: { $objectType: 'vmm.v4.ahv.config.VmDisk', diskSizeBytes: GiB } }],
        nics: [{ networkInfo: { subnet: { extId: seedId('subnet/vlan-100-app') } } }],
      }),
    ),
  ],
}

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  ...macsOfFunctions('vmm.cloneVm nics/', 4),
  ...macsOfFunctions('vmm.createVm nics/', 3),
  'vmm.cloneVm nics/networkInfo/ipv4Config/ipAddress': [{ value: '10.10.100.142' }],
  'vmm.cloneVm nics/networkInfo/ipv4Config/secondaryIpAddressList': [{ value: '10.10.100.143' }],
  'vmm.cloneVm nics/nicNetworkInfo<DpOffloadNicNetworkInfo>/ipv4Config/ipAddress': [{ value: '10.10.100.144' }],
  'vmm.cloneVm nics/nicNetworkInfo<DpOffloadNicNetworkInfo>/ipv4Config/secondaryIpAddressList': [
    { value: '10.10.100.128' },
  ],
  'vmm.cloneVm nics/nicNetworkInfo<VirtualEthernetNicNetworkInfo>/ipv4Config/ipAddress': [{ value: '10.10.100.145' }],
  'vmm.cloneVm nics/nicNetworkInfo<VirtualEthernetNicNetworkInfo>/ipv4Config/secondaryIpAddressList': [
    { value: '10.10.100.197' },
  ],
  'vmm.cloneVm nics/nicBackingInfo<VirtualEthernetNic>/macAddress': ['50:6b:8d:00:02:99'],
  ...cloneValues,
  'vmm.cloneVm bootConfig<UefiBoot>/bootDevice<BootDeviceNic>/macAddress': [cloneMacs.uefi.macAddress],
  'vmm.createVm nics/nicNetworkInfo<VirtualEthernetNicNetworkInfo>/ipv4Config/ipAddress': [{ value: '10.10.100.146' }],
  'vmm.createVm nics/nicNetworkInfo<VirtualEthernetNicNetworkInfo>/ipv4Config/secondaryIpAddressList': [
    { value: '10.10.100.127' },
  ],
  'vmm.createVm nics/nicNetworkInfo<DpOffloadNicNetworkInfo>/ipv4Config/ipAddress': [{ value: '10.10.100.126' }],
  'vmm.createVm nics/nicNetworkInfo<DpOffloadNicNetworkInfo>/ipv4Config/secondaryIpAddressList': [
    { value: '10.10.100.125' },
  ],
  '* ipAddress': [address('10.44.1.77'), { value: '10.10.100.177' }],
  '* secondaryIpAddressList': [{ value: '10.10.100.78' }],
  'vmm.createVm source/extId': [seedId('vm/web-01')],
  'vmm.createVm gpus/mode': [virtualGpu.mode],
  'vmm.createVm gpus/vendor': [virtualGpu.vendor],
  'vmm.createVm gpus/deviceId': [virtualGpu.deviceId],
  'vmm.createVm pcieDevices/backingInfo<PcieDeviceReference>/deviceExtId': [otherDemoDevice],
  'vmm.migrateVmDisks migrateDisks<AllDisksMigrationPlan>/storageContainer/extId': [goldId],
  'vmm.crossClusterMigrateVm overrides/overrideNicList/networkInfo/ipv4Config/ipAddress': [{ value: '10.0.0.12' }],
  'vmm.crossClusterMigrateVm overrides/overrideNicList/networkInfo/ipv4Config/secondaryIpAddressList': [
    { value: '10.0.0.13' },
  ],
  'vmm.crossClusterMigrateVm overrides/overrideNicList/nicNetworkInfo<VirtualEthernetNicNetworkInfo>/ipv4Config/ipAddress':
    [{ value: '10.0.0.14' }],
  'vmm.crossClusterMigrateVm overrides/overrideNicList/nicNetworkInfo<VirtualEthernetNicNetworkInfo>/ipv4Config/secondaryIpAddressList':
    [{ value: '10.0.0.15' }],
  'vmm.crossClusterMigrateVm overrides/overrideNicList/nicNetworkInfo<DpOffloadNicNetworkInfo>/ipv4Config/ipAddress': [
    { value: '10.0.0.16' },
  ],
  'vmm.crossClusterMigrateVm overrides/overrideNicList/backingInfo/model': ['VIRTIO'],
  'vmm.crossClusterMigrateVm overrides/overrideNicList/backingInfo/numQueues': [1],
  'vmm.crossClusterMigrateVm overrides/overrideNicList/nicBackingInfo<VirtualEthernetNic>/model': ['VIRTIO'],
  'vmm.crossClusterMigrateVm overrides/overrideNicList/nicBackingInfo<VirtualEthernetNic>/numQueues': [1],
  'vmm.createVm bootConfig<UefiBoot>/nvramDevice/backingStorageInfo/diskSizeBytes': [1_048_576],
  'vmm.cloneVm bootConfig<UefiBoot>/nvramDevice/backingStorageInfo/diskSizeBytes': [1_048_576],
  '* hardwareClockTimezone': ['Europe/Paris'],
  '* memorySizeBytes': [2 * GiB],
  '* numQueues': [2],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  // Running, with a disk, a NIC and a category.
  'vmm.clone-vm': async (app) => {
    const vm = await aRunningVm(app)
    return actWith(app, vm, 'clone', { name: 'copy', guestCustomization })
  },
  'vmm.assign-vm-owner': async (app) => {
    const users = (await app.call('GET', '/iam/v4.1.b2/authn/users')).data
    const owner = { extId: users.find(({ username }: any) => username !== 'admin').extId }
    return actWith(app, await aFullVm(app), 'assign-owner', { owner })
  },
  'vmm.associate-vm-categories': async (app) =>
    actWith(app, await aFullVm(app), 'associate-categories', {
      categories: [{ extId: seedId('category/Environment/Test') }],
    }),
  'vmm.disassociate-vm-categories': async (app) =>
    actWith(app, await aFullVm(app), 'disassociate-categories', {
      categories: [{ extId: seedId('category/Environment/Dev') }],
    }),
  'vmm.generate-console-token': async (app) => act(app, await aRunningVm(app), 'generate-console-token'),
  'vmm.migrate-vm-to-cluster': async (app) => {
    const { vm, body } = await acrossClusters(app)
    return actWith(app, vm, 'migrate', body)
  },
  'vmm.migrate-vm-to-host': async (app) => {
    const vm = await aRunningVm(app)
    const { extId } = (await app.call('GET', `${vms}/${vm}`)).data.host
    const others = ['hp-n01-a', 'hp-n01-b'].map(hostId).filter((host) => host !== extId)
    return actWith(app, vm, 'migrate-to-host', { host: { extId: others[0] } })
  },
  'vmm.customize-guest-vm': async (app) => actWith(app, await aFullVm(app), 'customize-guest', guestCustomization),
  'vmm.create-vm': async (app) => ({ method: 'POST', path: vms, body: await fullVm(app, { gpus: [demoGpu] }) }),
  'vmm.copy-vm': async (app) => {
    const source = { entityType: 'VM', extId: await aRunningVm(app) }
    return { method: 'POST', path: vms, body: { name: 'copy', source } }
  },
  'vmm.delete-vm': async (app) => {
    const vm = `${vms}/${await aRunningVm(app, { gpus: [demoGpu] })}`
    return tagged(app, 'DELETE', vm)
  },
  'vmm.power-cycle-vm': async (app) => act(app, await aRunningVm(app), 'power-cycle'),
  'vmm.reboot-vm': async (app) => act(app, await aBootedVm(app), 'reboot'),
  'vmm.reboot-guest-vm': async (app) => actWith(app, await aBootedVm(app), 'guest-reboot', withScript),
  'vmm.shutdown-guest-vm': async (app) => actWith(app, await aBootedVm(app), 'guest-shutdown', withScript),
  'vmm.power-off-vm': async (app) => act(app, await aRunningVm(app, await withFunction(app)), 'power-off'),
  // With a customisation, whose ISO lies in a drive from then on.
  'vmm.power-on-vm': async (app) =>
    act(app, await aFullVm(app, await withFunction(app, { guestCustomization })), 'power-on'),
  'vmm.reset-vm': async (app) => act(app, await aRunningVm(app), 'reset'),
  // Alone on a host that has failed, with its customisation to come: the next look restarts it.
  'vmm.restart-vm-elsewhere': async (app) => {
    const cluster = await aNativeCluster(app)
    const { extId } = await aVmOn(app, cluster, { disks: [bootDisk(cluster)], guestCustomization })
    assert.equal((await changed(app, extId, 'power-on')).status, 'SUCCEEDED')
    await happen(app, { type: 'HOST_FAILS', host: (await readVm(app, extId)).host.extId })
    await advance(app, 0.75)
    const path = '/control/v1/worlds/default/clock/$actions/advance'
    return { method: 'POST', path, body: { duration: 'PT10S' } }
  },
  'vmm.shutdown-vm': async (app) => act(app, await aRunningVm(app), 'shutdown'),
  // Running, and larger than before: it holds more of its host.
  'vmm.update-vm': async (app) => {
    const path = `${vms}/${await aRunningVm(app)}`
    // The field is the store's own: it is never on the wire.
    const { lastHostExtId: _, ...data } = (await app.call('GET', path)).data
    return tagged(app, 'PUT', path, { ...data, memorySizeBytes: 2 * GiB, description: 'changed' })
  },
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  domains: async ({ all, ids, managerNodes }) =>
    new Set([
      ...(await ids('Vm')),
      ...(await managerNodes()),
      ...(await all(Gateway)).flatMap(({ vmReference }) => vmReference ?? []),
    ]),
  virtualDisks: async ({ all, managerNodes }) =>
    new Set([
      ...(await all(Vm)).flatMap((vm) => [
        ...filesOf(vm).flatMap(({ diskExtId }) => diskExtId ?? []),
        ...firmwareFilesOf(vm),
      ]),
      ...(await all(TemplateVersion)).flatMap(({ copies = [] }) => copies.map((copy: any) => copy.diskExtId)),
      ...(await managerNodes()).map((node) => derivedId('manager disk', node)),
      ...(await all(Gateway)).map(({ vmReference, installedSoftwareVersion }) =>
        applianceDiskId(vmReference, installedSoftwareVersion),
      ),
      ...(await all(VmRecoveryPoint)).flatMap(({ diskRecoveryPoints = [], driveRecoveryPoints = [] }) =>
        [...diskRecoveryPoints, ...driveRecoveryPoints].map(({ diskRecoveryPointExtId }) => diskRecoveryPointExtId),
      ),
    ]),
}

/** A new VM of a random walk. */
export function walkersVm(asking: walk.Asking): object {
  const { model, draw } = asking
  const source = {
    reference: {
      $objectType: 'vmm.v4.ahv.config.ImageReference',
      imageExtId: model.extId(draw, walk.collections.images),
    },
  }
  const disk = (): object =>
    draw.isOneIn(3)
      ? { backingInfo: { dataSource: source } }
      : {
          backingInfo: {
            diskSizeBytes: GiB,
            storageContainer: { extId: model.extId(draw, walk.collections.containers) },
          },
        }
  return {
    name: walk.name(asking, 'vm'),
    memorySizeBytes: GiB * draw.of([1, 2, 64]),
    cluster: { extId: walk.nativeCluster },
    nics: draw.some([0, 1, 2], 2).map(() => nicOn(model.extId(draw, walk.collections.subnets))),
    disks: draw.some([0, 1, 2], 2).map(disk),
    categories: draw.isOneIn(2) ? walk.refer(model.extId(draw, walk.collections.categories)) : [],
  }
}

const toCluster = ({ model, draw }: walk.Asking): object => ({
  isLiveMigration: !draw.isOneIn(2),
  targetAvailabilityZone: { extId: seedId('availability-zone/local') },
  targetCluster: { extId: model.extId(draw, walk.collections.clusters) },
})

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createVm: (asking) => walk.post(walk.collections.vms, walkersVm(asking)),
  renameVm: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, walk.collections.vms), { name: walk.name(asking, 'vm') }),
  categorizeVm: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, walk.collections.vms), walk.someCategory(asking)),
  resizeVm: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, walk.collections.vms), {
      memorySizeBytes: GiB * asking.draw.of([1, 3, 16]),
    }),
  deleteVm: walk.removing(walk.collections.vms),
  powerOnVm: walk.acting(walk.collections.vms, 'power-on'),
  powerOffVm: walk.acting(walk.collections.vms, 'power-off'),
  resetVm: walk.acting(walk.collections.vms, 'reset'),
  shutdownVm: walk.acting(walk.collections.vms, 'shutdown'),
  rebootVm: walk.acting(walk.collections.vms, 'reboot'),
  powerCycleVm: walk.acting(walk.collections.vms, 'power-cycle'),
  rebootGuestVm: walk.acting(walk.collections.vms, 'guest-reboot', () => ({})),
  cloneVm: walk.acting(walk.collections.vms, 'clone', (asking) => ({ name: walk.name(asking, 'clone') })),
  migrateVmToHost: walk.acting(walk.collections.vms, 'migrate-to-host', ({ draw }) => ({
    host: { extId: seedId(`host/hp-n01-${draw.of(['a', 'b', 'c', 'd'])}`) },
  })),
  migrateVmDisks: walk.acting(walk.collections.vms, 'migrate-vm-disks', ({ model, draw }) => ({
    migrateDisks: {
      $objectType: 'vmm.v4.ahv.config.AllDisksMigrationPlan',
      storageContainer: { extId: model.extId(draw, walk.collections.containers) },
    },
  })),
  associateCategories: walk.acting(walk.collections.vms, 'associate-categories', walk.someCategory),
  disassociateCategories: walk.acting(walk.collections.vms, 'disassociate-categories', walk.someCategory),
  assignVmOwner: walk.acting(walk.collections.vms, 'assign-owner', ({ model, draw }) => ({
    owner: { extId: model.extId(draw, walk.collections.users) },
  })),
  crossClusterMigrateVm: walk.acting(walk.collections.vms, 'migrate', toCluster),
  generateConsoleTokenById: walk.acting(walk.collections.vms, 'generate-console-token'),
  crossClusterMigrateVmDryRun: walk.acting(walk.collections.vms, 'migrate?$dryrun=true', toCluster),
}

export const walkEntities = { [walk.collections.vms]: ['vm/web-01', 'vm/template-source', 'vm/desktop-01'] }

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'vmm.power-cycle-vm': 'the VM was powered off first',
}
