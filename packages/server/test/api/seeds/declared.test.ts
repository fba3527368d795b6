/** A world from a seed file with each kind in it: what is described is there, is real, and behaves. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { MacLease } from '../../../src/domains/virtual-machines/mac-lease.ts'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { changed, GiB, readVm } from '../../support/native-cluster.ts'
import { entitiesOf, factsOf } from '../../support/seeds.ts'
import { adminPassword, startApp, type TestApp } from '../../support/start-app.ts'

const text = `
categories:
  - { key: Tier, value: gold, description: Fast }
  - { key: Team, value: 'team-{nn}', count: 3 }
users:
  - { name: olga, displayName: Olga, roles: [Virtual Machine Viewer] }
  - { name: 'person-{n}', count: 2 }
  - { name: robot, userType: SERVICE_ACCOUNT, roles: [CSI System, Storage Admin] }
clusters:
  - name: east
    hosts: 2
    containers: [fast, { name: wide, replicationFactor: 1, affinityHostExtId: east-2, logicalAdvertisedCapacityGiB: 500 }]
    categories: [Tier/gold]
  - name: west
    address: 10.9.9.10
    hosts:
      - { name: west-a, memoryGiB: 256, categories: [Tier/gold] }
      - { name: west-b, extId: 22222222-2222-4222-8222-222222222222, gpuList: [Compute GPU] }
  - { name: outside, hypervisorType: ESX, hosts: 1 }
subnets:
  - { name: app, cluster: east, networkId: 10, ipSubnet: 10.1.0.0/24, poolList: [10.1.0.50-10.1.0.60, 10.1.0.70 - 10.1.0.80] }
  - { name: 'vlan-{n}', count: 3, cluster: west, networkId: 200, ipSubnet: 10.2.0.0/24 }
  - { name: plain, cluster: west, networkId: 99 }
  - { name: uplink, cluster: east, networkId: 300, isExternal: true, isNatEnabled: true, ipSubnet: 10.3.0.0/24 }
  - { name: inside, vpc: prod, ipSubnet: 192.168.1.0/24 }
vpcs:
  - { name: prod, externalSubnets: [uplink], externallyRoutablePrefixes: [192.168.1.0/24] }
images:
  - { name: ubuntu.qcow2, sizeGiB: 2, categories: [Tier/gold] }
  - { name: installer.iso, sizeGiB: 1, clusters: [west] }
vms:
  - name: web-{n}
    count: 10
    vcpus: [1, 2]
    memoryGiB: 2
    disks: [{ image: ubuntu.qcow2, sizeGiB: 20 }, 5]
    nics: [inside]
    powerState: ON
    owner: olga
    categories: ['Team/team-02']
  - name: on-{n}
    count: 3
    cluster: west
    nics: ['vlan-{n}']
  - name: fixed
    extId: 33333333-3333-4333-8333-333333333333
    disks: [{ sizeGiB: 10, container: fast }]
    nics: [{ subnet: app, ipAddress: 10.1.0.200, macAddress: '02:00:00:00:00:01' }]
    bootType: UEFI
    hasGuestTools: true
    powerState: ON
  - { name: unmanaged, cluster: west, disks: [{ image: ubuntu.qcow2 }], nics: [plain], powerState: ON }
volumeGroups:
  - { name: shared, sharingStatus: SHARED, vms: [fixed], iscsiClients: ['iqn.2026-01.io.example:a'], disksGiB: [10, 20], fullPercent: 50 }
  - { name: 'pvc-{n}', count: 4, cluster: west, disksGiB: [5], createdBy: csi, categories: [Tier/gold] }
`
const vms = '/vmm/v4.2/ahv/config/vms'

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: { text } } })
})
after(() => app?.close())

const list = async (path: string, filter = ''): Promise<any[]> => {
  const { data, status, errors } = await app.call('GET', `${path}?$limit=100${filter && `&$filter=${filter}`}`)
  assert.equal(status, 200, JSON.stringify(errors))
  return data
}
const vmNamed = async (name: string): Promise<any> => (await list(vms, `name eq '${name}'`))[0]

test('every invariant of a world holds', () => checkInvariants(app))

describe('clusters', () => {
  test('have the described hosts, containers and addresses, without duplicate addresses', async () => {
    const clusters = await list('/clustermgmt/v4.2/config/clusters')
    assert.deepEqual(clusters.map(({ name }) => name).sort(), ['PC_10.44.1.9', 'east', 'outside', 'west'])
    const hosts = await list('/clustermgmt/v4.2/config/hosts')
    assert.deepEqual(hosts.map(({ hostName }) => hostName).sort(), [
      'east-1',
      'east-2',
      'outside-1',
      'west-a',
      'west-b',
    ])
    const addresses = [
      ...clusters.map(({ network }) => network.externalAddress.ipv4.value),
      ...hosts.flatMap(({ hypervisor, controllerVm }) => [
        hypervisor.externalAddress.ipv4.value,
        controllerVm.externalAddress.ipv4.value,
      ]),
    ]
    assert.equal(new Set(addresses).size, addresses.length)
    const west = clusters.find(({ name }) => name === 'west')
    assert.equal(west.network.externalAddress.ipv4.value, '10.9.9.10')
    assert.equal(hosts.find(({ hostName }) => hostName === 'west-a').memorySizeBytes, 256 * GiB)
    const containers = await list(
      '/clustermgmt/v4.2/config/storage-containers',
      `clusterExtId eq '${seedId('cluster/east')}'`,
    )
    assert.deepEqual(containers.map(({ name }) => name.replace(/\d+$/, 'N')).sort(), [
      'SelfServiceContainer',
      'default-container-N',
      'fast',
      'wide',
    ])
  })

  test('are registered with this manager, and their BMCs answer', async () => {
    const east = seedId('cluster/east')
    const bmc = await app.call(
      'GET',
      `/clustermgmt/v4.2/config/clusters/${east}/hosts/${seedId('host/east-1')}/bmc-info`,
    )
    assert.equal(bmc.data.status, 'VALID')
    const [manager] = (await app.call('GET', '/platform/v4.3/config/domain-managers')).data
    const { data: registrations } = await app.call(
      'GET',
      `/platform/v4.3/management/domain-managers/${manager.extId}/registrations`,
    )
    assert.equal(registrations.length, 3)
    assert.ok(registrations.every(({ connectivityStatus }: any) => connectivityStatus === 'CONNECTED'))
  })

  test('a host may carry categories, which no operation sets', async () => {
    const detailed = await app.call(
      'GET',
      `/platform/v4.3/config/categories/${seedId('category/Tier/gold')}?$expand=associations`,
    )
    const counts = new Map(detailed.data.associations.map((each: any) => [each.resourceType, each.count]))
    assert.deepEqual(
      ['CLUSTER', 'HOST', 'IMAGE', 'VOLUMEGROUP'].map((type) => counts.get(type)),
      [1, 1, 1, 4],
    )
  })
})

describe('ids', () => {
  test('are derived from names unless they are written', async () => {
    for (const [path, name, kind] of [
      [vms, 'web-7', 'vm'],
      ['/networking/v4.3/config/subnets', 'vlan-2', 'subnet'],
      ['/networking/v4.3/config/vpcs', 'prod', 'vpc'],
      ['/vmm/v4.2/content/images', 'ubuntu.qcow2', 'image'],
      ['/volumes/v4.2/config/volume-groups', 'pvc-3', 'volume-group'],
      ['/clustermgmt/v4.2/config/clusters', 'east', 'cluster'],
    ] as const)
      assert.deepEqual(
        (await list(path, `name eq '${name}'`)).map(({ extId }) => extId),
        [seedId(`${kind}/${name}`)],
      )
    assert.equal((await vmNamed('fixed')).extId, '33333333-3333-4333-8333-333333333333')
    const hosts = await list('/clustermgmt/v4.2/config/hosts', "hostName eq 'west-b'")
    assert.equal(hosts[0].extId, '22222222-2222-4222-8222-222222222222')
  })

  test('and all else are equal in worlds of equal texts, and differ with another random seed', async (t) => {
    const made: TestApp[] = []
    for (const seed of [text, text, `random: other\n${text}`])
      made.push(await startApp({ config: { seed: { text: seed } } }))
    t.after(() => Promise.all(made.map((each) => each.close())))
    const [first, same, other] = made as [TestApp, TestApp, TestApp]
    assert.deepEqual([...(await entitiesOf(same))], [...(await entitiesOf(first))])
    assert.deepEqual([...(await factsOf(same))], [...(await factsOf(first))])
    const shape = async (of: TestApp): Promise<unknown[]> =>
      (await of.store.find(Vm)).map(({ name, cluster, numSockets, host }) => [name, cluster, numSockets, host])
    assert.notDeepEqual(await shape(other), await shape(first))
  })
})

describe('virtual machines', () => {
  test('are created according to their counts, spread over the clusters that have everything they refer to', async () => {
    assert.equal((await app.call('GET', `${vms}?$limit=1`)).total, 15)
    const web = await list(vms, "startswith(name,'web-')")
    assert.equal(web.length, 10)
    const clusters = web.map(({ cluster }) => cluster.extId)
    for (const name of ['east', 'west'])
      assert.equal(clusters.filter((extId) => extId === seedId(`cluster/${name}`)).length, 5)
    assert.deepEqual([...new Set(web.map(({ numSockets }) => numSockets))].sort(), [1, 2])
    for (const number of [1, 2, 3]) {
      const { nics, cluster } = await vmNamed(`on-${number}`)
      assert.equal(nics[0].networkInfo.subnet.extId, seedId(`subnet/vlan-${number}`))
      assert.equal(cluster.extId, seedId('cluster/west'))
    }
  })

  test('that are on reserve memory on a host, run there, and are counted there', async () => {
    const on = await list(vms, "powerState eq Vmm.Ahv.Config.PowerState'ON'")
    assert.equal(on.length, 12)
    for (const vm of on) {
      const [held] = await app.store.findWhere(HostAllocation, { vmExtId: vm.extId })
      assert.deepEqual([held?.hostExtId, held?.memoryBytes], [vm.host.extId, vm.memorySizeBytes], vm.name)
      assert.equal(domainFacts(app.world).get(vm.extId)?.hostExtId, vm.host.extId)
    }
    const hosts = await list('/clustermgmt/v4.2/config/hosts')
    assert.equal(
      hosts.reduce((sum, host) => sum + (host.hypervisor.numberOfVms ?? 0), 0),
      12,
    )
  })

  test('have addresses leased to their NICs, the requested one if there is one', async () => {
    const { nics } = await vmNamed('fixed')
    assert.equal(nics[0].networkInfo.ipv4Config.ipAddress.value, '10.1.0.200')
    assert.equal(nics[0].backingInfo.macAddress, '02:00:00:00:00:01')
    const web = await list(vms, "startswith(name,'web-')")
    const addresses = web.map((vm) => vm.nics[0].networkInfo.ipv4Config.ipAddress.value)
    assert.equal(new Set(addresses).size, 10)
    for (const vm of web) {
      const [lease] = await app.store.findWhere(AddressLease, { holderExtId: vm.nics[0].extId })
      assert.equal(lease?.subnetExtId, seedId('subnet/inside'))
      assert.equal((await app.store.findOne(MacLease, { nicExtId: vm.nics[0].extId }))?.vmExtId, vm.extId)
    }
    const inside = await app.call('GET', `/networking/v4.3/config/subnets/${seedId('subnet/inside')}`)
    assert.equal(inside.data.ipUsage.numAssignedIPs, 10)
  })

  test('use space of the storage containers of their disks', async () => {
    const fast = seedId('container/east/fast')
    const stats = await app.call('GET', `/clustermgmt/v4.2/config/storage-containers/${fast}`)
    assert.equal(stats.status, 200)
    const { disks } = await vmNamed('fixed')
    assert.equal(disks[0].backingInfo.storageContainer.extId, fast)
  })

  test('learn an address from the outside on a subnet without address management', async () => {
    const { nics } = await readVm(app, seedId('vm/unmanaged'))
    assert.equal(nics[0].networkInfo.ipv4Config, undefined)
    assert.match(nics[0].networkInfo.ipv4Info.learnedIpAddresses[0].value, /^10\./)
  })

  test('can be switched on and off, given an address, and deleted', async () => {
    const { extId } = await vmNamed('on-2')
    assert.equal((await changed(app, extId, 'power-on')).status, 'SUCCEEDED')
    assert.match((await readVm(app, extId)).nics[0].networkInfo.ipv4Config.ipAddress.value, /^10\.2\.1\./)
    assert.equal((await changed(app, extId, 'power-off')).status, 'SUCCEEDED')
    assert.equal((await changed(app, extId, 'delete')).status, 'SUCCEEDED')
    assert.equal((await app.call('GET', `${vms}/${extId}`)).status, 404)
  })
})

describe('networks', () => {
  test('created by a count have consecutive tags and prefixes', async () => {
    for (const number of [1, 2, 3]) {
      const [subnet] = await list('/networking/v4.3/config/subnets', `name eq 'vlan-${number}'`)
      assert.equal(subnet.networkId, 199 + number)
      assert.equal(subnet.ipConfig[0].ipv4.ipSubnet.ip.value, `10.2.${number - 1}.0`)
      assert.equal(subnet.ipConfig[0].ipv4.defaultGatewayIp.value, `10.2.${number - 1}.1`)
    }
  })

  test('a VPC has a port on its external subnet', async () => {
    const [vpc] = await list('/networking/v4.3/config/vpcs')
    assert.equal(vpc.externalSubnets[0].subnetReference, seedId('subnet/uplink'))
    assert.match(vpc.externalSubnets[0].externalIps[0].ipv4.value, /^10\.3\.0\./)
  })

  test('assign further addresses after the leased ones', async () => {
    const task = await app.task(
      await app.call('POST', vms, {
        requestId: randomUUID(),
        body: {
          name: 'newcomer',
          memorySizeBytes: GiB,
          cluster: { extId: seedId('cluster/east') },
          nics: [{ networkInfo: { subnet: { extId: seedId('subnet/app') } } }],
        },
      }),
    )
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    const { nics } = await readVm(app, task.entitiesAffected[0].extId)
    assert.equal(nics[0].networkInfo.ipv4Config.ipAddress.value, '10.1.0.50')
  })
})

test('volume groups have disks, and attachments that VMs and clients also show', async () => {
  const extId = seedId('volume-group/shared')
  const path = `/volumes/v4.2/config/volume-groups/${extId}`
  assert.equal((await list(`${path}/disks`)).length, 2)
  assert.deepEqual(
    (await list(`${path}/vm-attachments`)).map((each) => [each.extId, each.index]),
    [['33333333-3333-4333-8333-333333333333', 1]],
  )
  const external = await list(`${path}/external-iscsi-attachments`)
  assert.equal(external.length, 1)
  assert.equal((await list('/volumes/v4.2/config/volume-groups', "startswith(name,'pvc-')")).length, 4)
})

test('users sign in with the password of admin, and may do what their roles say', async () => {
  const as = `olga:${adminPassword}`
  assert.equal((await app.call('GET', vms, { as })).status, 200)
  const body = { name: 'x', memorySizeBytes: GiB, cluster: { extId: seedId('cluster/east') } }
  assert.equal((await app.call('POST', vms, { as, body, requestId: randomUUID() })).status, 403)
  assert.equal((await app.call('GET', vms, { as: `person-2:${adminPassword}` })).status, 403)
})

test('a seed can extend the demo, rename its images and VMs, and keeps the ids', async () => {
  const demo = await startApp({
    config: {
      seed: {
        text: `extends: demo
names: { floating-01: bastion, ubuntu-24.04.qcow2: jammy }
vms:
  - { name: more, cluster: hp-native-01, disks: [{ image: jammy }], nics: [vlan-100-app], categories: [Environment/Dev], powerState: ON }
volumeGroups:
  - { name: extra, vms: [bastion], disksGiB: [1] }
`,
      },
    },
  })
  const named = async (path: string, name: string): Promise<any[]> =>
    (await demo.call('GET', `${path}?$filter=name eq '${name}'`)).data
  assert.equal((await named(vms, 'bastion'))[0].extId, seedId('vm/floating-01'))
  assert.equal((await named('/vmm/v4.2/content/images', 'jammy'))[0].extId, seedId('image/ubuntu-24.04.qcow2'))
  assert.equal((await named(vms, 'more'))[0].powerState, 'ON')
  await checkInvariants(demo)
  await demo.close()
})

test('a number of VMs adds powered-off VMs, spread equally over all native clusters', async () => {
  const many = await startApp({ config: { seed: { text: 'extends: lab\nvms: 21\n' } } })
  const { data, total } = await many.call('GET', `${vms}?$filter=startswith(name,'vm-')&$limit=100`)
  assert.equal(total, 21)
  const on = (name: string): number =>
    data.filter(({ cluster }: any) => cluster.extId === seedId(`cluster/${name}`)).length
  assert.deepEqual(['lab-01', 'lab-02', 'lab-cloud'].map(on), [7, 7, 7])
  assert.equal((await changed(many, data[0].extId, 'power-on')).status, 'SUCCEEDED')
  assert.equal((await changed(many, data[0].extId, 'delete')).status, 'SUCCEEDED')
  await many.close()
})

test('a described stretch joins a subnet with one of a described remote site, and is UP', async () => {
  const seed = `
extends: tiny
subnets:
  - { name: app, networkId: 10, ipSubnet: 10.1.0.0/24, poolList: [10.1.0.50-10.1.0.60] }
  - { name: outside, networkId: 11, ipSubnet: 10.2.0.0/24, isExternal: true, isNatEnabled: false }
vpcs: [{ name: prod, externalSubnets: [outside] }]
gateways: [{ name: vtep, service: VTEP, vpc: prod, isHaEnabled: true }]
domainManagers:
  - name: dr-site
    address: 10.46.1.9
    subnets: [{ name: app-dr, ipSubnet: 10.1.0.0/25, defaultGatewayIp: 10.1.0.1, poolList: [10.1.0.70-10.1.0.80], guests: 4 }]
    vtepGateways: [{ name: vtep-dr, address: 10.46.1.30 }]
layer2Stretches:
  - { name: joined, subnet: app, gateway: vtep, site: dr-site, remoteSubnet: app-dr, remoteGateway: vtep-dr, vni: 7 }
`
  const world = await startApp({ config: { seed: { text: seed } } })
  try {
    const [{ extId, stretchStatus }] = (await world.call('GET', '/networking/v4.3/config/layer2-stretches')).data
    assert.deepEqual([extId, stretchStatus.tunnelState], [seedId('layer2-stretch/joined'), 'UP'])
    const macs = `/networking/v4.3/config/layer2-stretches/${extId}/learned-mac-addresses`
    assert.equal((await world.call('GET', macs)).data.length, 4)
    await checkInvariants(world)
  } finally {
    await world.close()
  }
})
