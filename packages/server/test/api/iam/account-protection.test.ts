/** Nobody takes over an account that holds more than they do. Source: behaviour iam.md 8, 9.2. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { RoleName } from '@hyperplane/contract'
import { User } from '@hyperplane/contract/iam/user'
import { systemRoleId } from '../../../src/domains/iam/catalogue/system-roles.ts'
import { adminPassword, startApp, type TestApp } from '../../support/start-app.ts'
import {
  aDirectory,
  aDirectoryUser,
  aGroup,
  behave,
  groupIn,
  groups,
  personIn,
  putGroup,
  putUser,
  type TestDirectory,
  toGroup,
} from './directories.ts'
import {
  aRobot,
  aRole,
  aUser,
  etagOf,
  everything,
  fresh,
  goodPassword,
  grant,
  ok,
  policies,
  policyBody,
  users,
  verdict,
} from './people.ts'

let app: TestApp
/** A User Admin. */
let keeper: Caller
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  keeper = await holding('User Admin')
})
after(() => app.close())

const denied = '403 PLAT-10403'
const nobody = '99999999-9999-4999-8999-999999999999'

interface Caller {
  readonly extId: string
  readonly apiKey: string
}

async function holding(...roles: readonly (RoleName | { id: string })[]): Promise<Caller> {
  const robot = await aRobot(app)
  for (const role of roles) await grant(app, role, robot.extId)
  return robot
}

async function allow(
  role: RoleName | { id: string },
  identityFilter: object,
  filter: object = everything,
): Promise<string> {
  const id = typeof role === 'string' ? systemRoleId(role) : role.id
  const body = { ...policyBody(id, nobody, filter), identities: [{ identityFilter }] }
  return ok(await app.call('POST', policies, { body }), 201).data.extId
}

const keysOf = (user: string): string => `${users}/${user}/keys`
const makeKey = ({ apiKey }: Caller, user: string) =>
  app.call('POST', keysOf(user), { apiKey, body: { name: fresh('key'), keyType: 'API_KEY' } })
const reset = ({ apiKey }: Caller, user: string, newPassword = 'Another.Horse8') =>
  app.call('POST', `${users}/${user}/$actions/reset-password`, { apiKey, body: { newPassword } })
const setState = ({ apiKey }: Caller, user: string, status: string) =>
  app.call('POST', `${users}/${user}/$actions/change-state`, { apiKey, body: { status } })
const create = ({ apiKey }: Caller, body: object) => app.call('POST', users, { apiKey, body })
async function put({ apiKey }: Caller, user: string, changes: object) {
  const path = `${users}/${user}`
  const { username, userType, status, isForceResetPasswordEnabled } = ok(await app.call('GET', path), 200).data
  return app.call('PUT', path, {
    apiKey,
    ifMatch: await etagOf(app, path),
    body: { username, userType, status, isForceResetPasswordEnabled, ...changes },
  })
}

test('a User Admin can create users even when a policy gives every user access to what they own', async () => {
  const own = { virtual_machine: { owner_uuid: { eq: 'SELF_OWNED' } } }
  const policy = `${policies}/${await allow('Virtual Machine Viewer', { user: { '*': { eq: '*' } } }, own)}`
  const made = await create(keeper, { userType: 'LOCAL', username: fresh('newcomer'), password: goodPassword })
  assert.equal(made.status, 201, JSON.stringify(made.errors))
  ok(await app.call('DELETE', policy, { ifMatch: await etagOf(app, policy) }), 204)
})

/** Everything by which somebody could use or close the account of a LOCAL user. */
const attempts: readonly (readonly [string, (caller: Caller, user: string) => ReturnType<typeof makeKey>])[] = [
  ['a key', makeKey],
  ['a reset password', (caller, user) => reset(caller, user)],
  ['a password by PUT', (caller, user) => put(caller, user, { password: 'Another.Horse8' })],
  ['INACTIVE by change-state', (caller, user) => setState(caller, user, 'INACTIVE')],
  ['INACTIVE by PUT', (caller, user) => put(caller, user, { status: 'INACTIVE' })],
  [
    'a forced change of its password by PUT',
    (caller, user) => put(caller, user, { isForceResetPasswordEnabled: true }),
  ],
]

describe('a User Admin', () => {
  const strong: readonly RoleName[] = ['Super Admin', 'Internal Super Admin', 'Platform Admin', 'Virtual Machine Admin']
  for (const role of strong) {
    for (const [what, attempt] of attempts) {
      test(`is refused ${what} for an account with the role ${role}`, async () => {
        const person = await aUser(app)
        await grant(app, role, person.extId)
        assert.equal(verdict(await attempt(keeper, person.extId)), denied)
        const row = await app.store.get(User, person.extId)
        assert.deepEqual([row?.status, row?.isForceResetPasswordEnabled], ['ACTIVE', false])
        assert.equal((await app.call('GET', `${users}/${person.extId}`, { as: person.as })).status, 200)
      })
    }
  }

  test('gets a refusal that names the missing operation and filter', async () => {
    const person = await aUser(app)
    await grant(app, { id: await aRole(app, ['Delete_Image']) }, person.extId, { image: { name: { eq: 'x' } } })
    const [message] = (await makeKey(keeper, person.extId)).errors
    assert.match(message?.message ?? '', /on "person-\d+", .*Delete_Image on \{"image":\{"name":\{"eq":"x"\}\}\}/)
  })

  test('administers accounts that hold nothing beyond its own permissions', async () => {
    for (const role of [undefined, 'User Admin'] as const) {
      for (const [what, attempt] of attempts) {
        const person = await aUser(app)
        if (role !== undefined) await grant(app, role, person.extId)
        const { status, errors } = await attempt(keeper, person.extId)
        assert.ok(status === 200 || status === 201, `${what}: ${status} ${JSON.stringify(errors)}`)
      }
    }
  })

  test('administers its own account, even one with further roles', async () => {
    const own = await holding('User Admin', { id: await aRole(app, ['View_Image']) })
    ok(await makeKey(own, own.extId), 201)
  })

  test('changes the fields of every account that give no access to it', async () => {
    const person = await aUser(app)
    await grant(app, 'Super Admin', person.extId)
    ok(await put(keeper, person.extId, { displayName: 'Another Name' }), 200)
    ok(await setState(keeper, person.extId, 'ACTIVE'), 200)
  })

  test('cannot reactivate an account that holds more: by change-state, by PUT, or by a PUT without the status', async () => {
    const person = await aUser(app, undefined, { status: 'INACTIVE' })
    await grant(app, 'Virtual Machine Admin', person.extId)
    assert.equal(verdict(await setState(keeper, person.extId, 'ACTIVE')), denied)
    assert.equal(verdict(await put(keeper, person.extId, { status: 'ACTIVE' })), denied)
    assert.equal(verdict(await put(keeper, person.extId, { status: undefined })), denied)
    assert.equal((await app.store.get(User, person.extId))?.status, 'INACTIVE')
  })

  test('cannot probe the password of a stronger account: a reused password gets the same refusal as any other', async () => {
    const person = await aUser(app)
    await grant(app, 'Virtual Machine Admin', person.extId)
    assert.equal(verdict(await reset(keeper, person.extId, goodPassword)), denied)
    assert.equal(verdict(await put(keeper, person.extId, { password: goodPassword })), denied)
  })

  test('cannot do by a batch what is refused as a single request', async () => {
    const submitter = await holding('User Admin', 'Platform User')
    const person = await aUser(app)
    await grant(app, 'Virtual Machine Admin', person.extId)
    const weak = await aUser(app)
    const submitted = await app.call('POST', '/platform/v4.3/operations/$actions/batch', {
      apiKey: submitter.apiKey,
      requestId: crypto.randomUUID(),
      body: {
        metadata: {
          action: 'ACTION',
          name: 'resets',
          uri: '/api/iam/v4.1.b2/authn/users/{extId}/$actions/reset-password',
        },
        payload: [person, weak].map(({ extId }) => ({
          data: { newPassword: 'Another.Horse8' },
          metadata: { path: [{ name: 'extId', value: extId }] },
        })),
      },
    })
    await app.task(submitted)
    const forced = async (extId: string) => (await app.store.get(User, extId))?.isForceResetPasswordEnabled
    assert.deepEqual([await forced(person.extId), await forced(weak.extId)], [false, true])
  })
})

test('a Platform Admin administers every account except those of Super Admins', async () => {
  const administrator = await holding('Platform Admin')
  for (const [role, expected] of [
    ['Central Admin', '201'],
    ['Super Admin', denied],
    ['Internal Super Admin', denied],
  ] as const) {
    const person = await aUser(app)
    await grant(app, role, person.extId)
    assert.equal(verdict(await makeKey(administrator, person.extId)), expected, role)
  }
})

test('the scope of a role counts: the same role on other entities, or on the owned entities of another user, is more than the caller holds', async () => {
  const role = { id: await aRole(app, ['View_Image']) }
  const caller = await holding('User Admin')
  const named = { image: { name: { anyof: ['a', 'b'] } } }
  await grant(app, role, caller.extId, named)
  const owned = { image: { owner_uuid: { eq: 'SELF_OWNED' } } }
  await grant(app, role, caller.extId, owned)
  const cases = [
    [named, '201'],
    [{ image: { name: { eq: 'a' } } }, '201'],
    [{ image: { name: { eq: 'c' } } }, denied],
    [everything, denied],
    [owned, denied],
    [{ image: { owner_uuid: { eq: caller.extId } } }, '201'],
  ] as const
  for (const [filter, expected] of cases) {
    const person = await aUser(app)
    await grant(app, role, person.extId, filter)
    assert.equal(verdict(await makeKey(caller, person.extId)), expected, JSON.stringify(filter))
  }
})

describe('creating a user to whom existing policies would give more than the caller holds is refused', () => {
  test('when a policy names its user name, in any case and of any type', async () => {
    const username = fresh('expected')
    await allow('Virtual Machine Admin', { user: { username: { eq: username } } })
    assert.equal(verdict(await create(keeper, { userType: 'SERVICE_ACCOUNT', username })), denied)
    const local = { userType: 'LOCAL', username: username.toUpperCase(), password: goodPassword }
    assert.equal(verdict(await create(keeper, local)), denied)
    assert.equal((await app.store.findWhere(User, { username })).length, 0)
    ok(await create(keeper, { userType: 'SERVICE_ACCOUNT', username: fresh('unexpected') }), 201)
    ok(await create(await holding('Platform Admin'), local), 201)
  })

  test('when a policy names its type or provider', async () => {
    const type = await allow('Virtual Machine Admin', { user: { user_type: { eq: 'SAML' } } })
    const directory = await aDirectory(app)
    await allow('Virtual Machine Admin', { user: { idp_uuid: { eq: directory.extId } } })
    const body = { userType: 'LDAP', username: fresh('ldap'), idpId: directory.extId }
    assert.equal(verdict(await create(keeper, body)), denied)
    ok(await create(keeper, { ...body, idpId: (await aDirectory(app)).extId }), 201)
    const path = `${policies}/${type}`
    ok(await app.call('DELETE', path, { ifMatch: await etagOf(app, path) }), 204)
  })

  test('when a policy for everybody does not exclude it', async () => {
    const path = `${policies}/${await allow('Virtual Machine Admin', { user: { uuid: { noteq: nobody } } })}`
    // The policy speaks of the caller as well, so it gives nothing that the caller does not hold.
    ok(await create(keeper, { userType: 'SERVICE_ACCOUNT', username: fresh('included') }), 201)
    ok(await app.call('DELETE', path, { ifMatch: await etagOf(app, path) }), 204)
    const other = `${policies}/${await allow('Virtual Machine Admin', { user: { uuid: { noteq: keeper.extId } } })}`
    assert.equal(verdict(await create(keeper, { userType: 'SERVICE_ACCOUNT', username: fresh('x') })), denied)
    ok(await app.call('DELETE', other, { ifMatch: await etagOf(app, other) }), 204)
  })
})

describe('groups of a directory', () => {
  let directory: TestDirectory
  let admins: string
  /** `boss` is in a group that is Super Admin. */
  beforeEach(async () => {
    directory = await aDirectory(app, { groupSearchType: 'RECURSIVE' })
    await putGroup(app, directory, 'admins', [personIn(directory, 'boss'), groupIn(directory, 'inner')])
    await putGroup(app, directory, 'inner', [personIn(directory, 'deep')])
    admins = await aGroup(app, directory, 'admins')
    await allow('Super Admin', toGroup(admins))
  })

  test('count for a key, a state change and a new account, even before the first sign-in', async () => {
    for (const caller of [keeper, await holding('Platform Admin')]) {
      const boss = await aDirectoryUser(app, directory, 'boss')
      assert.equal(verdict(await makeKey(caller, boss)), denied)
      assert.equal(verdict(await setState(caller, boss, 'INACTIVE')), denied)
      assert.equal(verdict(await put(caller, boss, { status: 'INACTIVE', idpId: directory.extId })), denied)
      assert.equal(
        verdict(
          await create(caller, { userType: 'LDAP', username: 'deep', idpId: directory.extId, status: 'INACTIVE' }),
        ),
        denied,
      )
      const deep = await aDirectoryUser(app, directory, 'deep')
      assert.equal(verdict(await makeKey(caller, deep)), denied)
      directory = await aDirectory(app, { groupSearchType: 'RECURSIVE' })
      await putGroup(app, directory, 'admins', [personIn(directory, 'boss'), personIn(directory, 'deep')])
      await allow('Super Admin', toGroup(await aGroup(app, directory, 'admins')))
    }
  })

  test('count equally before and after a sign-in, and when the directory has disabled the account', async () => {
    const boss = await aDirectoryUser(app, directory, 'boss')
    const name = `boss@${directory.domainName}:${adminPassword}`
    ok(await app.call('GET', users, { as: name, address: '198.51.100.7' }), 200)
    assert.equal(verdict(await makeKey(keeper, boss)), denied)
    // The key would have opened everything: that of a Super Admin does.
    const { apiKey } = ok(await makeKey(await holding('Super Admin'), boss), 201).data.keyDetails
    ok(await app.call('GET', '/control/v1/worlds', { apiKey }), 200)
    const account = { name: 'boss', distinguishedName: personIn(directory, 'boss'), isDisabled: true }
    await putUser(app, directory, account)
    assert.equal(verdict(await makeKey(keeper, boss)), denied)
  })

  test('without privileges let a User Admin create keys for their members', async () => {
    const extId = await aDirectoryUser(app, directory, 'ordinary')
    const { apiKey } = ok(await makeKey(keeper, extId), 201).data.keyDetails
    assert.equal((await app.call('GET', '/control/v1/worlds', { apiKey })).status, 403)
    ok(await setState(keeper, extId, 'INACTIVE'), 200)
    ok(await create(keeper, { userType: 'LDAP', username: fresh('other'), idpId: directory.extId }), 201)
  })

  for (const fault of ['down', 'slow', 'tls', 'wrongBind'] as const) {
    test(`are unknown while the directory is ${fault}, so that the change is refused`, async () => {
      const extId = await aDirectoryUser(app, directory, 'ordinary')
      await behave(app, directory, { fault })
      const refused = await makeKey(keeper, extId)
      assert.equal(verdict(refused), denied)
      assert.match(refused.errors[0]?.message ?? '', /its directory does not answer/)
      assert.equal(verdict(await setState(keeper, extId, 'INACTIVE')), denied)
      const body = { userType: 'LDAP', username: fresh('other'), idpId: directory.extId }
      assert.equal(verdict(await create(keeper, body)), denied)
      ok(await makeKey(await holding('Super Admin'), extId), 201)
      await behave(app, directory, {})
      ok(await makeKey(keeper, extId), 201)
    })
  }

  test('are not read from the directory when no policy names a group', async () => {
    const other = await aDirectory(app)
    const extId = await aDirectoryUser(app, other, 'unconcerned')
    await aGroup(app, other, 'idle')
    await behave(app, other, { fault: 'down' })
    ok(await makeKey(keeper, extId), 201)
    ok(await setState(keeper, extId, 'INACTIVE'), 200)
  })

  test('are read outside the transaction, so that other writes pass while a slow directory is waited for', async () => {
    const slow = await startApp({ config: { seed: 'empty', durations: 'natural' } })
    try {
      const robot = await aRobot(slow)
      await grant(slow, 'User Admin', robot.extId)
      /** Moves the clock until the work has ended: the answers of this directory take time. */
      const during = async <T>(work: Promise<T>): Promise<T> => {
        let isDone = false
        const end = (): void => void (isDone = true)
        work.then(end, end)
        while (!isDone) {
          await slow.clock.runToNextEvent()
          await new Promise((resolve) => setImmediate(resolve))
        }
        return work
      }
      const place = await during(aDirectory(slow))
      await allowIn(slow, await during(aGroup(slow, place, 'admins')))
      const extId = await during(aDirectoryUser(slow, place, 'someone'))
      await behave(slow, place, { fault: 'slow' })
      const key = slow.call('POST', keysOf(extId), { ...robot, body: { name: 'k', keyType: 'API_KEY' } })
      ok(await slow.call('POST', users, { body: { userType: 'SERVICE_ACCOUNT', username: fresh('beside') } }), 201)
      assert.equal(verdict(await during(key)), denied)
    } finally {
      await slow.close()
    }
  })

  async function allowIn(at: TestApp, group: string): Promise<void> {
    const body = {
      ...policyBody(systemRoleId('Super Admin'), nobody),
      identities: [{ identityFilter: { user_group: { uuid: { eq: group } } } }],
    }
    ok(await at.call('POST', policies, { body }), 201)
  }

  test('count with a policy that is created at the same time as the key: the next key is refused in any case', async () => {
    const other = await aDirectory(app)
    await putGroup(app, other, 'late', [personIn(other, 'early')])
    const late = await aGroup(app, other, 'late')
    const extId = await aDirectoryUser(app, other, 'early')
    const [, key] = await Promise.all([allow('Virtual Machine Admin', toGroup(late)), makeKey(keeper, extId)])
    assert.ok(['201', denied, '409 PLAT-10009'].includes(verdict(key)), verdict(key))
    assert.equal(verdict(await makeKey(keeper, extId)), denied)
  })

  test('cannot be created with a name that a policy names, unless the caller holds what the policy gives', async () => {
    const name = fresh('promised')
    await allow('Virtual Machine Admin', { user_group: { uuid: { anyof: [name, nobody] } } })
    const other = await aDirectory(app)
    const body = { groupType: 'LDAP', idpId: other.extId, distinguishedName: groupIn(other, name.toUpperCase()) }
    const make = (caller: Caller, fields: object = {}) =>
      app.call('POST', groups, { apiKey: caller.apiKey, body: { ...body, ...fields } })
    assert.equal(verdict(await make(keeper)), denied)
    await allow('Virtual Machine Admin', toGroup(`CN = staff, ${groupIn(other, 'x').replace('cn=x,', '')}`))
    assert.equal(verdict(await make(keeper, { distinguishedName: groupIn(other, 'Staff') })), denied)
    ok(await make(keeper, { distinguishedName: groupIn(other, 'plain') }), 201)
    ok(await make(await holding('Platform Admin')), 201)
  })

  test('are checked under any name when a policy matches members of any group', async () => {
    const path = `${policies}/${await allow('Virtual Machine Admin', { user_group: { '*': { eq: '*' } } })}`
    const make = (apiKey: string) => {
      const distinguishedName = groupIn(directory, fresh('any'))
      return app.call('POST', groups, {
        apiKey,
        body: { groupType: 'LDAP', idpId: directory.extId, distinguishedName },
      })
    }
    assert.equal(verdict(await make(keeper.apiKey)), denied)
    ok(await make((await holding('User Admin', 'Virtual Machine Admin')).apiKey), 201)
    ok(await app.call('DELETE', path, { ifMatch: await etagOf(app, path) }), 204)
  })

  test('cannot be deleted when a policy excludes their members and gives more than the caller holds', async () => {
    await putGroup(app, directory, 'guests', [personIn(directory, 'guest')])
    const guests = await aGroup(app, directory, 'guests')
    await allow('Virtual Machine Admin', { user: { username: { eq: 'guest' }, group: { noneof: [guests] } } })
    const path = `${groups}/${guests}`
    const remove = async ({ apiKey }: Caller) => app.call('DELETE', path, { apiKey, ifMatch: await etagOf(app, path) })
    assert.equal(verdict(await remove(keeper)), denied)
    ok(await remove(await holding('Platform Admin')), 204)
  })
})

test('repeating a request id checks a refused request again and replays a permitted one', async () => {
  const person = await aUser(app)
  const role = await grant(app, 'Virtual Machine Admin', person.extId)
  const requestId = crypto.randomUUID()
  const body = { name: fresh('key'), keyType: 'API_KEY' }
  const make = () => app.call('POST', keysOf(person.extId), { apiKey: keeper.apiKey, body, requestId })
  assert.equal(verdict(await make()), denied)
  assert.equal(verdict(await make()), denied)
  const path = `${policies}/${role}`
  ok(await app.call('DELETE', path, { ifMatch: await etagOf(app, path) }), 204)
  const made = ok(await make(), 201)
  assert.notEqual(made.replayed, true)
  assert.equal(ok(await make(), 201).replayed, true)
})
