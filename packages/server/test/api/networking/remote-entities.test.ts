/** Networks of other managers. Source: behaviour networking.md 1.13, 2, 4. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { RoleName } from '@hyperplane/contract/roles'
import { catalogueId, seedId } from '../../../src/core/ids/named-id.ts'
import { remoteId } from '../../../src/seeds/demo/remote-networks.ts'
import { happen } from '../../support/events.ts'
import { aUser } from '../../support/identities.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp({ logLevel: 'silent' })
})
after(() => app.close())

const drSite = seedId('manager/dr-site')
const at = (manager: string, name: string): string => `/networking/v4.3/config/clusters/${manager}/remote-${name}`
const ownId = async (): Promise<string> =>
  (await app.call('GET', '/platform/v4.3/config/domain-managers')).data[0].extId
const namesIn = (answer: CallResult): string[] => answer.data.map(({ name }: any) => name)
const sorts = ['subnets', 'vpn-connections', 'vtep-gateways']

test('an operator reads subnets, VPN connections and VTEP gateways of a registered manager', async () => {
  const subnets = await app.call('GET', at(drSite, 'subnets'))
  assert.deepEqual(namesIn(subnets), ['web-dr', 'db-dr'])
  const [web] = subnets.data
  assert.deepEqual([web.ipPrefix, web.vpcName, web.isExternal], ['192.168.10.0/24', 'dr', false])
  assert.deepEqual((await app.call('GET', `${at(drSite, 'subnets')}/${web.extId}`)).data, web)

  const gateways = await app.call('GET', at(drSite, 'vtep-gateways'))
  assert.deepEqual(
    gateways.data.map(({ name, isLocal, vxlanPort, clusterName }: any) => [name, isLocal, vxlanPort, clusterName]),
    [['vtep-dr', false, 4789, 'dr-01']],
  )
  const [connection] = (await app.call('GET', at(drSite, 'vpn-connections'))).data
  assert.deepEqual([connection.name, connection.ipsecTunnelStatus.state], ['dr-to-prod', 'UP'])
})

test('the id of this manager lists the local VTEP gateways, and VPN connections without their key', async () => {
  const own = await ownId()
  const gateways = (await app.call('GET', at(own, 'vtep-gateways'))).data
  assert.deepEqual(
    gateways.map(({ name, isLocal, isActive, vpcName }: any) => [name, isLocal, isActive, vpcName]),
    [['vtep-prod', true, true, 'prod']],
  )
  const [connection, ...others] = (await app.call('GET', at(own, 'vpn-connections'))).data
  const { ipsecConfig, ipsecTunnelStatus, name, vpcName } = connection
  assert.deepEqual([name, ipsecTunnelStatus.state, vpcName, others.length], ['branch-1', 'UP', 'prod', 0])
  assert.deepEqual([ipsecConfig.ikeEncryptionAlgorithm, 'preSharedKey' in ipsecConfig], ['AES256', false])
})

test('lists are filtered and ordered by name, VPC, cluster and id', async () => {
  const list = async (sort: string, query: string): Promise<string[]> =>
    namesIn(await app.call('GET', `${at(drSite, sort)}?${query}`))
  assert.deepEqual(await list('subnets', '$orderby=name'), ['db-dr', 'web-dr'])
  assert.deepEqual(await list('subnets', `$filter=vpcReference eq '${remoteId(drSite, 'VPC', 'dr')}'`), [
    'web-dr',
    'db-dr',
  ])
  assert.deepEqual(await list('subnets', `$filter=extId eq '${remoteId(drSite, 'subnet', 'db-dr')}'`), ['db-dr'])
  const cluster = remoteId(drSite, 'cluster', 'dr-01')
  assert.deepEqual(await list('vtep-gateways', `$filter=clusterReference eq '${cluster}'`), ['vtep-dr'])
})

test('the id of this manager lists managed subnets that are not external', async () => {
  const names = namesIn(await app.call('GET', at(await ownId(), 'subnets'))).sort()
  assert.deepEqual(names, ['db', 'vlan-100-app', 'web'])
})

test('an id of a cluster, of an entity at another site, or of nothing is 404', async () => {
  const web = remoteId(drSite, 'subnet', 'web-dr')
  const own = await ownId()
  for (const path of [
    ...sorts.flatMap((sort) => [at(web, sort), at(seedId('cluster/hp-native-01'), sort), `${at(drSite, sort)}/${own}`]),
    `${at(own, 'subnets')}/${web}`,
    `${at(drSite, 'subnets')}/${seedId('subnet/web')}`,
  ]) {
    const { status, errors } = await app.call('GET', path)
    assert.deepEqual([status, errors[0]?.code], [404, 'NETWORKING-10010'], path)
  }
})

test('a caller without rights on subnets sees those of other managers, and no local ones', async () => {
  const operations = [catalogueId('operation', 'View_Remote_Subnet')]
  const body = { displayName: 'Remote viewer', operations }
  const role = await app.call('POST', '/iam/v4.1.b2/authz/roles', { body, requestId: crypto.randomUUID() })
  assert.equal(role.status, 201, JSON.stringify(role.errors))
  const as = await aUser(app, ['Remote viewer' as RoleName])
  assert.deepEqual(namesIn(await app.call('GET', at(drSite, 'subnets'), { as })), ['web-dr', 'db-dr'])
  assert.deepEqual(namesIn(await app.call('GET', at(await ownId(), 'subnets'), { as })), [])
  assert.equal((await app.call('GET', at(drSite, 'vtep-gateways'), { as })).status, 403)
})

test('an unreachable site answers 503 with Retry-After, until it returns', async () => {
  await happen(app, { type: 'REMOTE_CUT_OFF', remote: 'dr-site' })
  for (const sort of sorts) {
    const refused = await app.call('GET', at(drSite, sort))
    assert.deepEqual(
      [refused.status, refused.errors[0]?.errorGroup, refused.headers['Retry-After']],
      [503, 'REMOTE_UNREACHABLE', '5'],
    )
  }
  await happen(app, { type: 'REMOTE_RETURNS', remote: 'dr-site' })
  assert.equal((await app.call('GET', at(drSite, 'subnets'))).status, 200)
})
