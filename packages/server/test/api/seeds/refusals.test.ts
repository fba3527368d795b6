/** What names nothing, or fits nowhere, is found while a world is filled: all of it together, and nothing is made. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { SeedRefusal } from '../../../src/seeds/seed-refusal.ts'
import { startApp } from '../../support/start-app.ts'

/** `line:column path: message`, each. */
async function faultsOf(text: string): Promise<string[]> {
  try {
    await (await startApp({ config: { seed: { text } } })).close()
  } catch (error) {
    assert.ok(error instanceof SeedRefusal, String((error as Error).stack))
    return error.faults.map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`)
  }
  return []
}

test('all dangling names are reported together, each with the most similar existing name', async () => {
  const faults = await faultsOf(`extends: tiny
subnets:
  - { name: other, cluster: tony, networkId: 5 }
vms:
  - { name: a, nics: [nte], disks: [{ image: ubuntu-24.qcow2, sizeGiB: 1 }], categories: [Environment/Dev] }
  - { name: b, cluster: tiny, disks: [{ sizeGiB: 1, container: defualt }] }
  - { name: c, owner: amdin }
  - { name: d, nics: [other] }
volumeGroups:
  - { name: g, vms: [vm-11] }
`)
  assert.deepEqual(faults, [
    '3:29 subnets[0].cluster: "tony" is none of the clusters that there are; did you mean "tiny"?',
    '5:23 vms[0].nics[0]: "nte" is none of the subnets that there are; did you mean "net"?',
    '5:46 vms[0].disks[0].image: "ubuntu-24.qcow2" is none of the images that there are; did you mean "ubuntu-24.04.qcow2"?',
    '5:91 vms[0].categories[0]: "Environment/Dev" is none of the categories that there are',
    '6:64 vms[1].disks[0].container: "defualt" is none of the containers of tiny that there are; did you mean "default"?',
    '7:23 vms[2].owner: "amdin" is none of the users that there are; did you mean "admin"?',
    '10:22 volumeGroups[0].vms[0]: "vm-11" is none of the vms that there are; did you mean "vm-1"?',
  ])
})

test('an unknown cluster does not hide other faults of the same entity', async () => {
  const faults = await faultsOf(`extends: tiny
vms:
  - { name: a, cluster: [tny, tinny], nics: [nte], owner: amdin }
volumeGroups:
  - { name: g, cluster: tny, categories: [No/thing], owner: amdin }
externalVms:
  - { name: x, cluster: tny, categories: [No/thing], owner: amdin }
`)
  assert.deepEqual(
    faults.map((fault) => fault.slice(0, fault.indexOf(': '))),
    [
      ...['3:26 vms[0].cluster[0]', '3:31 vms[0].cluster[1]', '3:46 vms[0].nics[0]', '3:59 vms[0].owner'],
      ...['5:25 volumeGroups[0].cluster', '5:43 volumeGroups[0].categories[0]', '5:61 volumeGroups[0].owner'],
      ...['7:25 externalVms[0].cluster', '7:43 externalVms[0].categories[0]', '7:61 externalVms[0].owner'],
    ],
  )
})

test('described entities are checked by the rules of the interface', async () => {
  const faults = await faultsOf(`extends: tiny
categories:
  - { key: a/b, value: c }
users:
  - { name: "it's" }
subnets:
  - { name: outside, networkId: 7, ipSubnet: 10.5.0.0/24, defaultGatewayIp: 10.6.0.1 }
  - { name: nowhere }
  - { name: bits, networkId: 8, ipSubnet: 10.5.0.7/24 }
images:
  - { name: ../../etc }
`)
  assert.deepEqual(
    faults.map((fault) => fault.split(' ')[0]),
    ['3:5', '5:5', '7:5', '8:5', '9:43', '11:5'],
  )
  assert.match(faults[2] ?? '', /defaultGatewayIp/)
  assert.match(faults[4] ?? '', /expected a prefix without host bits, such as 10\.0\.0\.0\/24; found "10\.5\.0\.7\/24"/)
})

test('conflicts, duplicates and values that do not fit are refused with their position', async () => {
  const faults = await faultsOf(`extends: tiny
clusters:
  - { name: tiny }
  - { name: two, hosts: 1, address: 10.64.0.10 }
subnets:
  - { name: net, networkId: 9 , cluster: tiny}
  - { name: narrow, cluster: tiny, networkId: 10, ipSubnet: 10.5.0.0/29, poolList: [10.5.0.4-10.5.0.5] }
vms:
  - { name: vm-1 }
  - { name: 'full-{n}', count: 3, nics: [narrow] }
  - { name: huge, memoryGiB: 1000, powerState: ON }
  - { name: wide, disks: [1000000] }
  - { name: twice }
  - { name: twice }
  - { name: wrong, nics: [{ subnet: narrow, ipAddress: 10.7.0.1 }] }
volumeGroups:
  - { name: both, cluster: tiny, vms: [vm-2, vm-3] }
`)
  const told = new Map(faults.map((fault) => [fault.split(' ')[0] as string, fault]))
  for (const [at, expected] of [
    ['3:13', /there is a cluster tiny already/],
    ['4:28', /10\.64\.0\.10 is an address of tiny already/],
    ['6:5', /there is one already with the same/],
    ['9:5', /there is one already with the same/],
    ['10:5', /narrow.*(?:full|exhausted|free|requested)/i],
    ['11:5', /huge.*memory/],
    ['12:27', /expected at most \d+ GiB in default-container-\d+, found 1000000/],
    ['14:5', /vms twice is described twice/],
    ['15:5', /10\.7\.0\.1/],
    ['17:5', /sharingStatus: expected SHARED for its 2 users/],
  ] as const)
    assert.match(told.get(at) ?? `nothing at ${at} of ${faults.join('\n')}`, expected)
  assert.equal(told.size, 10)
})

test('a number of VMs needs a native cluster', async () => {
  assert.deepEqual(await faultsOf('vms: 3\n'), [
    '1:6 vms: expected a native cluster for them: describe one, or extend a preset that has one',
  ])
})

test('a refused seed leaves nothing behind: the folder can start with the corrected seed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-seed-'))
  const file = join(folder, 'seed.yaml')
  const data = join(folder, 'data')
  writeFileSync(file, 'extends: tiny\nvms: [{ name: x, nics: [nte] }]\n')
  await assert.rejects(
    startApp({ folder: data, config: { seed: { file } } }),
    /seed\.yaml: line 2, column 25, vms\[0\]/,
  )
  writeFileSync(file, 'extends: tiny\nvms: [{ name: x, nics: [net] }]\n')
  const app = await startApp({ folder: data, config: { seed: { file } } })
  assert.equal((await app.call('GET', '/vmm/v4.2/ahv/config/vms?$limit=1')).total, 4)
  await app.close()
  assert.ok(existsSync(data))
  rmSync(folder, { recursive: true })
})

test('a malformed seed leaves a new folder empty', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-seed-'))
  await assert.rejects(
    startApp({ folder, config: { seed: { text: 'vmz: 3\n' } } }),
    /vmz: is not known here; did you mean "vms"\?/,
  )
  assert.ok(!existsSync(join(folder, 'world.sqlite')))
  rmSync(folder, { recursive: true })
})

test('dangling names and violated rules of all sections are reported together, with their positions', async () => {
  const faults = await faultsOf(`extends: tiny
directories:
  - { name: real, url: 'ldap://ad.example.com:389', directoryType: ACTIVE_DIRECTORY, domainName: example.com }
userGroups:
  - { name: lost, idp: corp-ad }
roles:
  - { name: Odd, operations: [View_Virtual_Machines] }
users:
  - { name: a, roles: [Super Admn] }
authorizationPolicies:
  - { name: p, role: Cluster Admin, users: [amdin], entities: [{ cluster: { cluster_uuid: { anyof: [tyni] } } }] }
clusters:
  - name: other
    containers: [{ name: both, erasureCode: 'ON', replicationFactor: 2 }, { name: tiny-one, nfsWhitelistAddress: [10.1.1] }]
    settings: { nfsSubnetWhitelist: [10.0.0.0/255.0.255.0] }
virtualSwitches:
  - { name: vs1, cluster: tiny, bondMode: BALANCE_TCP, hostNics: [eth0] }
clusterProfiles:
  - { name: base, clusters: [tniy] }
subnets:
  - { name: a, vpc: prod, ipSubnet: 10.9.0.0/24 }
  - { name: b, vpc: prod, ipSubnet: 10.9.0.0/25 }
  - { name: again, cluster: tiny, networkId: 1, virtualSwitch: vs7 }
vpcs:
  - { name: prod, externalSubnets: [net] }
  - { name: free }
routingPolicies:
  - { name: r, vpc: free, priority: 5, actionType: PERMIT }
  - { name: s, vpc: free, priority: 50, protocolType: TCP, icmpType: 3, actionType: DENY }
gateways:
  - { name: neither, asn: 65000 }
externalVms:
  - { name: x, cluster: tiny }
volumeGroups:
  - { name: g, cluster: tiny, enabledAuthentications: CHAP, nvmfClients: [not-an-nqn], disksGiB: [1] }
  - { name: h, vms: [{ vm: vm-1, index: 0 }], disksGiB: [1] }
backupTargets:
  - { cluster: tiny, bucket: none }
  - { bucket: none }
`)
  const expected = [
    ['3:24 directories[0].url', /expected a simulated directory.* a real one needs a password, which no seed holds/],
    ['5:24 userGroups[0].idp', /"corp-ad" is none of the directories and SAML providers/],
    ['7:31 roles[0].operations[0]', /"View_Virtual_Machines" is no operation; did you mean/],
    ['9:24 users[0].roles[0]', /did you mean "Super Admin" or "User Admin"\?/],
    ['11:45 authorizationPolicies[0].users[0]', /did you mean "admin"\?/],
    ['11:64 authorizationPolicies[0].entities[0]', /"tyni" is none of the clusters/],
    ['15:15 clusters[0].settings', /expected a netmask of leading ones/],
    ['17:67 virtualSwitches[0].hostNics[0]', /eth0 is an uplink of vs0 already/],
    ['19:30 clusterProfiles[0].clusters[0]', /did you mean "tiny"\?/],
    ['23:64 subnets[2].virtualSwitch', /"vs7" is none of those of tiny: vs0/],
    ['25:37 vpcs[0].externalSubnets[0]', /expected an external subnet; net is none/],
    ['28:5 routingPolicies[0]', /priority less than 10 is not allowed/],
    ['29:5 routingPolicies[1]', /LayerFourProtocolObject for the protocol TCP/],
    ['31:5 gateways[0]', /expected either vpc, of a local gateway, or address/],
    ['33:25 externalVms[0].cluster', /expected an external cluster; tiny is none/],
    ['35:75 volumeGroups[0].nvmfClients[0]', /found "not-an-nqn"/],
    ['36:5 volumeGroups[1]', /Another disk has the same SCSI index, 0, on the VM "vm-1"/],
    ['38:5 backupTargets[0]', /expected either cluster or bucket/],
    ['39:15 backupTargets[1].bucket', /"none" is none of the buckets/],
  ] as const
  assert.deepEqual(
    faults.map((fault) => fault.slice(0, fault.indexOf(': '))),
    expected.map(([place]) => place),
  )
  for (const [index, [, message]] of expected.entries()) assert.match(faults[index] as string, message)
})

test('a past task refers to one existing entity, and a first backup is on a cluster', async () => {
  const faults = await faultsOf(`extends: tiny
tasks:
  - { operation: CreateVm, description: Create VM vm-1, vm: vm-1, image: ubuntu-24.04.qcow2 }
  - { operation: CreateVm, description: Create VM vm-7, vm: vm-7 }
  - { operation: CreateVm, description: Create VM }
batches:
  - { name: two, categories: [No/Such] }
buckets:
  - { name: backups }
backupTargets:
  - { bucket: backups, hasBackup: true }
`)
  assert.deepEqual(
    faults.map((fault) => fault.replace(/;.*/, '')),
    [
      '3:5 tasks[0]: expected one of cluster, image, subnet, user, vm, volumeGroup, found 2',
      '4:61 tasks[1].vm: "vm-7" is none of the vms that there are',
      '5:5 tasks[2]: expected one of cluster, image, subnet, user, vm, volumeGroup, found 0',
      '7:31 batches[0].categories[0]: "No/Such" is none of the categories that there are',
      '11:35 backupTargets[0].hasBackup: expected only with a cluster',
    ],
  )
})

test('a host with more drives than slots is refused', async () => {
  const faults = await faultsOf(`extends: empty
clusters:
  - { name: a, hostDrives: [{ tier: SSD_SATA, count: 20 }, { tier: DAS_SATA, count: 5 }] }
`)
  assert.deepEqual(faults, ['3:28 clusters[0].hostDrives: expected at most 24 drives, one for each slot, found 25'])
})
