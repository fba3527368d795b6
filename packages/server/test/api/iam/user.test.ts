import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { User } from '@hyperplane/contract/iam/user'
import { adminPassword, startApp, type TestApp } from '../../support/start-app.ts'
import { aRobot, aUser, etagOf, fresh, goodPassword, grant, ok, settled, users, verdict } from './people.ts'

let app: TestApp
before(async () => void (app = await startApp()))
after(() => app.close())

const changePassword = (as: string, username: string, oldPassword: string, newPassword: string, address?: string) =>
  app.call('POST', `${users}/$actions/change-password`, {
    as,
    body: { username, oldPassword, newPassword },
    ...(address === undefined ? {} : { address }),
  })
const setState = (extId: string, status: string, as?: string) =>
  app.call('POST', `${users}/${extId}/$actions/change-state`, { body: { status }, ...(as === undefined ? {} : { as }) })

test('a created local user is ACTIVE, has an id and no password; the read shows the same', async () => {
  const username = fresh('Carol')
  const created = ok(
    await app.call('POST', users, {
      body: { userType: 'LOCAL', username, password: goodPassword, emailId: 'carol@example.com' },
    }),
    201,
  )
  assert.equal(created.data.status, 'ACTIVE')
  assert.equal(created.data.username, username.toLowerCase())
  assert.equal(created.data.locale, 'en-US')
  assert.equal(created.data.creationType, 'USERDEFINED')
  assert.match(created.location ?? '', new RegExp(`${created.data.extId}$`))
  const {
    passwordHash: _,
    formerPasswordHashes: __,
    ...read
  } = ok(await app.call('GET', `${users}/${created.data.extId}`), 200).data
  assert.deepEqual(read, created.data)
  assert.ok(!JSON.stringify(created.data).includes(goodPassword))
})

test('a user name in use, in any case, is refused with the message that clients search for', async () => {
  const username = fresh('dora')
  await aUser(app, username)
  const again = await app.call('POST', users, {
    body: { userType: 'SERVICE_ACCOUNT', username: username.toUpperCase() },
  })
  assert.equal(verdict(again), '409 IAM-20010')
  assert.equal(again.errors[0]?.message, 'Failed to create user as a user already exists with given username.')
})

test('of 20 concurrent creations of one user name exactly one succeeds', async () => {
  const body = { userType: 'SERVICE_ACCOUNT', username: fresh('twenty') }
  const results = await Promise.all(Array.from({ length: 20 }, () => app.call('POST', users, { body })))
  assert.deepEqual(results.map((one) => one.status).sort(), [201, ...Array(19).fill(409)])
})

test('a service account has empty strings for texts that were not sent, and no password', async () => {
  const created = ok(
    await app.call('POST', users, { body: { userType: 'SERVICE_ACCOUNT', username: fresh('sa') } }),
    201,
  )
  assert.deepEqual([created.data.displayName, created.data.emailId, created.data.locale], ['', '', ''])
  const refused = await app.call('POST', users, {
    body: { userType: 'SERVICE_ACCOUNT', username: fresh('sa'), password: goodPassword },
  })
  assert.equal(refused.status, 400)
})

test('each user type requires some fields and refuses others', async () => {
  const idpId = '11111111-1111-4111-8111-111111111111'
  const create = (body: object) => app.call('POST', users, { body: { username: fresh('typed'), ...body } })
  assert.equal(verdict(await create({ userType: 'EXTERNAL' })), '400 PLAT-10008')
  assert.equal(verdict(await create({ userType: 'LOCAL' })), '400 PLAT-10008')
  assert.equal(verdict(await create({ userType: 'LOCAL', password: goodPassword, idpId })), '400 PLAT-10008')
  assert.equal(verdict(await create({ userType: 'LDAP' })), '400 PLAT-10008')
  assert.equal(verdict(await create({ userType: 'LDAP', idpId })), '404 IAM-20004')
  assert.equal(verdict(await create({ userType: 'SAML', idpId })), '404 IAM-20005')
  assert.equal(
    (await create({ userType: 'LOCAL', password: goodPassword, additionalAttributes: [{ name: 'a' }, { name: 'a' }] }))
      .status,
    400,
  )
  assert.equal(
    (await app.call('POST', users, { body: { userType: 'LOCAL', username: 'a<b', password: goodPassword } })).status,
    400,
  )
})

test('a user without a policy reads only their own user, and lists users with the first request after a policy is created', async () => {
  const person = await aUser(app)
  for (const path of [
    users,
    '/platform/v4.3/config/categories',
    '/vmm/v4.2/ahv/config/vms',
    '/iam/v4.1.b2/authz/roles',
  ]) {
    assert.equal(verdict(await app.call('GET', path, { as: person.as })), '403 PLAT-10403', path)
  }
  ok(await app.call('GET', `${users}/${person.extId}`, { as: person.as }), 200)
  assert.equal((await app.call('GET', `${users}/${(await aUser(app)).extId}`, { as: person.as })).status, 404)
  await grant(app, 'Platform Viewer', person.extId)
  ok(await app.call('GET', users, { as: person.as }), 200)
})

test('deactivating a user blocks password and keys at once, and reactivating restores them', async () => {
  const person = await aUser(app)
  const key = ok(
    await app.call('POST', `${users}/${person.extId}/keys`, { body: { name: 'k', keyType: 'API_KEY' } }),
    201,
  ).data.keyDetails.apiKey
  const own = `${users}/${person.extId}`
  const both = async () => [
    (await app.call('GET', own, { as: person.as })).status,
    (await app.call('GET', own, { apiKey: key })).status,
  ]
  assert.deepEqual(await both(), [200, 200])
  assert.match(ok(await setState(person.extId, 'INACTIVE'), 200).data.message, /INACTIVE/)
  assert.deepEqual(await both(), [401, 401])
  ok(await setState(person.extId, 'INACTIVE'), 200)
  ok(await setState(person.extId, 'ACTIVE'), 200)
  assert.deepEqual(await both(), [200, 200])
})

test('nobody can deactivate their own account or the last Super Admin, by action or by PUT', async () => {
  const admin = (await app.call('GET', `${users}?$filter=username eq 'admin'`)).data[0].extId
  assert.equal(verdict(await setState(admin, 'INACTIVE')), '409 IAM-20018')
  const keeper = await aUser(app)
  await grant(app, 'User Admin', keeper.extId)
  assert.equal(verdict(await setState(admin, 'INACTIVE', keeper.as)), '409 IAM-20018')
  const body = { userType: 'LOCAL', username: 'admin', status: 'INACTIVE' }
  assert.equal(
    verdict(
      await app.call('PUT', `${users}/${admin}`, {
        body,
        as: keeper.as,
        ifMatch: await etagOf(app, `${users}/${admin}`),
      }),
    ),
    '409 IAM-20018',
  )
  const policy = await grant(app, 'Super Admin', keeper.extId)
  ok(await setState(admin, 'INACTIVE', keeper.as), 200)
  ok(await setState(admin, 'ACTIVE', keeper.as), 200)
  const path = `/iam/v4.1.b2/authz/authorization-policies/${policy}`
  ok(await app.call('DELETE', path, { ifMatch: await etagOf(app, path) }), 204)
})

test('change-password refuses a wrong old password with 403 and a weak new one with every broken rule, and otherwise ends the old password', async () => {
  const person = await aUser(app)
  assert.equal(
    verdict(await changePassword(person.as, person.username, 'Wrong.Passw0rd', 'Another.Good9')),
    '403 IAM-20017',
  )
  const weak = await changePassword(person.as, person.username, goodPassword, 'short')
  assert.equal(verdict(weak), '400 IAM-20016')
  assert.equal(weak.errors.length, 4, weak.errors.map((one) => one.message).join('\n'))
  assert.ok(!JSON.stringify(weak.errors).includes('short'))
  assert.equal(
    verdict(await changePassword(person.as, person.username, goodPassword, `x${goodPassword}`)),
    '400 IAM-20016',
  )
  ok(await changePassword(person.as, person.username, goodPassword, 'Another.Good9'), 200)
  const own = `${users}/${person.extId}`
  assert.equal((await app.call('GET', own, { as: person.as })).status, 401)
  ok(await app.call('GET', own, { as: `${person.username}:Another.Good9` }), 200)
})

test('wrong old passwords in change-password lock like failed sign-ins', async () => {
  const person = await aUser(app)
  const address = '198.51.100.7'
  for (let i = 0; i < 5; i++)
    assert.equal(
      (await changePassword(person.as, person.username, `Wrong.Passw0rd${i}`, 'Another.Good9', address)).status,
      403,
    )
  assert.equal((await app.call('GET', `${users}/${person.extId}`, { as: person.as, address })).status, 401)
  ok(await app.call('GET', `${users}/${person.extId}`, { as: person.as, address: '198.51.100.8' }), 200)
})

test('only local users change their own password with change-password', async () => {
  const person = await aUser(app)
  assert.equal(verdict(await changePassword(person.as, 'admin', adminPassword, 'Another.Good9')), '403 PLAT-10403')
  const robot = await aRobot(app)
  const username = (await app.call('GET', `${users}/${robot.extId}`)).data.username
  const refused = await app.call('POST', `${users}/$actions/change-password`, {
    apiKey: robot.apiKey,
    body: { username, oldPassword: 'x', newPassword: 'Another.Good9' },
  })
  assert.equal(refused.status, 400)
})

test('none of the last five passwords can be reused', async () => {
  const person = await aUser(app)
  let current = goodPassword
  for (const next of ['Second.Password2', 'Third.Secret33', 'Fourth.Magic44x', 'Fifth.Wonder55y']) {
    ok(await changePassword(`${person.username}:${current}`, person.username, current, next), 200)
    current = next
  }
  assert.equal(
    verdict(await changePassword(`${person.username}:${current}`, person.username, current, goodPassword)),
    '400 IAM-20016',
  )
  ok(await changePassword(`${person.username}:${current}`, person.username, current, 'Sixth.Number66z'), 200)
  ok(await changePassword(`${person.username}:Sixth.Number66z`, person.username, 'Sixth.Number66z', goodPassword), 200)
})

test('a user whose password was reset can do nothing until it changes the password', async () => {
  const person = await aUser(app)
  await grant(app, 'Platform Viewer', person.extId)
  ok(
    await app.call('POST', `${users}/${person.extId}/$actions/reset-password`, {
      body: { newPassword: 'Given.Passw0rd' },
    }),
    200,
  )
  const as = `${person.username}:Given.Passw0rd`
  assert.equal((await app.call('GET', users, { as: person.as })).status, 401)
  assert.equal(verdict(await app.call('GET', users, { as })), '403 IAM-20015')
  assert.equal(verdict(await app.call('GET', `${users}/${person.extId}`, { as })), '403 IAM-20015')
  ok(await changePassword(as, person.username, 'Given.Passw0rd', 'Chosen.Secret9'), 200)
  ok(await app.call('GET', users, { as: `${person.username}:Chosen.Secret9` }), 200)
  assert.equal(ok(await app.call('GET', `${users}/${person.extId}`), 200).data.isForceResetPasswordEnabled, false)
})

test('PUT resets a password without a forced change, cannot change type or name, and refuses a stale ETag', async () => {
  const person = await aUser(app, undefined, { displayName: 'Somebody', description: 'before' })
  const path = `${users}/${person.extId}`
  const etag = await etagOf(app, path)
  const body = {
    userType: 'LOCAL',
    username: person.username,
    displayName: 'Somebody Else',
    password: 'Put.Passw0rd99',
  }
  assert.equal((await app.call('PUT', path, { body })).status, 428)
  const updated = ok(await app.call('PUT', path, { body, ifMatch: etag }), 200)
  assert.equal(updated.data.displayName, 'Somebody Else')
  assert.equal(updated.data.description, undefined)
  assert.equal(updated.data.locale, 'en-US')
  assert.notEqual(updated.etag, etag)
  assert.equal((await app.call('GET', path, { as: person.as })).status, 401)
  ok(await app.call('GET', path, { as: `${person.username}:Put.Passw0rd99` }), 200)
  assert.equal((await app.call('PUT', path, { body, ifMatch: etag })).status, 412)
  const renamed = await app.call('PUT', path, {
    body: { ...body, username: 'other', userType: 'SAML' },
    ifMatch: updated.etag as string,
  })
  assert.equal(verdict(renamed), '400 PLAT-10012')
  assert.equal(renamed.errors.length, 2)
})

test('lastLoginTime is updated at most once a minute of world time and does not change the ETag', async () => {
  const person = await aUser(app)
  const path = `${users}/${person.extId}`
  const etag = await etagOf(app, path)
  const lastLogin = async () => {
    await app.call('GET', path, { as: person.as })
    await settled(app)
    return (await app.call('GET', path)).data.lastLoginTime
  }
  const first = await lastLogin()
  assert.equal(first, app.clock.iso())
  await app.clock.advance(59_000)
  assert.equal(await lastLogin(), first)
  await app.clock.advance(1000)
  assert.equal(await lastLogin(), app.clock.iso())
  assert.equal(await etagOf(app, path), etag)
})

test('the list of users filters and orders by its fields, with both spellings of enumeration values', async () => {
  const { data } = await app.call(
    'GET',
    `${users}?$filter=userType eq Schema.Enums.UserType'SERVICE_ACCOUNT' and username eq 'ci-robot'`,
  )
  assert.deepEqual(
    data.map((one: any) => one.username),
    ['ci-robot'],
  )
  const named = await app.call('GET', `${users}?$filter=userType eq Iam.Authn.UserType'LDAP'&$select=username`)
  assert.deepEqual(
    named.data.map((one: any) => one.username),
    ['alice'],
  )
  assert.equal((await app.call('GET', `${users}?$filter=description eq 'x'`)).status, 400)
})

test('no password appears in the store or in responses', async () => {
  const secretWord = 'Unmistakable.Secret1'
  const person = await aUser(app, undefined, { password: secretWord })
  const row = await app.store.get(User, person.extId)
  assert.ok(!JSON.stringify(row).includes(secretWord))
  assert.match(row?.passwordHash ?? '', /^\$argon2id\$/)
})

test('a User Admin cannot set a password or create a key of a stronger identity', async () => {
  const robot = await aRobot(app)
  await grant(app, 'User Admin', robot.extId)
  const as = { apiKey: robot.apiKey }
  const strong = await aUser(app)
  await grant(app, 'Platform Admin', strong.extId)
  const reset = (extId: string) =>
    app.call('POST', `${users}/${extId}/$actions/reset-password`, { ...as, body: { newPassword: 'Another.Horse8' } })
  const makeKey = (extId: string) =>
    app.call('POST', `${users}/${extId}/keys`, { ...as, body: { name: fresh('key'), keyType: 'API_KEY' } })
  assert.equal((await reset(strong.extId)).status, 403)
  assert.equal((await makeKey(strong.extId)).status, 403)
  const { data } = await app.call('GET', `${users}/${strong.extId}`)
  const put = await app.call('PUT', `${users}/${strong.extId}`, {
    ...as,
    ifMatch: await etagOf(app, `${users}/${strong.extId}`),
    body: { username: data.username, userType: 'LOCAL', password: 'Another.Horse8' },
  })
  assert.equal(put.status, 403, JSON.stringify(put.errors))
  const weak = await aUser(app)
  assert.equal((await reset(weak.extId)).status, 200)
  assert.equal((await makeKey(weak.extId)).status, 201)
})
