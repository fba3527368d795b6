import assert from 'node:assert/strict'
import { test } from 'node:test'
import { perSecond } from '../operation.ts'
import { systemRoles } from '../roles.ts'
import { type AnySchema, walk } from '../schema.ts'
import { iamErrors } from './errors.ts'
import { iam } from './index.ts'

const operation = (id: string) => {
  const found = iam.operations.find((one) => one.id === id)
  assert.ok(found, `${id} is declared`)
  return found
}
const fieldOf = (schema: AnySchema, path: string): AnySchema | undefined =>
  [...walk(schema)].find((at) => at.path.join('/') === path)?.schema

test('every operation names roles that exist, without doubles', () => {
  for (const { id, roles } of iam.operations) {
    if (roles === 'everyone') continue
    assert.ok(roles.includes('Super Admin'), id)
    assert.equal(new Set(roles).size, roles.length, id)
    for (const role of roles) assert.ok(systemRoles.includes(role), `${id}: ${role}`)
  }
})

test('the own password, registered clients, login providers and the welcome banner are open to everyone', () => {
  const open = iam.operations.filter((one) => one.roles === 'everyone').map((one) => one.id)
  assert.deepEqual(open.sort(), [
    'changeUserPassword',
    'getRegisteredClientById',
    'getWelcomeBanner',
    'listLoginProviders',
  ])
})

test('rates and roles are those of the specification', () => {
  assert.deepEqual(operation('listAuthorizationPolicies').rateLimit, perSecond(10, 10, 15, 20))
  assert.equal(operation('listAuthorizationPolicies').roles.length, 9)
  assert.deepEqual(operation('deleteAuthorizationPolicyById').rateLimit, perSecond(5, 5, 10, 10))
  assert.deepEqual(operation('deleteAuthorizationPolicyById').roles, ['Central Admin', 'Platform Admin', 'Super Admin'])
  assert.deepEqual(operation('listCertAuthProviders').rateLimit, perSecond(5, 5, 10, 10))
  assert.equal(operation('listCertAuthProviders').roles.length, 4)
})

test('everything is synchronous; the tag is required on every PUT and DELETE, never on POST', () => {
  const statuses = { GET: 200, PUT: 200, PATCH: 200, DELETE: 204 }
  for (const one of iam.operations) {
    assert.equal(one.runs, 'sync', one.id)
    assert.equal(one.requestId, 'optional', one.id)
    assert.equal(one.ifMatch, one.method === 'PUT' || one.method === 'DELETE' ? 'required' : 'optional', one.id)
    const status = one.method === 'POST' ? (one.verb === 'create' ? 201 : 200) : statuses[one.method]
    assert.equal(one.status, status, one.id)
  }
})

test('every field that a list may filter, order or select by exists and is no secret', () => {
  for (const { id, answer, filter = [], orderby = [], select = [] } of iam.operations) {
    if (answer?.type !== 'list') continue
    for (const path of [...filter, ...orderby, ...(select === 'any' ? [] : select)]) {
      const field = fieldOf(answer.items, path)
      assert.ok(field, `${id}: ${path}`)
      assert.equal(field.secret, undefined, `${id}: ${path}`)
    }
  }
})

test('every text that holds a password or key is marked secret', () => {
  for (const { id, body, answer } of iam.operations) {
    for (const schema of [body, answer]) {
      if (schema === undefined) continue
      for (const at of walk(schema)) {
        const name = at.path.at(-1) ?? ''
        if (at.schema.type === 'text' && /password$|^apiKey$|secret/i.test(name)) {
          assert.equal(at.schema.secret, true, `${id}: ${at.path.join('/')}`)
        }
      }
    }
  }
})

test('names that clients send back as they read them are accepted', () => {
  const body = operation('createUser').body as AnySchema
  const pattern = (path: string): RegExp => {
    const field = fieldOf(body, path)
    assert.ok(field?.type === 'text' && field.pattern !== undefined, path)
    return new RegExp(field.pattern, 'u')
  }
  assert.match('', pattern('displayName'))
  assert.match('a.b-c_d@example.org', pattern('emailId'))
  assert.match('', pattern('emailId'))
  for (const bad of ['a', 'a@b', 'a@b.c', 'a b@c.de']) assert.doesNotMatch(bad, pattern('emailId'))
  for (const bad of ['a<b', 'a"b', 'a`b', 'a\\b', "a'b", 'a/b']) assert.doesNotMatch(bad, pattern('username'))
})

test('errors are sorted and every error that a kind names exists', () => {
  const keys = Object.keys(iamErrors)
  assert.deepEqual(keys, [...keys].sort())
  for (const { kind, notFound, unique } of iam.resources) {
    for (const key of [notFound, ...unique.map((rule) => rule.error)]) {
      if (key !== undefined) assert.ok(keys.includes(key), `${kind}: ${key}`)
    }
  }
})
