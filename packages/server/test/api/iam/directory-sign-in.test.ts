/** Sign-in by a directory, over the simulated one. Source: behaviour iam.md 1, 4, 13; conventions 14. */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { User } from '@hyperplane/contract/iam/user'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { AuditRecord } from '../../../src/core/records.ts'
import { realClock } from '../../../src/core/time/clock.ts'
import { systemRoleId } from '../../../src/domains/iam/catalogue/system-roles.ts'
import { adminPassword, startApp, type TestApp } from '../../support/start-app.ts'
import {
  aDirectory,
  aDirectoryUser,
  aGroup,
  behave,
  directories,
  directoryBody,
  groupIn,
  groups,
  personIn,
  putGroup,
  putUser,
  type TestDirectory,
} from './directories.ts'
import { aUser, categories, etagOf, everything, fresh, goodPassword, ok, policies, users } from './people.ts'

const minute = 60_000

let app: TestApp
before(async () => void (app = await startApp()))
after(() => app.close())

let network = 0
/** An address from which nobody came yet. */
const anAddress = (): string => `203.0.113.${++network}`
const as = (name: string, password = adminPassword, address = anAddress()) => ({ as: `${name}:${password}`, address })
/** Whether the name signs in, and whether it may read categories then. */
const visit = async (name: string, password = adminPassword, address = anAddress()): Promise<number> =>
  (await app.call('GET', categories, as(name, password, address))).status

async function letGroupRead(group: string): Promise<void> {
  const body = {
    displayName: fresh('policy'),
    role: systemRoleId('Category Viewer'),
    identities: [{ identityFilter: { user: { group: { eq: group } } } }],
    entities: [{ entityFilter: everything }],
  }
  ok(await app.call('POST', policies, { body }), 201)
}

/** A directory with `name` in the group `readers`, which may read categories. */
async function withReader(name: string, fields: object = {}): Promise<TestDirectory> {
  const directory = await aDirectory(app, fields)
  await putGroup(app, directory, 'readers', [personIn(directory, name)])
  await letGroupRead(await aGroup(app, directory, 'readers'))
  return directory
}

const usersOf = ({ extId }: TestDirectory) => app.store.findWhere(User, { idpId: extId })
const causes = async (target: string): Promise<string[]> =>
  (await app.store.find(AuditRecord)).flatMap((record) =>
    record.operation === 'iam.signIn' && record.target === target ? [record.decision ?? ''] : [],
  )

describe('forms of a directory user name', () => {
  for (const name of ['alice', 'alice@example.com', 'EXAMPLE\\alice', 'example.com\\Alice', 'ALICE@EXAMPLE.COM']) {
    test(`${name} signs in alice of the demo directory, who sees the VMs of her group`, async () => {
      const shown = ok(await app.call('GET', '/vmm/v4.2/ahv/config/vms', as(name)), 200)
      const dev = seedId('category/Environment/Dev')
      assert.ok(shown.data.length > 0)
      for (const vm of shown.data)
        assert.ok(
          vm.categories.some((one: any) => one.extId === dev),
          vm.name,
        )
    })
  }

  test('a user name with an unknown domain, or a directory user name without its domain, is refused', async () => {
    const directory = await withReader('nick')
    assert.equal(await visit('nick@elsewhere.test'), 401)
    assert.equal(await visit('ELSEWHERE\\nick'), 401)
    assert.equal(await visit('nick'), 401)
    assert.equal(await visit(`nick@${directory.domainName}`), 200)
    assert.equal(await visit('nick'), 200)
  })

  test('the first label of a domain suffices in DOMAIN\\user, but not in user@domain', async () => {
    assert.equal(await visit('EXAMPLE\\alice'), 403)
    assert.equal(await visit('alice@example'), 401)
  })

  test('local users are tried first, and the directory when the local sign-in is refused', async () => {
    const username = fresh('both')
    const directory = await withReader(username)
    await aDirectoryUser(app, directory, username)
    const local = await aUser(app, username)
    ok(await app.call('GET', `${users}/${local.extId}`, as(username, goodPassword)), 200)
    assert.equal(await visit(username, adminPassword), 200)
    assert.equal(await visit(username, 'neither'), 401)
  })

  test('a user that was created with the long form of its name signs in with the short form', async () => {
    const name = fresh('long')
    const directory = await withReader(name)
    const extId = await aDirectoryUser(app, directory, `${name.toUpperCase()}@${directory.domainName}`)
    ok(await app.call('GET', `${users}/${extId}`, as(name)), 200)
  })
})

describe('the first sign-in of a directory user', () => {
  test('creates the user when a policy names one of its groups', async () => {
    const directory = await withReader('Wanda')
    await putUser(app, directory, {
      name: 'Wanda',
      distinguishedName: personIn(directory, 'Wanda'),
      displayName: 'Wanda (W) Who',
    })
    assert.equal(await visit(`wanda@${directory.domainName}`), 200)
    const [made] = await usersOf(directory)
    assert.deepEqual(
      [made?.username, made?.userType, made?.creationType, made?.displayName, made?.status],
      ['Wanda', 'LDAP', 'SERVICEDEFINED', 'Wanda  W  Who', 'ACTIVE'],
    )
  })

  test('creates one user when ten run at once', async () => {
    const directory = await withReader('many')
    const all = await Promise.all(Array.from({ length: 10 }, () => visit(`many@${directory.domainName}`)))
    assert.deepEqual(all, Array(10).fill(200))
    assert.equal((await usersOf(directory)).length, 1)
  })

  test('creates no user for a person in no group, or in one that no policy names', async () => {
    const directory = await aDirectory(app)
    await putGroup(app, directory, 'idle', [personIn(directory, 'ida')])
    await aGroup(app, directory, 'idle')
    assert.equal(await visit(`ida@${directory.domainName}`), 401)
    assert.equal(await visit(`otto@${directory.domainName}`), 401)
    assert.deepEqual(await usersOf(directory), [])
  })

  test('creates no user when the password is wrong', async () => {
    const directory = await withReader('wrong')
    assert.equal(await visit(`wrong@${directory.domainName}`, 'not it'), 401)
    assert.deepEqual(await usersOf(directory), [])
  })
})

test('a user who leaves a group in the directory keeps its permissions for at most five minutes', async () => {
  const directory = await withReader('leaver')
  const name = `leaver@${directory.domainName}`
  await aDirectoryUser(app, directory, 'leaver')
  assert.equal(await visit(name), 200)
  await putGroup(app, directory, 'readers', [])
  assert.equal(await visit(name), 200)
  // Signed in again in the last minute: that sign-in ends with the five minutes as well.
  await app.clock.advance(4.5 * minute)
  assert.equal(await visit(name), 200)
  await app.clock.advance(0.5 * minute)
  assert.equal(await visit(name), 403)
})

test('while the world clock is stopped, cached groups and credentials do not expire', async () => {
  let passed = 0
  const standing = await startApp({ realClock: { ...realClock, now: () => realClock.now() + passed } })
  try {
    const directory = await aDirectory(standing)
    const extId = await aDirectoryUser(standing, directory, 'steady')
    const own = () => standing.call('GET', `${users}/${extId}`, as('steady'))
    ok(await own(), 200)
    await putUser(standing, directory, {
      name: 'steady',
      distinguishedName: personIn(directory, 'steady'),
      isDisabled: true,
    })
    passed = 60 * minute
    ok(await own(), 200)
    await standing.clock.advance(minute)
    assert.equal((await own()).status, 401)
  } finally {
    await standing.close()
  }
})

test('nested groups count when the directory service is set to follow them, and cycles end', async () => {
  for (const [groupSearchType, expected] of [
    ['NON_RECURSIVE', 401],
    ['RECURSIVE', 200],
  ] as const) {
    const directory = await withReader('nobody-else', { groupSearchType })
    await putGroup(app, directory, 'inner', [personIn(directory, 'deep'), groupIn(directory, 'readers')])
    await putGroup(app, directory, 'readers', [groupIn(directory, 'inner')])
    assert.equal(await visit(`deep@${directory.domainName}`), expected, groupSearchType)
  }
})

test('a SAML group with the name of a directory group has no members from the directory', async () => {
  const directory = await aDirectory(app)
  await putGroup(app, directory, 'admins', [personIn(directory, 'sly')])
  const body = { groupType: 'SAML', idpId: directory.extId, name: groupIn(directory, 'admins') }
  await letGroupRead(ok(await app.call('POST', groups, { body }), 201).data.extId)
  await aDirectoryUser(app, directory, 'sly')
  assert.equal(await visit(`sly@${directory.domainName}`), 403)
})

test('with a white list only members of its groups sign in, and existing users outside them do not', async () => {
  const directory = await withReader('listed')
  await aDirectoryUser(app, directory, 'unlisted')
  const path = `${directories}/${directory.extId}`
  const body = {
    ...directoryBody(directory.host.replace('.simulated', '')),
    whiteListedGroups: [groupIn(directory, 'READERS').toUpperCase()],
  }
  assert.equal(await visit('unlisted'), 403)
  ok(await app.call('PUT', path, { body, ifMatch: await etagOf(app, path) }), 200)
  assert.equal(await visit('unlisted'), 401)
  assert.equal(await visit(`listed@${directory.domainName}`), 200)
})

test('a white list may use common names of groups, and an unknown group admits nobody', async () => {
  const directory = await withReader('plain')
  const path = `${directories}/${directory.extId}`
  const admitOnly = async (name: string): Promise<number> => {
    const body = { ...directoryBody(directory.host.replace('.simulated', '')), whiteListedGroups: [name] }
    ok(await app.call('PUT', path, { body, ifMatch: await etagOf(app, path) }), 200)
    return visit(`plain@${directory.domainName}`)
  }
  assert.equal(await admitOnly('Readers'), 200)
  assert.equal(await admitOnly('Reader'), 401)
  assert.equal(await admitOnly('nowhere'), 401)
})

test('an account that is disabled in the directory or inactive here cannot sign in', async () => {
  const directory = await withReader('closed')
  const extId = await aDirectoryUser(app, directory, 'closed')
  assert.equal(await visit('closed'), 200)
  const setStatus = (status: string) =>
    app.call('POST', `${users}/${extId}/$actions/change-state`, { body: { status } })
  ok(await setStatus('INACTIVE'), 200)
  assert.equal(await visit('closed'), 401)
  ok(await setStatus('ACTIVE'), 200)
  await putUser(app, directory, { name: 'closed', distinguishedName: personIn(directory, 'closed'), isDisabled: true })
  assert.equal(await visit('closed'), 401)
})

test('an empty password is 401 without a query to the directory', async () => {
  const name = fresh('empty')
  const directory = await withReader(name)
  await aDirectoryUser(app, directory, name)
  // Whoever asks it leaves a trace: it does not answer.
  await behave(app, directory, { fault: 'down' })
  assert.equal(await visit(name, ''), 401)
  assert.deepEqual(await causes(name), [])
  assert.equal(await visit(name, 'x'), 401)
  assert.match((await causes(name)).join(), /time-out/)
})

describe('a directory that does not answer', () => {
  for (const fault of ['down', 'slow', 'tls', 'wrongBind'] as const) {
    test(`(${fault}) makes a sign-in 401 with the cause in the audit trail, and locks nobody out`, async () => {
      const name = fresh(fault.toLowerCase())
      const directory = await withReader(name)
      await aDirectoryUser(app, directory, name)
      await behave(app, directory, { fault })
      const address = anAddress()
      for (let attempt = 0; attempt < 6; attempt++) assert.equal(await visit(name, `wrong ${attempt}`, address), 401)
      assert.equal((await causes(name)).length, 6)
      await behave(app, directory, {})
      assert.equal(await visit(name, adminPassword, address), 200)
    })
  }

  test('does not disable the lock-out of a local user of the same name', async () => {
    const name = fresh('both')
    const directory = await withReader(name)
    const username = `${name}@${directory.domainName}`
    ok(await app.call('POST', users, { body: { userType: 'LOCAL', username, password: goodPassword } }), 201)
    await behave(app, directory, { fault: 'down' })
    const address = anAddress()
    for (let attempt = 0; attempt < 5; attempt++) assert.equal(await visit(username, `wrong ${attempt}`, address), 401)
    assert.equal(await visit(username, goodPassword, address), 401)
  })

  test('does not affect users who signed in within the last minute', async () => {
    const name = fresh('known')
    const directory = await withReader(name)
    await aDirectoryUser(app, directory, name)
    assert.equal(await visit(name), 200)
    await behave(app, directory, { fault: 'down' })
    await app.clock.advance(0.9 * minute)
    assert.equal(await visit(name), 200)
    await app.clock.advance(0.2 * minute)
    assert.equal(await visit(name), 401)
  })

  test('does not delay local users while forty sign-ins wait for it', async () => {
    const slow = await startApp({ config: { durations: 'natural' } })
    const [directory] = (await slow.call('GET', `${directories}?$filter=name eq 'corp-ad'`)).data
    await slow.world.collection('directory.hosts').put('ad.simulated', { fault: 'slow' })
    const address = anAddress()
    const waiting = Array.from({ length: 40 }, (_, index) =>
      slow.call('GET', categories, { as: `person-${index}@${directory.domainName}:${adminPassword}`, address }),
    )
    const statuses = Promise.all(waiting.map(async (one) => (await one).status))
    ok(await slow.call('GET', users, { address }), 200)
    let ended = false
    void statuses.then(() => (ended = true))
    while (!ended) {
      await slow.clock.runToNextEvent()
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.deepEqual(await statuses, Array(40).fill(401))
    ok(await slow.call('GET', users, { address }), 200)
    await slow.close()
  })
})

test('five wrong passwords lock the user name in every form of writing it', async () => {
  const directory = await withReader('locked')
  await aDirectoryUser(app, directory, 'locked')
  const address = anAddress()
  const short = directory.domainName.split('.')[0]?.toUpperCase()
  for (let attempt = 0; attempt < 5; attempt++)
    assert.equal(await visit(`${short}\\locked`, `wrong ${attempt}`, address), 401)
  for (const name of [`${short}\\locked`, `LOCKED@${directory.domainName}`])
    assert.equal(await visit(name, adminPassword, address), 401, name)
  assert.equal(await visit(`locked@${directory.domainName}`, adminPassword, anAddress()), 200)
})

test('creating or deleting a user group affects the next request of signed-in members', async () => {
  const directory = await aDirectory(app)
  const name = fresh('joiner')
  await aDirectoryUser(app, directory, name)
  await putGroup(app, directory, 'late', [personIn(directory, name)])
  assert.equal(await visit(name), 403)
  const group = await aGroup(app, directory, 'late')
  await letGroupRead(group)
  assert.equal(await visit(name), 200)
  const path = `${groups}/${group}`
  ok(await app.call('DELETE', path, { ifMatch: await etagOf(app, path) }), 204)
  assert.equal(await visit(name), 403)
})

test('an API key of a directory user has the groups of that user, and stops working when the account is disabled', async () => {
  const name = fresh('keyed')
  const directory = await withReader(name)
  const extId = await aDirectoryUser(app, directory, name)
  const body = { name: 'k', keyType: 'API_KEY' }
  const { apiKey } = ok(await app.call('POST', `${users}/${extId}/keys`, { body }), 201).data.keyDetails
  const use = async () => (await app.call('GET', categories, { apiKey, address: anAddress() })).status
  assert.equal(await use(), 200)
  await putUser(app, directory, { name, distinguishedName: personIn(directory, name), isDisabled: true })
  await app.clock.advance(5 * minute)
  assert.equal(await use(), 401)
  await behave(app, directory, { fault: 'down' })
  assert.equal(await use(), 403)
})

test('createUser takes the display name from the directory and refuses an unknown provider', async () => {
  const directory = await aDirectory(app)
  await putUser(app, directory, {
    name: 'shown',
    distinguishedName: personIn(directory, 'shown'),
    displayName: 'Shown Elsewhere',
  })
  const body = { userType: 'LDAP', username: 'shown', idpId: directory.extId }
  assert.equal(ok(await app.call('POST', users, { body }), 201).data.displayName, 'Shown Elsewhere')
  const nobody = { ...body, username: 'x', idpId: '11111111-2222-4333-8444-555555555555' }
  assert.equal((await app.call('POST', users, { body: nobody })).errors[0]?.code, 'IAM-20004')
  assert.equal(
    (await app.call('POST', users, { body: { ...nobody, userType: 'SAML', idpId: directory.extId } })).errors[0]?.code,
    'IAM-20005',
  )
})
