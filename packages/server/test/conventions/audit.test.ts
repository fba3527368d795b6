/** Who changed what, when, with which outcome. Source: behaviour conventions 21. */
import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { AuditRecord } from '../../src/core/records.ts'
import { http } from '../support/http.ts'
import { aUser } from '../support/identities.ts'
import { startApp, type TestApp } from '../support/start-app.ts'

const categories = '/api/platform/v4.3/config/categories'
let app: TestApp
let url: string
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
})
after(() => app.close())

const records = (): Promise<any[]> => app.store.find(AuditRecord)
/** The records of these requests. */
async function left(by: () => Promise<unknown>): Promise<any[]> {
  const before = (await records()).length
  await by()
  return (await records()).slice(before)
}
const category = (description?: string): string =>
  JSON.stringify({ key: `audited-${randomUUID()}`, value: 'v', ...(description === undefined ? {} : { description }) })

test('a change is recorded with time, request id, identity, credential, address, operation, target, outcome and fields', async () => {
  const id = randomUUID()
  let made: any
  const [record, ...more] = await left(async () => {
    made = await http(url, categories, { method: 'POST', headers: { 'SVC-Request-Id': id }, body: category('words') })
  })
  assert.deepEqual(more, [])
  assert.deepEqual(
    [record.time, record.requestId, record.identityName, record.credential, record.address],
    [app.clock.iso(), id, 'admin', 'basic', '127.0.0.1'],
  )
  const { extId } = made.json.data
  assert.deepEqual([record.operation, record.target, record.status], ['platform.createCategory', extId, 201])
  assert.deepEqual([...record.changed].sort(), ['description', 'key', 'type', 'value'])
  assert.ok(!JSON.stringify(record).includes('words'))
})

test('an asynchronous change names its task; a dry run is marked; a request without an id has the echoed one', async () => {
  const profiles = '/api/clustermgmt/v4.2/config/cluster-profiles'
  let answer: any
  const [record] = await left(async () => {
    const body = JSON.stringify({ name: `audited-${randomUUID()}` })
    answer = await http(url, profiles, { method: 'POST', headers: { 'NTNX-Request-Id': randomUUID() }, body })
  })
  const task = answer.json.data.extId.replace('ZXJnb24=:', '')
  assert.equal(record.task, task)
  const extId = (await app.task(task)).entitiesAffected[0].extId
  assert.equal(record.target, extId)
  const body = JSON.stringify({ clusters: [{ name: 'cloud-1' }] })
  const [dry] = await left(async () => {
    answer = await http(url, `${profiles}/${extId}/$actions/apply?$dryrun=true`, {
      method: 'POST',
      headers: { 'SVC-Request-Id': randomUUID() },
      body,
    })
    await app.task(answer.json.data.extId)
  })
  assert.deepEqual([dry.dryRun, dry.status], ['true', 202])
  const [plain] = await left(async () => {
    answer = await http(url, categories, { method: 'POST', body: category() })
  })
  assert.equal(plain.requestId, answer.headers['svc-request-id'])
})

test('refusals are recorded with their code and target: shape, precondition, not found, not permitted, and every failed sign-in', async () => {
  const made = await http(url, categories, { method: 'POST', body: category() })
  const one = `${categories}/${made.json.data.extId}`
  const nobody = await aUser(app, [])
  const expected: readonly [options: object, path: string, status: number, code: string | undefined][] = [
    [{ method: 'POST', body: '{"key":5}' }, categories, 400, undefined],
    [{ method: 'PUT', body: category() }, one, 428, 'PLAT-10004'],
    [{ method: 'PUT', body: category(), headers: { 'If-Match': '"x"' } }, one, 412, 'PLAT-10005'],
    [{ method: 'DELETE' }, `${categories}/${randomUUID()}`, 404, 'PLAT-10007'],
    [{ method: 'DELETE', as: nobody }, one, 403, 'PLAT-10403'],
    [{ method: 'GET', as: 'admin:Wrong.Passw0rd' }, categories, 401, 'PLAT-10401'],
  ]
  for (const [options, path, status, code] of expected) {
    let answer: any
    const found = await left(async () => {
      answer = await http(url, path, options as never)
    })
    assert.equal(answer.status, status, answer.text)
    assert.deepEqual(
      found.map((record) => [record.status, record.code, record.requestId]),
      [[status, code, answer.headers['svc-request-id']]],
    )
    if (path !== categories) assert.equal(found[0].target, path.slice(-36))
    assert.equal(found[0].identityName, status === 401 ? undefined : status === 403 ? nobody.split(':')[0] : 'admin')
  }
})

test('reads are not recorded', async () => {
  assert.deepEqual(
    await left(async () => {
      await http(url, categories)
      await http(url, categories, { method: 'HEAD' })
      await http(url, `${categories}/${randomUUID()}`)
    }),
    [],
  )
})

test('each record holds the hash of the one before, and its own is that of its content', async () => {
  const all = await records()
  assert.ok(all.length > 5)
  for (const [index, { hash, ...record }] of all.entries()) {
    assert.equal(record.previous, index === 0 ? '' : all[index - 1].hash)
    const { extId, time, credential, address, operation, status, previous, ...rest } = record
    const { requestId, identity, identityName, target, code, task, changed, dryRun, decision } = rest
    const said = { extId, time, credential, address, operation, status, previous, requestId, identity, identityName }
    const text = JSON.stringify({ ...said, target, code, task, changed, dryRun, decision })
    assert.equal(createHash('sha256').update(text).digest('base64url'), hash)
  }
})
