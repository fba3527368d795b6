/** Every section that a seed may have, as the how-to shows it: what is described is there, is real, and is exported whole. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { driveFacts } from '../../../src/drivers/simulated/drives.ts'
import { issue } from '../../support/authorities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { changed } from '../../support/native-cluster.ts'
import { entitiesOf, exported, factsOf } from '../../support/seeds.ts'
import { adminPassword, startApp, type TestApp } from '../../support/start-app.ts'

const page = readFileSync(fileURLToPath(new URL('../../../../../docs/how-to/write-a-seed.md', import.meta.url)), 'utf8')

/** The first example below a heading of the page. */
function exampleOf(heading: string): string {
  const text = /```yaml\n(.*?)```/s.exec(page.slice(page.indexOf(`\n## ${heading}\n`)))?.[1]
  assert.ok(text !== undefined, `the how-to has no example for ${heading}`)
  return text
}

/** What a list answers. */
type Listing = (path: string, filter?: string) => Promise<any[]>

/** A world of an example, and what is true of every one of them. */
function examples(heading: string, tests: (app: () => TestApp, list: Listing) => void): void {
  describe(heading.toLowerCase(), () => {
    let app: TestApp
    before(async () => {
      app = await startApp({ config: { seed: { text: exampleOf(heading) } } })
    })
    after(() => app?.close())
    const list: Listing = async (path, filter = '') => {
      const query = path.endsWith('/domain-managers') ? '' : `?$limit=100${filter && `&$filter=${filter}`}`
      const { data, status, errors } = await app.call('GET', `${path}${query}`)
      assert.equal(status, 200, JSON.stringify(errors))
      return data
    }
    // First: whoever signs in afterwards leaves a trace.
    test('exported and imported, it is equal in every entity and fact', async () => {
      const copy = await startApp({ config: { seed: { text: await exported(app) } }, startAt: app.clock.now() })
      try {
        assert.deepEqual([...(await entitiesOf(copy))], [...(await entitiesOf(app))])
        assert.deepEqual([...(await factsOf(copy))], [...(await factsOf(app))])
        await checkInvariants(copy)
      } finally {
        await copy.close()
      }
    })

    test('every invariant of a world holds', () => checkInvariants(app))

    tests(() => app, list)
  })
}

const networking = '/networking/v4.3/config'
const volumes = '/volumes/v4.2/config'
const clustermgmt = '/clustermgmt/v4.2/config'
const iam = '/iam/v4.1.b2'
const platform = '/platform/v4.3'
const vmm = '/vmm/v4.2'

examples('Networks', (app, list) => {
  test('subnets have both families, the named switch, DHCP options and reservations', async () => {
    const extId = seedId('subnet/dual')
    const { data } = await app().call('GET', `${networking}/subnets/${extId}`)
    assert.equal(data.ipConfig[0].ipv6.ipSubnet.ip.value, 'fd00:3::')
    assert.deepEqual(data.dhcpOptions.searchDomains, ['example.com'])
    assert.deepEqual(
      data.dhcpOptions.ntpServers.map(({ ipv4 }: any) => ipv4.value),
      ['10.3.0.2'],
    )
    const switches = await list(`${networking}/virtual-switches`)
    assert.equal(data.virtualSwitchReference, switches.find(({ name }) => name === 'vs1').extId)
    const reserved = await list(`${networking}/subnets/${extId}/reserved-ips`)
    assert.equal(reserved.filter(({ clientContext }) => clientContext === 'k8s').length, 5)
    assert.ok(reserved.some(({ ipv4Address }) => ipv4Address === '10.3.0.200'))
  })

  test('VPCs have ports on their external subnets, also on those of other VPCs, and a route table each', async () => {
    const vpcs = await list(`${networking}/vpcs`)
    const prod = vpcs.find(({ name }) => name === 'prod')
    const ports = new Map(
      prod.externalSubnets.map((each: any) => [each.subnetReference, each.externalIps[0].ipv4.value]),
    )
    assert.equal(ports.get(seedId('subnet/routed')), '10.5.0.50')
    const tenant = vpcs.find(({ name }) => name === 'tenant')
    assert.equal(tenant.externalSubnets[0].subnetReference, seedId('subnet/transit-ext'))
    const tables = await list(`${networking}/route-tables`)
    assert.deepEqual(
      tables.map(({ vpcReference }) => vpcReference).sort(),
      ['prod', 'tenant', 'transit'].map((name) => seedId(`vpc/${name}`)).sort(),
    )
  })

  test('routing policies match as described, in fields of the interface', async () => {
    const [policy] = await list(`${networking}/routing-policies`, "name eq 'web-only'")
    assert.deepEqual(policy.policies[0].policyMatch.protocolParameters.destinationPortRanges, [
      { startPort: 80, endPort: 80 },
      { startPort: 443, endPort: 443 },
      { startPort: 8000, endPort: 8100 },
    ])
    const [inside] = await list(`${networking}/routing-policies`, "name eq 'db-stays-inside'")
    assert.equal(inside.extId, seedId('routing-policy/prod/db-stays-inside'))
    assert.equal(inside.policies[0].policyMatch.source.subnetPrefix.ipv4.ip.value, '192.168.20.0')
  })

  test('BGP sessions are up, and have routes', async () => {
    const [session] = await list(`${networking}/bgp-sessions`)
    assert.equal(session.status.state, 'UP')
    assert.equal(session.dynamicRoutePriority, 800)
    assert.equal(session.localGatewayReference, seedId('gateway/bgp-prod'))
    const routes = await list(`${networking}/bgp-sessions/${session.extId}/bgp-routes`)
    assert.ok(routes.some(({ bgpRouteType }) => bgpRouteType === 'ADVERTISED'))
  })

  test('tunnels are up, and have learned prefixes and the settings of the section', async () => {
    const [connection] = await list(`${networking}/vpn-connections`)
    assert.deepEqual([connection.ipsecTunnelStatus, connection.ebgpStatus.state], [{ state: 'UP' }, 'UP'])
    assert.deepEqual([connection.ipsecConfig.espPfsDhGroupNumber, connection.qosConfig.egressLimitMbps], [20, 100])
    assert.equal(connection.remoteGatewayReference, seedId('gateway/branch'))
    assert.ok(connection.learnedPrefixes.length > 0)
  })

  test('load balancers have a virtual IP, and their targets are healthy', async () => {
    const [session] = await list(`${networking}/load-balancer-sessions`)
    assert.deepEqual([session.name, session.healthCheckConfig.intervalSecs], ['orders', 10])
    assert.match(session.listener.virtualIP.ipAddress.ipv4.value, /^192\.168\.20\./)
    assert.deepEqual(
      session.targetsConfig.nicTargets.map(({ vmReference, port, health }: any) => [vmReference, port, health]),
      ['db-1', 'db-2'].map((name) => [seedId(`vm/${name}`), 5432, 'HEALTHY']),
    )
  })

  test('the controller has the described settings', async () => {
    const [controller] = await list(`${networking}/controllers`)
    assert.equal(controller.vpcGlobalConfig.isOverlappingErpsEnabled, true)
  })
})

examples('Storage', (app, list) => {
  test('containers have their policy, their array and their datastores', async () => {
    const containers = await list(`${clustermgmt}/storage-containers`)
    const named = (name: string) => containers.find((each) => each.name === name)
    assert.equal(named('gold').nfsWhitelistAddress[0].ipv4.value, '10.1.1.1')
    assert.equal(named('archive').erasureCode, 'ON')
    assert.equal(named('array').externalStorageExtId, seedId('external-storage/flash-01'))
    const array = await app().call('GET', `${platform}/config/external-storages/${seedId('external-storage/flash-01')}`)
    assert.equal(array.data.totalCapacityBytes, 1024 * 1024 ** 3)
    const mounts = await app().call(
      'GET',
      `${clustermgmt}/clusters/${seedId('cluster/vmware')}/storage-containers/datastores`,
    )
    assert.equal(mounts.status, 200, JSON.stringify(mounts.errors))
    assert.deepEqual(mounts.data.map(({ datastoreName }: any) => datastoreName).sort(), [
      'iso',
      'store',
      'store',
      'store',
    ])
  })

  test('hosts of a cluster and machines outside have the described drives', async () => {
    const disks = await list('/clustermgmt/v4.2/config/disks', "hostName eq 'west-2'")
    assert.deepEqual(
      disks
        .map(({ storageTier, diskSizeBytes, location }) => [location, storageTier, diskSizeBytes])
        .sort((a, b) => a[0] - b[0]),
      Array.from({ length: 12 }, (_, index) => [
        index + 1,
        index < 4 ? 'SSD_PCIE' : 'DAS_SATA',
        index < 4 ? 3.84e12 : 8e12,
      ]),
    )
    const drives = [...driveFacts(app().world).all().values()]
    assert.equal(drives.filter(({ hostExtId }) => hostExtId === seedId('node/spare')).length, 12)
  })

  test('volume groups have their disks, and attachments at the described indices', async () => {
    const path = `${volumes}/volume-groups/${seedId('volume-group/shared')}`
    const [disk] = await list(`${path}/disks`)
    assert.equal(disk.description, 'Data')
    assert.equal(disk.storageContainerId, seedId('container/west/gold'))
    assert.deepEqual(
      (await list(`${path}/vm-attachments`)).map(({ index }) => index),
      [7],
    )
    assert.equal((await list(`${path}/external-iscsi-attachments`)).length, 2)
    assert.equal((await list(`${volumes}/volume-groups/${seedId('volume-group/chap')}/disks`)).length, 12)
    const chap = await app().call('GET', `${volumes}/volume-groups/${seedId('volume-group/chap')}`)
    assert.equal(chap.data.enabledAuthentications, 'CHAP')
  })

  test('clients without attachments exist', async () => {
    const clients = await list(`${volumes}/iscsi-clients`)
    const retired = clients.find(({ iscsiInitiatorName }) => iscsiInitiatorName?.endsWith(':retired'))
    assert.deepEqual([retired.enabledAuthentications, retired.attachedTargets], ['CHAP', undefined])
    const backup = clients.find(({ iscsiInitiatorNetworkId }) => iscsiInitiatorNetworkId !== undefined)
    assert.equal(backup.attachedTargets.length, 1)
    const [bench] = await list(`${volumes}/nvmf-clients`)
    assert.equal(bench.nvmfInitiatorName, 'nqn.2026-01.io.example:bench')
    assert.equal(bench.extId, seedId('nvmf-client/west/bench'))
  })
})

examples('Operations', (app, list) => {
  test('entities have the ids of their names, and refer to each other', async () => {
    const { data } = await app().call('GET', `${networking}/subnets/${seedId('subnet/web-2')}`)
    assert.equal(data.vpcReference, seedId('vpc/prod'))
    const group = seedId('volume-group/shared')
    const disks = await list(`${volumes}/volume-groups/${group}/disks`)
    assert.deepEqual(
      disks.map(({ extId, storageContainerId }) => [extId, storageContainerId]),
      [[seedId('volume-disk/first'), seedId('storage-container/gold')]],
    )
  })

  test('actions change what they name', async () => {
    const { data } = await app().call('GET', `${vmm}/ahv/config/vms/${seedId('vm/vm-1')}`)
    assert.equal(data.powerState, 'OFF')
  })
})

examples('Machines', (app, list) => {
  test('an image with a URL has the content of that URL, and can be read', async () => {
    const [image] = await list(`${vmm}/content/images`, "name eq 'alpine.qcow2'")
    assert.equal(image.source.url, 'https://images.simulated/alpine.qcow2')
    assert.ok(image.sizeBytes > 0)
  })

  test('VMs have the described configuration, drives and NICs, and start', async () => {
    const extId = seedId('vm/desktop')
    const { data: vm } = await app().call('GET', `${vmm}/ahv/config/vms/${extId}`)
    assert.deepEqual(
      [vm.numCoresPerSocket, vm.isCpuPassthroughEnabled, vm.hardwareClockTimezone],
      [2, true, 'Europe/Berlin'],
    )
    assert.deepEqual(
      vm.disks.map(({ diskAddress }: any) => diskAddress.busType),
      ['SCSI', 'SATA'],
    )
    assert.deepEqual(
      vm.cdRoms.map(({ backingInfo }: any) => backingInfo?.dataSource.reference.imageExtId),
      [seedId('image/tools.iso'), undefined],
    )
    assert.deepEqual([vm.nics[0].backingInfo.model, vm.nics[0].backingInfo.isConnected], ['E1000', false])
    assert.equal((await changed(app(), extId, 'power-on')).status, 'SUCCEEDED')
  })

  test('external VMs are listed on the described hosts, or on hosts in turn', async () => {
    const vms = await list(`${vmm}/extern/config/vms`)
    const erp = vms.find(({ name }) => name === 'legacy-erp')
    assert.deepEqual([erp.powerState, erp.host.extId], ['ON', seedId('host/vmware-2')])
    assert.equal(
      new Set(vms.filter(({ powerState }) => powerState === 'SUSPENDED').map(({ host }) => host.extId)).size,
      3,
    )
  })
})

examples('Clusters and managers', (app, list) => {
  test('clusters have the described settings, and are members of the described profile', async () => {
    const [edge] = await list(`${clustermgmt}/clusters`, "name eq 'edge'")
    assert.equal(edge.network.smtpServer.server.port, 587)
    const [profile] = await list(`${clustermgmt}/cluster-profiles`)
    assert.deepEqual([profile.clusterCount, profile.driftedClusterCount], [1, 0])
    const { settings } = (app().world.collection<any>('hardware.clusters').get(edge.extId) ?? {}) as any
    assert.equal(settings.SNMP_SERVER_CONFIG.users[0].username, 'monitor')
    assert.equal(settings.RSYSLOG_SERVER_CONFIG[0].serverName, 'logs')
  })

  test('this manager has the described name', async () => {
    const [own] = await list(`${platform}/config/domain-managers`)
    assert.equal(own.config.name, 'head-office')
  })

  test('a cluster in a cloud has the subnets of its account', async () => {
    const { data } = await app().call('GET', `/networking/v4.3/cloud/config/subnets`, {
      clusterId: seedId('cluster/aws'),
    } as never)
    assert.deepEqual(
      data.map(({ cidr, gatewayIp }: any) => [cidr, gatewayIp]),
      [['10.100.0.0/24', '10.100.0.1']],
    )
  })

  test('an unregistered cluster is in no list, and can be registered', async () => {
    assert.equal((await list(`${clustermgmt}/clusters`, "name eq 'lab-03'")).length, 0)
    const sides = app().world.collection<any>('remotes.sides').all()
    assert.deepEqual(
      [...sides.values()]
        .filter(({ trusts }) => trusts.length === 0)
        .map(({ name }) => name)
        .sort(),
      ['lab-03', 'later'],
    )
    const managers = await list(`${platform}/config/domain-managers`)
    assert.ok(managers.some(({ config }) => config.name === 'dr-site'))
  })

  test('backup targets run on schedule', async () => {
    const [manager] = (await list(`${platform}/config/domain-managers`)).filter(
      ({ config }) => config.name !== 'dr-site',
    )
    const path = `${platform}/management/domain-managers/${manager.extId}/backup-targets`
    const before = (await app().call('GET', path)).data
    assert.deepEqual(
      before.map(({ lastSyncTime }: any) => lastSyncTime),
      [undefined, undefined],
    )
    const trial = await startApp({ config: { seed: { text: exampleOf('Clusters and managers') } } })
    try {
      await trial.clock.advance(31 * 60_000)
      await trial.runner.idle()
      const later = (await trial.call('GET', path)).data
      assert.equal(later.filter(({ lastSyncTime }: any) => lastSyncTime !== undefined).length, 1)
    } finally {
      await trial.close()
    }
  })
})

examples('People', (app, list) => {
  const users = `${vmm}/ahv/config/vms`

  test('users of a directory sign in with the password of admin, and have the rights of their group', async () => {
    assert.equal((await app().call('GET', users, { as: `alice@example.com:${adminPassword}` })).status, 200)
    assert.equal((await app().call('GET', users, { as: `dora@example.com:${adminPassword}` })).status, 401)
  })

  test('keys, roles, groups and policies refer to the described entities', async () => {
    const keys = await list(`${iam}/authn/users/${seedId('user/robot')}/keys`)
    assert.deepEqual(keys.map(({ name, status }) => [name, status]).sort(), [
      ['deployment', 'VALID'],
      ['former', 'REVOKED'],
    ])
    const [role] = await list(`${iam}/authz/roles`, "displayName eq 'Snapshot Operator'")
    assert.equal(role.operations.length, 2)
    const [policy] = await list(`${iam}/authz/authorization-policies`, "displayName eq 'Development machines'")
    assert.deepEqual(policy.entities[0].$reserved ?? policy.entities[0].entityFilter, {
      virtual_machine: { category_uuid: { anyof: [seedId('category/Environment/Dev')] } },
    })
    const groups = await list(`${iam}/authn/user-groups`)
    assert.deepEqual(groups.map(({ groupType }) => groupType).sort(), ['LDAP', 'SAML'])
    const [bob] = await list(`${iam}/authn/users`, "username eq 'bob'")
    assert.equal(bob.idpId, seedId('saml-identity-provider/corp-sso'))
  })

  test('the banner has the described text', async () => {
    const { data } = await app().call('GET', `${iam}/authn/welcome-banner`)
    assert.equal(data.content, 'Authorised use only')
  })
})

test('certificate authentication providers are described by their chains, and checked as over the interface', async () => {
  const authority = await issue({ name: 'CN=Cards', isAuthority: true })
  const indented = authority.pem.trim().replaceAll('\n', '\n      ')
  const described = (chain: string): string => `certAuthProviders:
  - name: cards
    isCertAuthEnabled: true
    isCacEnabled: false
    clientCaChain: |
      ${chain}
`
  const app = await startApp({ config: { seed: { text: described(indented) } } })
  const { data } = await app.call('GET', `${iam}/authn/cert-auth-providers`)
  assert.deepEqual(
    data.map(({ extId, name, caCertFileName }: any) => [extId, name, caCertFileName]),
    [[seedId('cert-auth-provider/cards'), 'cards', 'cards.pem']],
  )
  await app.close()
  await assert.rejects(
    startApp({ config: { seed: { text: described('nothing') } } }),
    /line 2, column 5, certAuthProviders\[0\]/,
  )
})
