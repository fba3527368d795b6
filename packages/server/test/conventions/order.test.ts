/**
 * What a body says by itself is judged before what it refers to: 400 before 404. One case for each operation whose kind has
 * rules and whose body can name something; an operation without a case fails.
 * Source: behaviour conventions 1 (steps 13, 14).
 */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type AnySchema, contract, type Operation } from '@hyperplane/contract'
import { domains } from '../../src/domains/index.ts'
import { fileOf, orderCases } from '../kinds/collected.ts'
import { nativeCluster, unknown } from '../kinds/kind.ts'
import { providerForm } from '../support/authorities.ts'
import { startApp, type TestApp } from '../support/start-app.ts'

const operations = contract.flatMap((namespace) => namespace.operations)

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

test('every operation with rules, whose body can name something, has a case in the file of its kind', () => {
  const ruled = new Set(
    Object.entries(domains).flatMap(([prefix, kinds]) =>
      Object.values(kinds).flatMap(({ rules }) => Object.keys(rules).map((id) => `${prefix}.${id}`)),
    ),
  )
  const wanted = operations.filter((operation) => ruled.has(operation.key) && canName(operation))
  const missing = wanted.filter(({ key }) => !(key in orderCases))
  assert.deepEqual(
    missing.map((operation) => `${operation.key} in ${fileOf(operation)}`),
    [],
    'export these as "orderCases"',
  )
  assert.deepEqual(Object.keys(orderCases).sort(), wanted.map(({ key }) => key).sort())
})

for (const operation of operations) {
  const one = orderCases[operation.key]
  if (one === undefined) continue
  test(`${operation.key}: a body that breaks a rule and names something unknown is 400; without the fault it is 404`, async () => {
    const path = typeof one.path === 'string' ? one.path : await one.path(app)
    const base = `/${operation.namespace}/${operation.versions[0]}`
    const owner = one.tagOf ?? path.replace(/\/\$actions\/.*/, '')
    const { etag } = owner === operation.path ? {} : await app.call('GET', base + owner)
    const send = (body: object) =>
      app.call(operation.method, base + path, {
        ...(operation.form === undefined ? { body } : { form: providerForm({ ...body }) }),
        requestId: randomUUID(),
        ...(operation.clusterId === undefined ? {} : { clusterId: nativeCluster }),
        ...(etag === undefined ? {} : { ifMatch: etag }),
      })
    const body = typeof one.body === 'function' ? await one.body() : one.body
    const broken = await send({ ...body, ...one.broken })
    assert.equal(broken.status, 400, JSON.stringify(broken.errors))
    assert.ok(
      broken.errors.every((error) => error.errorGroup !== undefined),
      `a rule, not a fault of shape: ${JSON.stringify(broken.errors)}`,
    )
    const whole = await send(body)
    assert.equal(whole.status, 404, JSON.stringify(whole.errors))
    assert.match(JSON.stringify(whole.errors), new RegExp(unknown))
  })
}

/** What cannot change can only be sent as it is: it names nothing new. */
function canName({ body, verb }: Operation): boolean {
  const visit = (schema: AnySchema): boolean => {
    if (schema.readOnly === true || (verb === 'update' && schema.immutable === true)) return false
    if (schema.type === 'uuid') return schema.refersTo !== undefined
    if (schema.type === 'object') return Object.values(schema.fields).some(visit)
    if (schema.type === 'list') return visit(schema.items)
    return schema.type === 'oneOf' && schema.alternatives.some(visit)
  }
  return body !== undefined && visit(body)
}
