/** Route tables. Source: behaviour networking.md 1.6, 5 (21, 22). */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { aVpc, changed, removed, routeTables } from '../../support/vpcs.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const tablesOf = (vpc: string) => app.call('GET', `${routeTables}?$filter=vpcReference eq '${vpc}'`)

test('every VPC of the demo has a route table, which is read by its id and has an ETag', async () => {
  assert.equal((await app.call('GET', routeTables)).total, 3)
  const [table] = (await tablesOf(seedId('vpc/prod'))).data
  const read = await app.call('GET', `${routeTables}/${table.extId}`)
  assert.deepEqual(read.data, table)
  assert.ok(read.etag)
})

test("vpcReference eq 'invalid' gives an empty list with a total of 0, and an unknown id is 404", async () => {
  const invalid = await tablesOf('invalid')
  assert.deepEqual([invalid.status, invalid.data, invalid.total], [200, [], 0])
  const unknown = await app.call('GET', `${routeTables}/${randomUUID()}`)
  assert.deepEqual([unknown.status, unknown.errors[0]?.code], [404, 'NETWORKING-10010'])
})

test('a route table is found by the routing domain of its VPC, even after that changed, and is deleted with the VPC', async () => {
  const [one, two] = [randomUUID(), randomUUID()]
  const found = async (domain: string): Promise<number | undefined> =>
    (await app.call('GET', `${routeTables}?$filter=externalRoutingDomainReference eq '${domain}'`)).total
  const vpc = await aVpc(app, { externalRoutingDomainReference: one })
  assert.deepEqual([await found(one), await found(two)], [1, 0])
  await changed(app, vpc, { externalRoutingDomainReference: two })
  assert.deepEqual([await found(one), await found(two)], [0, 1])
  await removed(app, vpc)
  assert.equal((await tablesOf(vpc.slice(-36))).total, 0)
})

test('a route table cannot be created, changed or deleted by a request', async () => {
  const [table] = (await tablesOf(seedId('vpc/prod'))).data
  for (const [method, path] of [
    ['POST', routeTables],
    ['PUT', `${routeTables}/${table.extId}`],
    ['DELETE', `${routeTables}/${table.extId}`],
  ] as const) {
    assert.equal((await app.call(method, path, { body: {} })).status, 405)
  }
})
