/** Requests by which suites that cover every kind reach NICs of VMs. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type Asked, changing, tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { createdPath, named, once } from '../../support/field-bases.ts'
import { aNativeCluster, aSubnet, aVm, type NativeCluster, nicOn } from '../../support/native-cluster.ts'
import type { TestApp } from '../../support/start-app.ts'
import { macsOfFunctions, nicsWithFunctions } from '../../support/virtual-functions.ts'
import {
  type Creation,
  type FieldBase,
  GiB,
  nativeCluster,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

const vms = '/vmm/v4.2/ahv/config/vms'
const source = `${vms}/${seedId('vm/template-source')}`
const subnet = seedId('subnet/vlan-100-app')

/** Only the NIC of a network function may have all fields. */
const aFunction = { nicType: 'NETWORK_FUNCTION_NIC' }

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createNic': { path: `${source}/nics`, body: () => nicOn(subnet, aFunction), tagOf: source },
}

const demoVm = `/ahv/config/vms/${seedId('vm/web-01')}`
/** Breaks a rule with each of its fields. */
const broken = { backingInfo: { macAddress: '01:00:5e:00:00:01' } }

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'vmm.createNic': { path: `${demoVm}/nics`, body: nicOn(unknown), broken, tagOf: demoVm },
  'vmm.updateNicById': { path: aDemoNic, body: nicOn(unknown), broken },
  'vmm.migrateNicById': {
    path: async (app) => `${await aDemoNic(app)}/$actions/migrate`,
    body: { subnet: { extId: unknown }, migrateType: 'RELEASE_IP' },
    broken: { ipAddress: { value: '10.10.100.70' } },
  },
}

async function aDemoNic(app: TestApp): Promise<string> {
  return `${demoVm}/nics/${(await app.call('GET', `/vmm/v4.2${demoVm}`)).data.nics[0].extId}`
}

const poolOn = (app: TestApp, cluster: NativeCluster) => aSubnet(app, cluster, ['10.0.0.10', '10.0.0.99'])

interface Placed {
  readonly vm: string
  readonly path: string
  /** Managed, of the same cluster. */
  readonly other: string
}

/** A NIC with two addresses. */
async function aNic(app: TestApp): Promise<Placed> {
  const cluster = await aNativeCluster(app)
  const ipv4Config = { secondaryIpAddressList: [{ value: '10.0.0.90' }] }
  const { extId, nics } = await aVm(app, cluster, { nics: [nicOn(await poolOn(app, cluster), { ipv4Config })] })
  return { vm: `${vms}/${extId}`, path: `${vms}/${extId}/nics/${nics[0].extId}`, other: await poolOn(app, cluster) }
}

const acting = async (app: TestApp, action: string, bodyOf: (nic: Placed) => object | undefined): Promise<Asked> => {
  const nic = await aNic(app)
  return tagged(app, 'POST', `${nic.path}/$actions/${action}`, bodyOf(nic), nic.vm)
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.create-nic': async (app) => {
    const { vm, other } = await aNic(app)
    return tagged(app, 'POST', `${vm}/nics`, nicOn(other), vm)
  },
  'vmm.update-nic': async (app) => {
    const { path, other } = await aNic(app)
    return changing(app, path, { nicNetworkInfo: undefined, nicBackingInfo: undefined, ...nicOn(other) })
  },
  'vmm.delete-nic': async (app) => tagged(app, 'DELETE', (await aNic(app)).path),
  'vmm.assign-ip': (app) => acting(app, 'assign-ip', () => ({ ipAddress: { value: '10.0.0.70' } })),
  'vmm.release-ip': (app) => acting(app, 'release-ip', () => undefined),
  'vmm.migrate-nic': (app) =>
    acting(app, 'migrate', ({ other }) => ({ subnet: { extId: other }, migrateType: 'ASSIGN_IP' })),
}

const $network = 'vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo'
const recentPair = {
  nicBackingInfo: { $objectType: 'vmm.v4.ahv.config.VirtualEthernetNic' },
  nicNetworkInfo: { $objectType: $network, subnet: { extId: subnet }, ...aFunction },
}
const pairs = [async () => nicOn(subnet, aFunction), async () => recentPair, ...nicsWithFunctions(subnet)]

/** A NIC of a VM with several CPUs, so that it may have several queues. */
const nicFor = (app: TestApp, name: string): Promise<string> =>
  once(app, name, async () => {
    const body = {
      name: named(),
      memorySizeBytes: GiB,
      numSockets: 4,
      cluster: { extId: nativeCluster },
      nics: [nicOn(subnet)],
    }
    const path = await createdPath(app, vms, body)
    return `${path}/nics/${(await app.call('GET', path)).data.nics[0].extId}`
  })

const onNic =
  (action: string, body: object): FieldBase =>
  async (app) => {
    const nic = await nicFor(app, action)
    return { path: `${nic}/$actions/${action}`, readPath: nic, body }
  }

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.createNic': pairs.map((bodyFor) => async (app) => {
    const vm = (await nicFor(app, 'VM for NICs')).split('/nics/')[0] as string
    return { path: `${vm}/nics`, readPath: vm, body: await bodyFor(app) }
  }),
  'vmm.updateNicById': pairs.map((bodyFor, index) => async (app) => ({
    path: await nicFor(app, `NIC ${index}`),
    body: await bodyFor(app),
  })),
  'vmm.assignIpById': [onNic('assign-ip', {})],
  'vmm.migrateNicById': [onNic('migrate', { subnet: { extId: subnet }, migrateType: 'ASSIGN_IP' })],
}

const recent = 'nicNetworkInfo<VirtualEthernetNicNetworkInfo>/ipv4Config'
const offload = 'nicNetworkInfo<DpOffloadNicNetworkInfo>/ipv4Config'
const at = (last: number) => [{ value: `10.10.100.${last}` }]

/** Addresses and MAC addresses that no other request of the suite names. */
export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  ...macsOfFunctions('vmm.updateNicById ', 2),
  ...macsOfFunctions('vmm.createNic ', 1),
  'vmm.createNic nicBackingInfo<VirtualEthernetNic>/macAddress': ['50:6b:8d:00:00:78'],
  'vmm.createNic networkInfo/ipv4Config/ipAddress': at(130),
  'vmm.createNic networkInfo/ipv4Config/secondaryIpAddressList': at(131),
  [`vmm.createNic ${recent}/ipAddress`]: at(132),
  [`vmm.createNic ${recent}/secondaryIpAddressList`]: at(133),
  [`vmm.createNic ${offload}/ipAddress`]: at(134),
  'vmm.updateNicById networkInfo/ipv4Config/ipAddress': at(135),
  'vmm.updateNicById networkInfo/ipv4Config/secondaryIpAddressList': at(136),
  [`vmm.updateNicById ${recent}/ipAddress`]: at(137),
  [`vmm.updateNicById ${recent}/secondaryIpAddressList`]: at(138),
  // Without an address there is nothing to read back.
  [`vmm.updateNicById ${recent}/shouldAssignIp`]: [true],
  [`vmm.updateNicById ${offload}/ipAddress`]: at(139),
  [`vmm.updateNicById ${offload}/secondaryIpAddressList`]: at(129),
  'vmm.assignIpById ipAddress': at(140),
  'vmm.migrateNicById ipAddress': at(141),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  addNic: walk.adding('nics', ({ model, draw }) => ({
    nicNetworkInfo: {
      $objectType: 'vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo',
      subnet: { extId: model.extId(draw, walk.collections.subnets) },
    },
  })),
  removeNic: walk.removingPart('nics'),
}
