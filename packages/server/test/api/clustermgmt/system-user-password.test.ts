/** Passwords of system accounts. Source: behaviour clustermgmt.md 1.14, 5 (39, 43). */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { User } from '@hyperplane/contract/iam/user'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { accountId } from '../../../src/domains/clustermgmt/system-accounts/accounts.ts'
import { factoryPassword } from '../../../src/domains/clustermgmt/system-accounts/system-user-password.ts'
import { demoBmc } from '../../../src/seeds/demo/hosts.ts'
import { clustermgmt, hostId, ids, setFault } from '../../support/clustermgmt.ts'
import { aUser } from '../../support/identities.ts'
import { adminPassword, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const list = `${clustermgmt}/system-user-passwords`
const rows = async (filter = '', world = app): Promise<any[]> =>
  (await world.call('GET', `${list}?$limit=100${filter === '' ? '' : `&$filter=${encodeURIComponent(filter)}`}`)).data
const change = (extId: string, body: object, as?: string, world = app): Promise<CallResult> =>
  world.call('POST', `${list}/${extId}/$actions/change-password`, { body, ...(as === undefined ? {} : { as }) })
const changed = async (extId: string, body: object): Promise<any> => app.task(await change(extId, body))
const accounts = {
  pc: accountId('PC', ids.manager, 'admin'),
  aosAdmin: accountId('AOS', ids.native, 'admin'),
  service: accountId('AOS', ids.native, 'service'),
  root: accountId('AHV', hostId('hp-n01-a'), 'root'),
  ipmi: accountId('IPMI', hostId('hp-n01-a'), ''),
}
const rowOf = async (extId: string): Promise<any> => (await rows()).find((row) => row.extId === extId)
const failed = /^Failed to change system user password due to /

test('there is a row for each account of the manager, of clusters, of native hosts and of BMCs', async () => {
  const all = await rows()
  const count = (type: string): number => all.filter(({ systemType }) => systemType === type).length
  assert.deepEqual(['PC', 'AOS', 'AHV', 'IPMI'].map(count), [1, 6, 14, 7])
  assert.deepEqual(await rowOf(accounts.root), {
    extId: accounts.root,
    tenantId: all[0].tenantId,
    username: 'root',
    systemType: 'AHV',
    clusterExtId: ids.native,
    hostIp: { value: '10.44.1.21', prefixLength: 32 },
    status: 'DEFAULT',
    hasHspInUse: false,
  })
  const ofHost = await rows(`hostIp/value eq '10.44.1.21'`)
  assert.deepEqual(ofHost.map(({ systemType, username }) => `${systemType} ${username}`).sort(), [
    'AHV admin',
    'AHV root',
    'IPMI ADMIN',
  ])
  const secure = await rows(`status eq Clustermgmt.Config.PasswordStatus'SECURE'`)
  assert.deepEqual(
    new Set(secure.map(({ systemType, username }) => `${systemType} ${username}`)),
    new Set(['PC admin', 'AOS admin']),
  )
  for (const { lastUpdateTime, expiryTime } of secure)
    assert.equal(Date.parse(expiryTime) - Date.parse(lastUpdateTime), 90 * 86_400_000)
  const ordered = (await app.call('GET', `${list}?$orderby=username desc&$limit=1`)).data
  assert.equal(ordered[0].username, 'service')
  const [expanded] = (await app.call('GET', `${list}?$expand=cluster&$limit=1`)).data
  assert.equal(typeof expanded.clusterProjection.name, 'string')
  assert.equal((await app.call('GET', list.replace('v4.2', 'v4.0'))).status, 404)
})

test('a password that breaks the rules is 400 with all of them, without a task', async () => {
  const refused = await change(accounts.root, { newPassword: 'root' })
  assert.equal(refused.status, 400)
  assert.equal(refused.errors.length, 3)
  assert.equal((await change(accounts.root, {})).status, 400)
  assert.equal((await change(accounts.root, { newPassword: `Aa1${'x'.repeat(198)}` })).status, 400)
  assert.equal((await change(ids.native, { newPassword: 'L0ng.enough' })).status, 404)
})

test('the first change needs the password of the factory on a cluster, and none on a host; the history holds five', async () => {
  const missing = await changed(accounts.service, { newPassword: 'First.Passw0rd' })
  assert.equal(missing.status, 'FAILED')
  assert.match(missing.errorMessages[0].message, failed)
  const first = { currentPassword: factoryPassword, newPassword: 'First.Passw0rd' }
  const task = await changed(accounts.service, first)
  assert.equal(task.status, 'SUCCEEDED')
  assert.equal(task.operation, 'ChangePassword')
  assert.equal(task.operationDescription, 'Update system user password')
  assert.deepEqual(task.entitiesAffected, [
    { extId: accounts.service, name: 'AOS service user password', rel: 'security:config:system-user-passwords' },
  ])
  assert.equal((await rowOf(accounts.service)).status, 'SECURE')
  for (let turn = 1; turn <= 5; turn++)
    assert.equal((await changed(accounts.root, { newPassword: `Numb3r.${turn}.of.six` })).status, 'SUCCEEDED')
  for (const turn of [5, 4, 1])
    assert.equal((await changed(accounts.root, { newPassword: `Numb3r.${turn}.of.six` })).status, 'FAILED')
  assert.equal((await changed(accounts.root, { newPassword: 'Aabb.2233.Ccdd.4455' })).status, 'SUCCEEDED')
  assert.equal((await rowOf(accounts.root)).hasHspInUse, true)
  assert.equal((await changed(accounts.root, { newPassword: 'Numb3r.1.of.six' })).status, 'SUCCEEDED')
})

test('the password that a first change replaces is not taken again at once', async () => {
  const service = accountId('AOS', ids.extern, 'service')
  const root = accountId('AHV', hostId('hp-n01-c'), 'root')
  const ipmi = accountId('IPMI', hostId('hp-n01-d'), '')
  for (const [extId, former] of [
    [service, factoryPassword],
    [root, factoryPassword],
    [ipmi, demoBmc.password],
  ] as const) {
    const first = await changed(extId, { currentPassword: former, newPassword: 'Replac1ng.Factory' })
    assert.equal(first.status, 'SUCCEEDED', extId)
    const back = await changed(extId, { currentPassword: 'Replac1ng.Factory', newPassword: former })
    assert.match(back.errorMessages[0].message, /one of the last 5/)
  }
})

test('without the user admin its account is gone, and a running change fails', async () => {
  let removed: TestApp | undefined
  const world = await startApp({
    unchecked: 'admin owns VMs, and no operation removes it',
    beforeStep: async (_task, step) => {
      if (removed === undefined || step !== 'record') return
      await removed.store.transaction((transaction) => transaction.remove(User, seedId('user/admin')))
    },
  })
  const as = await aUser(world, ['Super Admin'])
  removed = world
  const newPassword = 'An0ther.Passw0rd!'
  const body = { currentPassword: adminPassword, newPassword }
  const started = await change(accounts.pc, body, as, world)
  await world.runner.untilEnded(started.data.extId)
  const task = (await world.call('GET', `/platform/v4.3/config/tasks/${started.data.extId}`, { as })).data
  assert.match(task.errorMessages[0].message, /the account no longer existing/)
  const left = (await world.call('GET', `${list}?$limit=100`, { as })).data
  assert.equal(left.filter(({ systemType }: any) => systemType === 'PC').length, 0)
  assert.equal((await change(accounts.pc, body, as, world)).status, 404)
  await world.close()
})

test('five wrong passwords lock the account for ten minutes, also against the right one', async () => {
  const other = accountId('AOS', ids.cloud, 'service')
  const right = { currentPassword: factoryPassword, newPassword: 'Next.Passw0rd1' }
  for (let turn = 0; turn < 5; turn++) {
    const wrong = await changed(other, { ...right, currentPassword: 'wrong' })
    assert.match(wrong.errorMessages[0].message, /due to a wrong current password/)
  }
  assert.match((await changed(other, right)).errorMessages[0].message, /locked/)
  await app.clock.advance(10 * 60_000 + 1)
  assert.equal((await changed(other, right)).status, 'SUCCEEDED')
})

test('a change on a BMC reaches the BMC and the stored credential together; a silent one keeps both', async () => {
  const path = `${clustermgmt}/clusters/${ids.native}/hosts/${hostId('hp-n01-a')}/bmc-info`
  await setFault(app, hostId('hp-n01-a'), { isBmcSilent: true })
  const silent = await changed(accounts.ipmi, { newPassword: 'Fresh.Bmc.Pass1' })
  assert.match(silent.errorMessages[0].message, /did not answer/)
  await setFault(app, hostId('hp-n01-a'))
  const wrong = await changed(accounts.ipmi, { currentPassword: 'wrong', newPassword: 'Fresh.Bmc.Pass1' })
  assert.match(wrong.errorMessages[0].message, failed)
  const right = { currentPassword: demoBmc.password, newPassword: 'Fresh.Bmc.Pass1' }
  assert.equal((await changed(accounts.ipmi, right)).status, 'SUCCEEDED')
  assert.equal((await app.call('GET', path)).data.status, 'VALID')
  await app.clock.advance(5 * 60_000)
  assert.equal((await app.call('GET', path)).data.status, 'VALID')
})

test('a host that is down keeps its password, and the task says why', async () => {
  await setFault(app, hostId('hp-n01-b'), { isDown: true })
  const root = accountId('AHV', hostId('hp-n01-b'), 'root')
  assert.match((await changed(root, { newPassword: 'Never.Used.1' })).errorMessages[0].message, /no answer/)
  await setFault(app, hostId('hp-n01-b'))
  assert.equal((await rowOf(root)).status, 'DEFAULT')
})

test('an administrator of accounts changes no password of a cluster that it cannot see', async () => {
  const as = await aUser(app, ['LocalAccountManager Admin'], { cluster: { uuid: { eq: ids.cloud } } })
  const seen = (await app.call('GET', `${list}?$limit=100`, { as })).data
  assert.ok(seen.length > 0)
  assert.deepEqual(new Set(seen.map((row: any) => row.clusterExtId)), new Set([ids.cloud]))
  assert.equal((await change(accounts.root, { newPassword: 'L0ng.enough' }, as)).status, 404)
  const viewer = await aUser(app, ['Platform Viewer'])
  assert.equal((await change(accounts.root, { newPassword: 'L0ng.enough' }, viewer)).status, 403)
})

test('43 the password of admin changes with its old one alone; afterwards the old one reads its own task and nothing else', async () => {
  const world = await startApp()
  const as = (password: string) => ({ as: `admin:${password}` })
  const newPassword = 'An0ther.Passw0rd!'
  const path = `/platform/v4.3/config/tasks`
  assert.equal(
    (await change(accounts.pc, { currentPassword: adminPassword, newPassword: '1234' }, undefined, world)).status,
    400,
  )
  const wrong = { currentPassword: 'Wr0ng.Passw0rd!', newPassword }
  for (let turn = 0; turn < 2; turn++) {
    const refused = await world.task(await change(accounts.pc, wrong, undefined, world))
    assert.equal(refused.status, 'FAILED')
    assert.match(refused.errorMessages[0].message, failed)
  }
  const other = await world.call('GET', `${path}?$limit=1`)
  const started = await change(accounts.pc, { currentPassword: adminPassword, newPassword }, undefined, world)
  await world.runner.untilEnded(started.data.extId)
  const own = `${path}/${started.data.extId}`
  const task = await world.call('GET', own, as(adminPassword))
  assert.equal(task.status, 200)
  assert.equal(task.data.status, 'SUCCEEDED')
  assert.equal((await world.call('GET', list, as(newPassword))).status, 200)
  const same = { currentPassword: newPassword, newPassword }
  const again = await change(accounts.pc, same, as(newPassword).as, world)
  await world.runner.untilEnded(again.data.extId)
  const kept = (await world.call('GET', `${path}/${again.data.extId}`, as(newPassword))).data
  assert.equal(kept.status, 'FAILED')
  assert.match(kept.errorMessages[0].message, failed)
  for (const [method, at] of [
    ['GET', list],
    ['GET', path],
    ['GET', `${path}/${other.data[0].extId}`],
    ['POST', `${own}/$actions/cancel`],
  ] as const)
    assert.equal((await world.call(method, at, as(adminPassword))).status, 401, at)
  await world.clock.advance(10 * 60_000 + 1)
  assert.equal((await world.call('GET', own, as(adminPassword))).status, 401)
  assert.equal((await world.call('GET', own, as(newPassword))).data.status, 'SUCCEEDED')
  await world.close()
})

test('43 a change through iam moves the row of the manager, and counts in the history of both', async () => {
  const world = await startApp()
  const pc = async (password: string): Promise<any> =>
    (await world.call('GET', `${list}?$limit=100`, { as: `admin:${password}` })).data.find(
      ({ systemType }: any) => systemType === 'PC',
    )
  const first = await pc(adminPassword)
  await world.clock.advance(60_000)
  const passwords = [adminPassword, 'Sixteen.Ch4racters', 'Second.Passw0rd1']
  for (const [oldPassword, newPassword] of [passwords.slice(0, 2), passwords.slice(1)]) {
    const body = { username: 'admin', oldPassword, newPassword }
    const as = { as: `admin:${oldPassword}` }
    assert.equal(
      (await world.call('POST', '/iam/v4.1.b2/authn/users/$actions/change-password', { body, ...as })).status,
      200,
    )
  }
  const [, former = '', current = ''] = passwords
  const moved = await pc(current)
  assert.ok(Date.parse(moved.lastUpdateTime) > Date.parse(first.lastUpdateTime))
  assert.equal(moved.hasHspInUse, true)
  const as = `admin:${current}`
  const ended = async (extId: string, body: object): Promise<any> => {
    const { data } = await change(extId, body, as, world)
    await world.runner.untilEnded(data.extId)
    return (await world.call('GET', `/platform/v4.3/config/tasks/${data.extId}`, { as })).data
  }
  const reused = await ended(accounts.pc, { currentPassword: current, newPassword: former })
  assert.match(reused.errorMessages[0].message, /one of the last 5/)
  // The account of a cluster keeps the password of the first start.
  const own = { currentPassword: adminPassword, newPassword: 'Of.Cluster.1' }
  assert.equal((await ended(accounts.aosAdmin, own)).status, 'SUCCEEDED')
  await world.close()
})
