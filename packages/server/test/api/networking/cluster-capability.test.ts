/** Capabilities of clusters. Source: behaviour networking.md 1.20. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { subnets } from '../../support/subnets.ts'
import { aRobot, aRole, grant } from '../iam/people.ts'

const path = '/networking/v4.3/config/capabilities'
const native = seedId('cluster/hp-native-01')
let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const supportedOn = async (cluster: string): Promise<string[]> => {
  const { data } = await app.call('GET', `${path}?$filter=clusterId eq '${cluster}'`)
  return data[0].capabilities.filter(({ isSupported }: any) => isSupported).map((one: any) => one.capabilityName)
}

test('each cluster has one row, and only the native hypervisor supports kinds of networking', async () => {
  const { data, total } = await app.call('GET', `${path}?$orderby=clusterId desc`)
  const clusters = await app.call('GET', '/clustermgmt/v4.2/config/clusters')
  assert.equal(total, clusters.total)
  assert.deepEqual(
    data.map(({ clusterId }: any) => clusterId),
    clusters.data
      .map(({ extId }: any) => extId)
      .sort()
      .reverse(),
  )
  assert.deepEqual(await supportedOn(native), [
    'SUPPORTS_PC_SPAN',
    'SUPPORTS_VLAN_ADVANCED',
    'SUPPORTS_OVERLAY',
    'SUPPORTS_NETWORK_FUNCTION',
    'SUPPORTS_SRIOV',
    'SUPPORTS_IPV6',
  ])
  assert.deepEqual(await supportedOn(seedId('cluster/hp-extern-01')), [])
})

test('a caller sees the capabilities of the clusters that it may see', async () => {
  const role = await aRole(app, ['View_Cluster_Network_Capability', 'View_Cluster'])
  const robot = await aRobot(app)
  await grant(app, { id: role }, robot.extId, {
    cluster: { uuid: { anyof: [native] } },
    cluster_capability: { '*': { eq: '*' } },
  })
  const { data } = await app.call('GET', path, { apiKey: robot.apiKey })
  assert.deepEqual(
    data.map(({ clusterId }: any) => clusterId),
    [native],
  )
})

test('a cluster loses its capabilities when one of its hosts has an older hypervisor', async () => {
  const host = seedId('host/hp-n01-b')
  const setHypervisor = (fullName: string): Promise<unknown> =>
    app.store.transaction(async (store) => {
      const { hypervisor } = (await store.get(Host, host))!
      await store.update(Host, host, { hypervisor: { ...hypervisor, fullName } })
    })
  await setHypervisor('Native hypervisor 9.0.1')
  assert.deepEqual(await supportedOn(native), ['SUPPORTS_PC_SPAN'])
  const body = {
    name: 'advanced',
    subnetType: 'VLAN',
    networkId: 3900,
    clusterReference: native,
    isAdvancedNetworking: true,
  }
  const refused = await app.call('POST', subnets, { body })
  assert.deepEqual([refused.status, refused.errors[0]!.errorGroup], [409, 'CAPABILITY_NOT_SUPPORTED'])
  await setHypervisor('Native hypervisor 10.10')
  assert.equal((await supportedOn(native)).length, 6)
  assert.equal((await app.task(await app.call('POST', subnets, { body }))).status, 'SUCCEEDED')
})
