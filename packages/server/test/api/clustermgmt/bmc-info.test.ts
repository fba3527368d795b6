import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { demoBmc } from '../../../src/seeds/demo/hosts.ts'
import { advance, clustermgmt, hostId, ids, putFresh, requestId, setFault } from '../../support/clustermgmt.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const bmcOf = (name: string): string => `${clustermgmt}/clusters/${ids.native}/hosts/${hostId(name)}/bmc-info`
const statusOf = async (name: string): Promise<string> => (await app.call('GET', bmcOf(name))).data.status

test('a wrong password is stored with a warning and the status INVALID, the right one is VALID again', async () => {
  const path = bmcOf('hp-n01-a')
  const wrong = await app.task(await putFresh(app, path, { credential: { ...demoBmc, password: 'Wrong.Passw0rd' } }))
  assert.equal(wrong.status, 'SUCCEEDED')
  assert.equal(wrong.warnings.length, 1)
  assert.equal(wrong.operation, 'Update BMC Info')
  assert.deepEqual(wrong.entitiesAffected, [
    { extId: hostId('hp-n01-a'), name: 'hp-n01-a', rel: 'clustermgmt:config:host' },
  ])
  assert.equal(await statusOf('hp-n01-a'), 'INVALID')
  const right = await app.task(await putFresh(app, path, { credential: demoBmc }))
  assert.equal(right.warnings, undefined)
  assert.equal(await statusOf('hp-n01-a'), 'VALID')
})

test('of two updates of a BMC with the same ETag one is 412', async () => {
  const path = bmcOf('hp-n01-b')
  const { etag } = await app.call('GET', path)
  const put = () =>
    app.call('PUT', path, { body: { credential: demoBmc }, ifMatch: etag as string, requestId: requestId() })
  const answers = await Promise.all([put(), put()])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 412])
  for (const answer of answers) if (answer.status === 202) await app.task(answer)
})

test('a body without either part is refused, and so is the address of another BMC', async () => {
  const path = bmcOf('hp-n01-b')
  assert.equal((await putFresh(app, path, {})).status, 400)
  const taken = await putFresh(app, path, { ipAddress: { ipv4: { value: '10.44.1.43' } } })
  assert.equal(taken.status, 409)
  assert.equal(taken.errors[0]?.errorGroup, 'ADDRESS_IN_USE')
  assert.equal((await putFresh(app, path, { credential: { username: 'ab', password: 'abc' } })).status, 400)
})

test('an omitted password keeps its value, and a BMC at another address does not answer', async () => {
  const path = bmcOf('hp-n01-c')
  const moved = await app.task(await putFresh(app, path, { ipAddress: { ipv4: { value: '10.44.1.99' } } }))
  assert.equal(moved.warnings.length, 1)
  assert.equal(await statusOf('hp-n01-c'), 'UNAVAILABLE')
  const back = { ipAddress: { ipv4: { value: '10.44.1.43' } }, credential: { username: demoBmc.username } }
  await app.task(await putFresh(app, path, back))
  assert.equal(await statusOf('hp-n01-c'), 'VALID')
})

test('the monitor reports a silent BMC within five minutes without changing its ETag', async () => {
  const path = bmcOf('hp-n01-d')
  const { etag } = await app.call('GET', path)
  await setFault(app, hostId('hp-n01-d'), { isBmcSilent: true })
  await advance(app, 5)
  const found = await app.call('GET', path)
  assert.equal(found.data.status, 'UNAVAILABLE')
  assert.equal(found.etag, etag)
})

test('hosts in the cloud have no BMC', async () => {
  const path = `${clustermgmt}/clusters/${ids.cloud}/hosts/${hostId('hp-c01-a')}/bmc-info`
  assert.equal((await app.call('GET', path)).status, 404)
})
