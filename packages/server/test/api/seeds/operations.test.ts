/** Entries of the section `operations`: each performs an operation of the API while the world is made. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { contract, type Operation } from '@hyperplane/contract'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { SeedRefusal } from '../../../src/seeds/seed-refusal.ts'
import { creations } from '../../kinds/collected.ts'
import type { Creation } from '../../kinds/kind.ts'
import { hostId, ids } from '../../support/clustermgmt.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { readVm } from '../../support/native-cluster.ts'
import { entitiesOf, exported, factsOf } from '../../support/seeds.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

const operations = new Map(contract.flatMap((each) => each.operations).map((each) => [each.key, each]))

const worldOf = (text: string): Promise<TestApp> => startApp({ config: { seed: { text } } })

/** `line:column path: message`, each. */
async function faultsOf(text: string): Promise<string[]> {
  try {
    await (await worldOf(text)).close()
  } catch (error) {
    assert.ok(error instanceof SeedRefusal, String((error as Error).stack))
    return error.faults.map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`)
  }
  return []
}

/** The parameters of the path of a request to the operation. */
function parametersOf({ path: template }: Operation, path: string): object {
  const pattern = template.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')
  return { ...new RegExp(`${pattern}$`).exec(path)?.groups }
}

function entryFor(key: string, { path, body, clusterId }: Creation): object {
  const operation = operations.get(key) as Operation
  return {
    operation: key,
    name: `made-${key}`,
    cluster: clusterId,
    path: parametersOf(operation, path),
    body: body(key),
  }
}

describe('every kind that tests can create', () => {
  for (const preset of ['demo', 'empty'] as const) {
    /** The id of this manager follows from the seed, where it is not the demo alone. */
    const named = (text: string): string => text.replaceAll(seedId('manager'), 'this')
    const chosen = Object.entries(creations).filter(
      ([, { seed = 'demo', prepare }]) => seed === preset && prepare === undefined,
    )

    test(`of a world like ${preset} is created by an entry of its operation`, async (t) => {
      const entries = chosen.map(([key, creation]) => `  - ${JSON.stringify(entryFor(key, creation))}\n`)
      const app = await worldOf(`extends: ${preset}\nmanager: { name: this }\noperations:\n${named(entries.join(''))}`)
      t.after(() => app.close())
      for (const [key] of chosen) {
        const { resource, stem } = operations.get(key) as Operation
        assert.ok(resource !== undefined, key)
        // Entries of a list of their parent have no rows: the invariants compare them with the simulated world.
        if (resource.derived === true) continue
        assert.ok((await app.store.get(resource, seedId(`${stem}/made-${key}`))) !== undefined, key)
      }
      await checkInvariants(app)
    })
  }
})

describe('an entry', () => {
  const text = `
extends: tiny
categories: [{ key: Tier, value: gold }]
operations:
  - { operation: networking.createNetworkController, name: main, body: {} }
  - { operation: networking.createVpc, body: { name: prod, commonDhcpOptions: { domainNameServers: [10.0.0.53] } } }
  - operation: createSubnet
    name: web-{n}
    count: 2
    body: { name: 'web-{n}', subnetType: OVERLAY, vpcReference: prod, metadata: { categoryIds: [Tier/gold] }, ipConfig: [{ ipv4: { ipSubnet: { ip: '192.168.{n}.0', prefixLength: 24 }, defaultGatewayIp: '192.168.{n}.1', poolList: [{ startIp: '192.168.{n}.10', endIp: '192.168.{n}.99' }] } }] }
  - operation: vmm.createVm
    extId: 33333333-3333-4333-8333-333333333333
    body:
      name: app
      memorySizeBytes: 1073741824
      cluster: { extId: tiny }
      nics: [{ nicNetworkInfo: { $objectType: vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo, subnet: { extId: web-1 } } }]
  - { operation: vmm.powerOnVm, path: { extId: app } }
  - { operation: volumes.createVolumeGroup, body: { name: shared, clusterReference: tiny } }
  - { operation: volumes.createVolumeDisk, name: first, path: { volumeGroupExtId: shared }, body: { diskSizeBytes: 1073741824, diskDataSourceReference: { entityType: STORAGE_CONTAINER, extId: StorageContainer/tiny/default } } }
`

  test('refers by name to described entities and to those of earlier entries', async (t) => {
    const app = await worldOf(text)
    t.after(() => app.close())
    const subnet = (await app.call('GET', `/networking/v4.3/config/subnets/${seedId('subnet/web-2')}`)).data
    assert.equal(subnet.vpcReference, seedId('vpc/prod'))
    assert.equal(subnet.ipConfig[0].ipv4.ipSubnet.ip.value, '192.168.2.0')
    assert.deepEqual(subnet.metadata.categoryIds, [seedId('category/Tier/gold')])
    const vm = (await app.call('GET', '/vmm/v4.2/ahv/config/vms/33333333-3333-4333-8333-333333333333')).data
    assert.equal(vm.powerState, 'ON')
    const disks = `/volumes/v4.2/config/volume-groups/${seedId('volume-group/shared')}/disks`
    assert.deepEqual(
      (await app.call('GET', disks)).data.map(({ extId }: any) => extId),
      [seedId('volume-disk/first')],
    )
    await checkInvariants(app)
  })

  test('leaves no task, and its world is exported and imported again', async (t) => {
    const app = await worldOf(text)
    t.after(() => app.close())
    assert.equal((await entitiesOf(app)).has('Task'), false)
    const copy = await startApp({ config: { seed: { text: await exported(app) } }, startAt: app.clock.now() })
    t.after(() => copy.close())
    assert.deepEqual([...(await entitiesOf(copy))], [...(await entitiesOf(app))])
    assert.deepEqual([...(await factsOf(copy))], [...(await factsOf(app))])
  })

  test('empties a host for maintenance; its VMs return to it in an exported and imported copy', async (t) => {
    const app = await worldOf(`extends: demo
operations:
  - { operation: clustermgmt.enterHostMaintenance, path: { clusterExtId: hp-native-01, extId: hp-n01-c }, body: {} }
`)
    t.after(() => app.close())
    const [web, desktop] = [seedId('vm/web-02'), seedId('vm/desktop-01')]
    const host = hostId('hp-n01-c')
    const isThere = async (at: TestApp): Promise<boolean[]> =>
      Promise.all([web, desktop].map(async (extId) => (await readVm(at, extId)).host.extId === host))
    assert.deepEqual(await isThere(app), [false, false])
    await checkInvariants(app)
    const copy = await startApp({ config: { seed: { text: await exported(app) } }, startAt: app.clock.now() })
    t.after(() => copy.close())
    const path = `/clustermgmt/v4.2/operations/clusters/${ids.native}/hosts/${host}/$actions/exit-host-maintenance`
    const left = await copy.task(await copy.call('POST', path, { body: {}, requestId: randomUUID() }))
    assert.equal(left.status, 'SUCCEEDED', JSON.stringify(left.errorMessages))
    assert.deepEqual(await isThere(copy), [true, true])
  })

  test('of an action, an update or a deletion changes what it names', async (t) => {
    const app = await worldOf(`extends: tiny
operations:
  - { operation: platform.createCategory, body: { key: Tier, value: gold } }
  - { operation: platform.updateCategoryById, path: { extId: Tier/gold }, body: { key: Tier, value: gold, description: Fast } }
  - { operation: vmm.deleteVmById, path: { extId: vm-1 } }
`)
    t.after(() => app.close())
    const category = (await app.call('GET', `/platform/v4.3/config/categories/${seedId('category/Tier/gold')}`)).data
    assert.equal(category.description, 'Fast')
    assert.equal((await app.call('GET', `/vmm/v4.2/ahv/config/vms/${seedId('vm/vm-1')}`)).status, 404)
  })
})

describe('faults of entries are reported together, at their places:', () => {
  test('unknown operations, parameters, names and fields, and values that the contract refuses', async () => {
    const faults = await faultsOf(`extends: tiny
operations:
  - { operation: networking.createVcp, body: { name: a } }
  - { operation: updateIscsiClientById, body: {} }
  - operation: networking.createVpc
    body:
      name: b
      vpcTyp: REGULAR
      externalSubnets: [{ subnetReference: nte }]
  - operation: networking.createVpc
    body:
      name: c
      vpcType: TRANSITORY
      commonDhcpOptions:
        domainNameServers: [nowhere]
  - operation: networking.createVpc
    body:
      name: c
      vpcType: TRANSITORY
  - { operation: volumes.createVolumeDisk, path: { group: x }, body: { diskSizeBytes: 1 } }
  - { operation: clustermgmt.createStorageContainer, body: { name: gold } }
  - { operation: vmm.powerOnVm, path: { extId: vm-11 }, body: {} }
`)
    assert.deepEqual(faults, [
      '3:18 operations[0].operation: "networking.createVcp" is no operation that a seed can perform; did you mean "networking.createVpc" or "networking.createSubnet"?',
      '4:18 operations[1].operation: "updateIscsiClientById" names several operations: expected storage.updateIscsiClientById or volumes.updateIscsiClientById',
      '9:44 operations[2].body.externalSubnets[0].subnetReference: "nte" is none of the subnets that there are; did you mean "net"?',
      '15:29 operations[3].body.commonDhcpOptions.domainNameServers[0]: expected an address, found "nowhere"',
      '19:16 operations[4].body.vpcType: expected one of REGULAR, TRANSIT; found "TRANSITORY"',
      '20:50 operations[5].path: volumeGroupExtId is missing, a parameter of /config/volume-groups/{volumeGroupExtId}/disks',
      '20:59 operations[5].path.group: is no parameter of /config/volume-groups/{volumeGroupExtId}/disks',
      '21:5 operations[6]: cluster is missing: clustermgmt.createStorageContainer needs it',
      '22:48 operations[7].path.extId: "vm-11" is none of the vms that there are; did you mean "vm-1"?',
      '22:63 operations[7].body: expected none: vmm.powerOnVm has no body',
    ])
  })

  test('what breaks a rule of the kind or depends on the state, at the attribute that the error names', async () => {
    const faults = await faultsOf(`extends: tiny
operations:
  - operation: vmm.createVm
    body: { name: a, memorySizeBytes: 1073741824, hardwareClockTimezone: Nowhere/Never }
  - { operation: platform.createCategory, body: { key: Tier, value: gold } }
  - { operation: platform.createCategory, body: { key: Tier, value: gold } }
`)
    assert.equal(faults.length, 2, faults.join('\n'))
    assert.match(faults[0] ?? '', /^4:74 operations\[0\]\.body\.hardwareClockTimezone: /)
    assert.match(faults[1] ?? '', /^6:\d+ operations\[2\]/)
  })

  test('a reference to an entity whose own entry failed is no further fault', async () => {
    const faults = await faultsOf(`extends: tiny
operations:
  - { operation: networking.createVpc, body: { name: prod, vpcType: OTHER } }
  - { operation: networking.createSubnet, body: { name: web, subnetType: OVERLAY, vpcReference: prod } }
  - { operation: vmm.createVm, body: { name: app, memorySizeBytes: 1, cluster: { extId: tiny }, nics: [{ networkInfo: { subnet: { extId: web } } }] } }
`)
    assert.equal(faults.length, 1, faults.join('\n'))
    assert.match(faults[0] ?? '', /^3:69 operations\[0\]\.body\.vpcType/)
  })

  test('without the secrets of their bodies', async () => {
    const faults = await faultsOf(`extends: tiny
operations:
  - operation: iam.createUser
    body: { username: olga, userType: LOCAL, password: short, nonsense: 1 }
`)
    assert.ok(faults.length > 0)
    assert.doesNotMatch(faults.join('\n'), /short/)
  })
})
