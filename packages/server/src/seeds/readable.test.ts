import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  arrayOf,
  immutable,
  integer,
  object,
  oneOf,
  optional,
  readOnly,
  referenceTo,
  secret,
  text,
  withDefault,
} from '@hyperplane/contract'
import { ClusterProfile } from '@hyperplane/contract/clustermgmt/cluster-profile'
import { IPAddressOrFQDN } from '@hyperplane/contract/shapes'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { addressIn, bodyOf, type Names, prefixIn, readable, written } from './readable.ts'

const names: Names = {
  idOf: async (kind, name) => `${kind} ${name.toUpperCase()}`,
  refuse(path, message) {
    throw new Error(`${path}: ${message}`)
  },
  all: (asked) => Promise.all((asked as readonly (() => Promise<unknown>)[]).map((ask) => ask())) as never,
}

const fields = {
  where: optional(IPAddressOrFQDN),
  vpc: immutable(referenceTo('Vpc')),
  hosts: optional(arrayOf(referenceTo('Host'))),
  size: withDefault(integer({ minimum: 1 }), 3),
  made: readOnly(text()),
  key: secret(text()),
  kind: optional(
    oneOf(object('a.Small', { width: integer() }), object('a.Large', { width: integer(), height: integer() })),
  ),
}

test('addresses and references are texts, and fields of the server are not allowed', () => {
  const schema = readable(object('', fields)) as ReturnType<typeof object>
  assert.deepEqual(Object.keys(schema.fields), ['where', 'vpc', 'hosts', 'size', 'kind'])
  assert.deepEqual(
    Object.values(schema.fields).map(({ type }) => type),
    ['text', 'text', 'list', 'integer', 'object'],
  )
  assert.equal(schema.fields['size']?.optional, true)
  assert.equal('defaultsTo' in (schema.fields['size'] ?? {}), false)
})

test('nested secrets are not allowed', () => {
  const { smtpServer, snmpConfig } = written(ClusterProfile.schema.fields, 'smtpServer', 'snmpConfig') as any
  assert.deepEqual(Object.keys(smtpServer.fields.server.fields), ['ipAddress', 'port', 'username'])
  assert.deepEqual(Object.keys(snmpConfig.fields.users.items.fields), ['username', 'authType', 'privType'])
  const { iscsiFeatures } = written(VolumeGroup.schema.fields, 'iscsiFeatures') as any
  assert.deepEqual(Object.keys(iscsiFeatures.fields), ['enabledAuthentications'])
})

test('a readable value becomes the body of a request', async () => {
  const value = {
    where: 'ntp.example.com',
    vpc: 'prod',
    hosts: ['a', 'b'],
    kind: { width: 1, height: 2 },
    made: undefined,
  }
  assert.deepEqual(await bodyOf(fields, value, 'x', names), {
    where: { fqdn: { value: 'ntp.example.com' } },
    vpc: 'Vpc PROD',
    hosts: ['Host A', 'Host B'],
    kind: { $objectType: 'a.Large', width: 1, height: 2 },
  })
  const { where }: { where?: any } = await bodyOf(fields, { where: 'FD00::1', vpc: 'p' }, 'x', names)
  assert.equal(where.ipv6.value, 'fd00::1')
})

test('conflicting fields are refused with the allowed combinations', async () => {
  await assert.rejects(
    bodyOf(fields, { kind: { depth: 1 } }, 'x', names),
    /x\.kind: expected fields that go together \(width; or width, height\), found depth/,
  )
})

test('prefixes have no host bits and a valid length, addresses have the required family', () => {
  assert.equal(prefixIn('10.0.0.0/24', 'x', names).length, 24)
  for (const wrong of ['10.0.0.1/24', '10.0.0.0/33', '10.0.0.0', '10.0.0.0/x', 'fd00::1/64'])
    assert.throws(() => prefixIn(wrong, 'x', names), /expected a prefix without host bits/, wrong)
  assert.throws(() => addressIn('fd00::1', 'x', names, 'IPV4'), /expected an IPv4 address, found "fd00::1"/)
  assert.throws(() => addressIn('here', 'x', names), /expected an address/)
})
