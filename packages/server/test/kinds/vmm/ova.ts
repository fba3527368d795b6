/** Requests by which suites that cover every kind reach OVAs. */
import { Ova } from '@hyperplane/contract/vmm/content/ova'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type Asked, created, tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { createdPath, named, once, updating } from '../../support/field-bases.ts'
import { ofUrl, ofVm, ovas } from '../../support/ovas.ts'
import { pointDisk } from '../../support/point-disk.ts'
import { storedKey } from '../../support/s3-server.ts'
import type { TestApp } from '../../support/start-app.ts'
import { macsOfFunctions, nicsWithFunctions } from '../../support/virtual-functions.ts'
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
import { aFullVm } from './vm.ts'

const fromUrl = (name: string) => ({ name, ...ofUrl(`https://images.example.com/${name}.ova`, nativeCluster) })

export const creations = {
  'vmm.createOva': { path: ovas, body: fromUrl },
} satisfies Record<string, Creation>

const shared = (app: TestApp): Promise<string> => once(app, 'ova', () => createdPath(app, ovas, fromUrl(named())))
/** Only these NICs take its addresses. */
const subnet = { extId: seedId('subnet/db') }

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'vmm.createOva': {
    path: '/content/ovas',
    body: { ...fromUrl('by-order'), clusterLocationExtIds: [unknown] },
    broken: { source: undefined },
  },
  'vmm.deployOva': {
    path: async (app) => `${(await shared(app)).slice('/vmm/v4.2'.length)}/$actions/deploy`,
    body: { clusterLocationExtId: unknown, overrideVmConfig: { nics: [] } },
    broken: { overrideVmConfig: { nics: [], memorySizeBytes: 1 } },
  },
}

/** In the older and in the newer pair of fields. */
const nicsOn = (subnet: object): object[] => [
  { networkInfo: { subnet } },
  {
    nicNetworkInfo: { $objectType: 'vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo', subnet },
    nicBackingInfo: { $objectType: 'vmm.v4.ahv.config.VirtualEthernetNic' },
  },
]

const deploying =
  (overrideVmConfig: (app: TestApp) => object | Promise<object>): FieldBase =>
  async (app) => ({
    path: `${await shared(app)}/$actions/deploy`,
    body: { clusterLocationExtId: nativeCluster, overrideVmConfig: await overrideVmConfig(app) },
  })

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.updateOvaById': [updating(ovas, () => fromUrl(named()))],
  'vmm.deployOva': [
    ...[subnet, { extId: seedId('subnet/vlan-100-app') }].flatMap(nicsOn).map((nic) =>
      deploying(() => ({
        name: named(),
        memorySizeBytes: GiB,
        nics: [nic],
        cdRoms: [{ backingInfo: { diskSizeBytes: GiB } }],
      })),
    ),
    ...[subnet.extId, seedId('subnet/vlan-100-app')]
      .flatMap(nicsWithFunctions)
      .map((nicFor) => deploying(async (app) => ({ name: named(), nics: [await nicFor(app)] }))),
    deploying(async (app) => ({ name: named(), nics: [], cdRoms: [{ backingInfo: await pointDisk(app) }] })),
  ],
}

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  ...macsOfFunctions('vmm.deployOva overrideVmConfig/nics/', 5),
  'vmm.createOva source<ObjectsLiteSource>/key': [storedKey],
  'vmm.createOva source<OvaUrlSource>/url': ['https://images.example.com/other.ova'],
  'vmm.deployOva overrideVmConfig/nics/backingInfo/macAddress': ['50:6b:8d:00:03:78'],
  'vmm.deployOva overrideVmConfig/nics/nicBackingInfo<VirtualEthernetNic>/numQueues': [1],
  'vmm.deployOva overrideVmConfig/nics/nicBackingInfo<VirtualEthernetNic>/macAddress': ['50:6b:8d:00:03:77'],
  'vmm.deployOva overrideVmConfig/nics/networkInfo/ipv4Config/ipAddress': [{ value: '192.168.20.201' }],
  'vmm.deployOva overrideVmConfig/nics/networkInfo/ipv4Config/secondaryIpAddressList': [{ value: '192.168.20.202' }],
  'vmm.deployOva overrideVmConfig/nics/nicNetworkInfo<VirtualEthernetNicNetworkInfo>/ipv4Config/ipAddress': [
    { value: '192.168.20.203' },
  ],
  'vmm.deployOva overrideVmConfig/nics/nicNetworkInfo<VirtualEthernetNicNetworkInfo>/ipv4Config/secondaryIpAddressList':
    [{ value: '192.168.20.204' }],
  'vmm.deployOva overrideVmConfig/nics/nicNetworkInfo<DpOffloadNicNetworkInfo>/ipv4Config/ipAddress': [
    { value: '192.168.20.205' },
  ],
  'vmm.deployOva overrideVmConfig/nics/nicNetworkInfo<DpOffloadNicNetworkInfo>/ipv4Config/secondaryIpAddressList': [
    { value: '192.168.20.206' },
  ],
  'vmm.createOva checksum<OvaSha1Checksum>/hexDigest': ['0123456789'.repeat(4)],
  'vmm.createOva checksum<OvaSha256Checksum>/hexDigest': ['0123456789abcdef'.repeat(4)],
  'vmm.createOva source<OvaVmSource>/vmExtId': [seedId('vm/template-source')],
}

const idOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.create-ova-of-vm': async (app): Promise<Asked> => ({
    method: 'POST',
    path: ovas,
    body: { name: 'killed', ...ofVm(await aFullVm(app), 'QCOW2') },
  }),
  'vmm.create-ova-of-url': async (): Promise<Asked> => ({ method: 'POST', path: ovas, body: fromUrl('killed') }),
  'vmm.update-ova': async (app) => {
    const path = `${ovas}/${await created(app, creations['vmm.createOva'], 'killed')}`
    return tagged(app, 'PUT', path, { name: 'renamed' })
  },
  'vmm.delete-ova': async (app): Promise<Asked> => ({
    method: 'DELETE',
    path: `${ovas}/${await created(app, creations['vmm.createOva'], 'gone')}`,
  }),
  'vmm.deploy-ova': async (app): Promise<Asked> => ({
    method: 'POST',
    path: `${ovas}/${idOf(await createdPath(app, ovas, { name: 'killed', ...ofVm(await aFullVm(app)) }))}/$actions/deploy`,
    body: { clusterLocationExtId: nativeCluster, overrideVmConfig: { nics: [{ networkInfo: { subnet } }] } },
  }),
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'content.ovas': async ({ all }) =>
    new Set(
      (await all(Ova)).flatMap(({ extId, clusterLocationExtIds = [] }) =>
        clusterLocationExtIds.map((cluster: string) => `${extId}/${cluster}`),
      ),
    ),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createOva: (asking) =>
    walk.post(ovas, {
      name: walk.name(asking, 'ova'),
      source: {
        $objectType: 'vmm.v4.content.OvaVmSource',
        vmExtId: asking.model.extId(asking.draw, walk.collections.vms),
        diskFileFormat: 'QCOW2',
      },
    }),
  deployOva: walk.acting(ovas, 'deploy', () => ({
    clusterLocationExtId: walk.nativeCluster,
    overrideVmConfig: { nics: [] },
  })),
  deleteOva: walk.removing(ovas),
}

export const walkEntities = { [ovas]: [] }
