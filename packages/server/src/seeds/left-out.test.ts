import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storeTables } from '../domains/tables.ts'
import { secretDigest } from '../drivers/hardware.ts'
import { bmcDigest } from '../drivers/simulated/hardware.ts'
import { digestOf } from '../drivers/simulated/place-doors.ts'
import type { Table } from '../store/tables.ts'
import { holdsLeftOut, LeftOut, leaveOutOfEntity, leaveOutOfFact, restoreInEntity, restoreInFact } from './left-out.ts'
import { standInsOf } from './stand-ins.ts'

const tables = storeTables()
const table = (kind: string): Table => tables.get(kind) as Table
const sealed = { $sealed: 'v1.key.box' }
const standIns = standInsOf(Buffer.alloc(32, 7), 'hash-of-admin')

test('both ends of a secret are left out, and replaced by matching ones', () => {
  const leftOut = new LeftOut()
  const ends: readonly [
    entity: [string, any],
    fact: [string, string, any],
    fits: (entity: any, fact: any) => boolean,
  ][] = [
    [
      ['VolumeGroup', { extId: 'g', iscsiFeatures: { targetSecret: sealed } }],
      ['blockStorage.targets', 'g', { chapDigest: 'old', accessList: {} }],
      (group, fact) => fact.chapDigest === secretDigest('target/g', group.iscsiFeatures.targetSecret),
    ],
    [
      ['IscsiClient', { extId: 'c', clientSecret: sealed }],
      ['blockStorage.targets', 'g', { accessList: { c: { chapDigest: 'old' }, d: {} } }],
      (client, fact) =>
        fact.accessList.c.chapDigest === secretDigest('client/c', client.clientSecret) &&
        fact.accessList.d.chapDigest === undefined,
    ],
    [
      ['BmcInfo', { extId: 'h', credential: { username: 'ADMIN', password: sealed } }],
      ['hardware.bmcs', 'h', { username: 'ADMIN', passwordDigest: 'old' }],
      (bmc, fact) => fact.passwordDigest === bmcDigest('h', bmc.credential.password),
    ],
    [
      ['DirectoryService', { extId: 'd', serviceAccount: { username: 'Svc@example.com', password: sealed } }],
      ['directory.users', 'ad.simulated/svc', { name: 'svc', password: 'old' }],
      (service, fact) => fact.password === digestOf(service.serviceAccount.password),
    ],
    [
      ['VpnConnection', { extId: 'v', ipsecConfig: { preSharedKey: sealed } }],
      [
        'fabric.vpn-tunnel',
        'v',
        { security: { keyDigest: 'old' }, routing: { bgp: { local: { passwordDigest: 'old' }, since: 1 } } },
      ],
      (connection, fact) =>
        fact.security.keyDigest === secretDigest('v', connection.ipsecConfig.preSharedKey) &&
        fact.routing.bgp.local.passwordDigest === undefined,
    ],
  ]
  for (const [[kind, entity], [collection, id, fact], fits] of ends) {
    leaveOutOfEntity(table(kind), entity, leftOut)
    leaveOutOfFact(collection, fact, leftOut)
    assert.doesNotMatch(JSON.stringify([entity, fact]), /sealed|old/, kind)
    restoreInEntity(table(kind), entity, standIns)
    restoreInFact(collection, id, fact, standIns)
    assert.ok(fits(entity, fact), `${kind} ${JSON.stringify([entity, fact])}`)
    assert.doesNotMatch(JSON.stringify([entity, fact]), /null/, kind)
  }
  const counts = new Map(leftOut.all().map(({ what, count }) => [what, count]))
  assert.deepEqual([counts.get('CHAP secrets'), counts.get('passwords of BMCs')], [4, 2])
})

test('a generated CHAP secret has a length that initiators accept', () => {
  const length = standIns.secretFor('target/g').length
  assert.ok(length >= 12 && length <= 16, String(length))
})

test('an imported user has the password of admin, and an imported key opens nothing', () => {
  const user = restoreInEntity(table('User'), { extId: 'u', passwordHash: null, formerPasswordHashes: null }, standIns)
  assert.deepEqual(user, { extId: 'u', passwordHash: 'hash-of-admin', formerPasswordHashes: ['hash-of-admin'] })
  const [first, second] = ['a', 'b'].map(
    (extId) => restoreInEntity(table('Key'), { extId, apiKeyDigest: null }, standIns)['apiKeyDigest'],
  )
  assert.match(String(first), /^[0-9a-f]{64}$/)
  assert.notEqual(first, second)
})

test('all other secrets of the contract are left out without a replacement', () => {
  const smtp = { server: { password: sealed, port: 25 } }
  const profile = { extId: 'p', smtpServer: smtp, snmpConfig: { users: [{ username: 'a', authKey: sealed }] } }
  const leftOut = new LeftOut()
  leaveOutOfEntity(table('ClusterProfile'), profile, leftOut)
  assert.equal(
    leftOut.all().reduce((sum, { count }) => sum + count, 0),
    2,
  )
  assert.deepEqual(restoreInEntity(table('ClusterProfile'), profile, standIns), {
    extId: 'p',
    smtpServer: { server: { port: 25 } },
    snmpConfig: { users: [{ username: 'a' }] },
  })
})

test('every kind with a secret is filtered', () => {
  for (const each of tables.values()) if (each.secrets.length > 0) assert.ok(holdsLeftOut(each), each.resource.kind)
})

test('passwords of routing protocols are left out of gateways, and those of each peer', () => {
  const leftOut = new LeftOut()
  const interior = { ibgpPeers: [{ address: 'a', password: sealed }, { address: 'b' }], ospf: { password: sealed } }
  const service: any = { bgp: { passwordDigest: 'old' }, interior: structuredClone(interior) }
  leaveOutOfFact('fabric.gateway', { service }, leftOut)
  assert.deepEqual(restoreInFact('fabric.gateway', 'g', { service }, standIns), {
    service: { bgp: {}, interior: { ibgpPeers: [{ address: 'a' }, { address: 'b' }], ospf: {} } },
  })
  const peerIgpConfig: any = { ibgpConfigList: interior.ibgpPeers, ospfConfig: interior.ospf }
  const entity = { extId: 'g', services: { remoteVpnService: { peerIgpConfig } } }
  leaveOutOfEntity(table('Gateway'), entity, leftOut)
  assert.doesNotMatch(JSON.stringify(entity), /sealed/)
  assert.equal(
    leftOut.all().reduce((sum, { count }) => sum + count, 0),
    5,
  )
})

test('digests in settings of clusters, and sealed secrets of those that are not registered, are left out', () => {
  const leftOut = new LeftOut()
  const settings = { settings: { SMTP: { server: { password: { digest: 'x' }, port: 25 } } } }
  leaveOutOfFact('hardware.clusters', settings, leftOut)
  assert.deepEqual(settings, { settings: { SMTP: { server: { port: 25 } } } })
  const inventory = [{ kind: 'BmcInfo', entity: { extId: 'h', credential: { username: 'a', password: sealed } } }]
  leaveOutOfFact('remotes.inventories', inventory, leftOut)
  assert.doesNotMatch(JSON.stringify(inventory), /sealed/)
  assert.equal(leftOut.all()[0]?.count, 2)
})
