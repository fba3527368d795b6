import assert from 'node:assert/strict'
import { test } from 'node:test'
import { perMinute, perSecond } from '../operation.ts'
import { walk } from '../schema.ts'
import { networking } from './index.ts'

const operation = (id: string) => {
  const found = networking.operations.find((candidate) => candidate.id === id)
  assert.ok(found, id)
  return found
}

test('operations that share an IAM operation share their roles', () => {
  const roles = new Map<string, string>()
  for (const { iamOperation, roles: own } of networking.operations) {
    const text = [...own].sort().join()
    assert.notEqual(text, '')
    assert.equal(roles.get(iamOperation) ?? text, text, iamOperation)
    roles.set(iamOperation, text)
  }
})

test('listAwsSubnets and listBgpSessions are those of the specification', () => {
  const cloudSubnets = operation('listAwsSubnets')
  assert.equal(cloudSubnets.path, '/cloud/config/subnets')
  assert.equal(cloudSubnets.clusterId, 'required')
  assert.equal(cloudSubnets.maximumItems, 50)
  assert.deepEqual(cloudSubnets.rateLimit, perMinute(10))
  assert.deepEqual(cloudSubnets.filter, ['cidr', 'vpcId'])
  const sessions = operation('listBgpSessions')
  assert.deepEqual(sessions.rateLimit, perSecond(3))
  assert.deepEqual(sessions.roles, ['Platform Admin', 'Platform Viewer', 'Super Admin', 'VPC Admin'])
  assert.deepEqual(Object.keys(sessions.expand ?? {}), ['localGateway', 'remoteGateway'])
})

test('every list that takes a filter finds an id, except those of the specification', () => {
  const lists = networking.operations.filter(({ verb, filter }) => verb === 'list' && filter !== undefined)
  const without = lists.filter(({ filter }) => filter?.includes('extId') !== true)
  assert.deepEqual(without.map(({ id }) => id).sort(), ['listAwsSubnets', 'listBgpSessions'])
})

test('a tag is required by PUT alone, a request id by nothing', () => {
  for (const { id, method, ifMatch, requestId, dryRun } of networking.operations) {
    assert.equal(ifMatch === 'required', method === 'PUT', id)
    assert.equal(requestId, 'optional', id)
    assert.equal(dryRun, false, id)
  }
})

test('kinds without operations have rows all the same', () => {
  const stored = networking.resources.filter(({ derived }) => derived !== true).map(({ kind }) => kind)
  assert.deepEqual(stored.sort(), [
    'AddressLease',
    'AddressRun',
    'AddressTally',
    'AwsSubnet',
    'BgpSession',
    'FloatingIp',
    'Gateway',
    'IPFIXExporter',
    'Layer2Stretch',
    'LoadBalancerSession',
    'NetworkController',
    'NetworkFunction',
    'NicProfile',
    'Route',
    'RouteTable',
    'RoutingPolicy',
    'Subnet',
    'TrafficMirror',
    'VirtualSwitch',
    'Vpc',
    'VpcVirtualSwitchMapping',
    'VpnConnection',
  ])
})

test('every password and pre-shared key is a secret', () => {
  for (const { kind, schema } of networking.resources) {
    for (const { path, schema: field } of walk(schema)) {
      if (path.at(-1) === 'password' || path.at(-1) === 'preSharedKey')
        assert.equal(field.secret, true, `${kind}/${path.join('/')}`)
    }
  }
})

test('a domain name that does not fit is refused at once', () => {
  const subnet = networking.resources.find(({ kind }) => kind === 'Subnet')
  assert.ok(subnet)
  const field = [...walk(subnet.schema)].find(({ path }) => path.join('/') === 'dhcpOptions/domainName')?.schema
  assert.ok(field?.type === 'text' && field.pattern !== undefined)
  const pattern = new RegExp(field.pattern)
  assert.ok(pattern.test('corp-1.example.com'))
  assert.ok(!pattern.test('.example.com'))
  assert.ok(!pattern.test(`${'a.'.repeat(50_000)}!`))
})
