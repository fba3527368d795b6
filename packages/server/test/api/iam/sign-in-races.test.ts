/** Sign-ins that are under way while what they rely on changes. Source: behaviour conventions 14; iam.md 1, 2, 4, 5, 13. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { User } from '@hyperplane/contract/iam/user'
import { createPasswords } from '../../../src/core/access/passwords.ts'
import { systemRoleId } from '../../../src/domains/iam/catalogue/system-roles.ts'
import { issue, providerForm, publish, shown } from '../../support/authorities.ts'
import { adminPassword, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import {
  aDirectory,
  aDirectoryUser,
  aGroup,
  directories,
  directoryBody,
  groupIn,
  groups,
  personIn,
  putGroup,
  type TestDirectory,
  toGroup,
} from './directories.ts'
import {
  aUser,
  categories,
  etagOf,
  everything,
  fresh,
  goodPassword,
  grant,
  ok,
  type Person,
  policies,
  users,
} from './people.ts'

/** Calls that wait until the test lets them go on; each takes one hold. */
class Holds {
  readonly #holds: { readonly about: string; reached(): void; readonly released: Promise<void> }[] = []

  /** Holds the next call about `about`. */
  next(about: string): { readonly reached: Promise<void>; release(): void } {
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    this.#holds.push({ about, reached: reached.resolve, released: released.promise })
    return { reached: reached.promise, release: released.resolve }
  }

  async pass(about: string): Promise<void> {
    const at = this.#holds.findIndex((hold) => hold.about === about)
    const [hold] = at < 0 ? [] : this.#holds.splice(at, 1)
    hold?.reached()
    await hold?.released
  }
}

const holds = new Holds()
const cheap = createPasswords({ memory: 256, passes: 1, parallelism: 1 })
/** A hash is ready when the test says so. */
const passwords: typeof cheap = {
  hash: cheap.hash,
  async verify(password, stored) {
    await holds.pass(password)
    return cheap.verify(password, stored)
  },
  async verifyNone(password) {
    await holds.pass(password)
    return cheap.verifyNone(password)
  },
}

let app: TestApp
before(async () => {
  app = await startApp({ passwords, config: { control: 'off' } })
  const { directory, web } = app.drivers
  const { bind, groupsOf } = directory
  directory.bind = async (server, account) => {
    await holds.pass(`bind ${account.username}`)
    return bind(server, account)
  }
  directory.groupsOf = async (server, user, recursive) => {
    await holds.pass(`groups ${user.name}`)
    return groupsOf(server, user, recursive)
  }
  const { fetch } = web
  web.fetch = async (question) => {
    await holds.pass(`fetch ${question.url}`)
    return fetch(question)
  }
})
after(() => app.close())

let network = 0
const anAddress = (): string => `203.0.113.${++network}`

/** Signs in while `change` is made, and with the same credential once more after its answer. @returns both statuses */
async function during(
  about: string,
  signIn: () => Promise<CallResult>,
  change: () => Promise<unknown>,
): Promise<readonly [early: number, late: number]> {
  const hold = holds.next(about)
  const early = signIn()
  await hold.reached
  await change()
  const late = signIn()
  hold.release()
  return [(await early).status, (await late).status]
}

describe('while a password is being hashed, the service', () => {
  const put = async ({ extId, username }: Person, fields: object): Promise<void> => {
    const path = `${users}/${extId}`
    const body = { userType: 'LOCAL', username, ...fields }
    ok(await app.call('PUT', path, { body, ifMatch: await etagOf(app, path) }), 200)
  }
  const act = async ({ extId }: Person, action: string, body: object, as?: string): Promise<void> => {
    const options = as === undefined ? {} : { as, address: anAddress() }
    ok(await app.call('POST', `${users}/${extId}/$actions/${action}`, { body, ...options }), 200)
  }
  const changes: Record<string, (person: Person, password: string) => Promise<void>> = {
    'change-state INACTIVE': (person) => act(person, 'change-state', { status: 'INACTIVE' }),
    'a PUT with the status INACTIVE': (person) => put(person, { status: 'INACTIVE' }),
    'reset-password': (person) => act(person, 'reset-password', { newPassword: 'Another.Passw0rd1' }),
    'a PUT with another password': (person) => put(person, { password: 'Another.Passw0rd1' }),
    'change-password': async ({ username, as }, oldPassword) => {
      const body = { username, oldPassword, newPassword: 'Another.Passw0rd1' }
      ok(await app.call('POST', `${users}/$actions/change-password`, { body, as, address: anAddress() }), 200)
    },
  }
  const person = async (): Promise<[Person, string, () => Promise<CallResult>]> => {
    const password = `${goodPassword}.${fresh('own')}`
    const username = fresh('racer')
    const made = { ...(await aUser(app, username, { password })), as: `${username}:${password}` }
    const address = anAddress()
    return [made, password, () => app.call('GET', `${users}/${made.extId}`, { as: made.as, address })]
  }

  for (const [name, change] of Object.entries(changes))
    test(`refuses the password after ${name}, to the waiting request and to later ones`, async () => {
      const [one, password, signIn] = await person()
      assert.deepEqual(await during(password, signIn, () => change(one, password)), [401, 401])
    })

  test('signs the user in when another field of the account changes, or another account is deactivated', async () => {
    const [one, password, signIn] = await person()
    const [other] = await person()
    const change = async (): Promise<void> => {
      await put(one, { displayName: 'Somebody Else' })
      await act(other, 'change-state', { status: 'INACTIVE' })
    }
    assert.deepEqual(await during(password, signIn, change), [200, 200])
  })

  test('signs the user in when the account is reactivated before the hash is ready', async () => {
    const [one, password, signIn] = await person()
    const change = async (): Promise<void> => {
      for (const status of ['INACTIVE', 'ACTIVE']) await act(one, 'change-state', { status })
    }
    assert.deepEqual(await during(password, signIn, change), [200, 200])
  })

  test('compares with the password stored at the end: the new password of a reset signs in, and must be changed', async () => {
    const [one] = await person()
    const newPassword = `Another.${fresh('Passw0rd')}`
    const address = anAddress()
    const signIn = () => app.call('GET', `${users}/${one.extId}`, { as: `${one.username}:${newPassword}`, address })
    // The first request was wrong when it was judged; the one after the reset does not share its refusal.
    assert.deepEqual(await during(newPassword, signIn, () => act(one, 'reset-password', { newPassword })), [401, 403])
  })

  test('signs in a user that was created during the hash, with the next request', async () => {
    const username = fresh('newcomer')
    const password = `${goodPassword}.${fresh('own')}`
    const address = anAddress()
    const signIn = () => app.call('GET', categories, { as: `${username}:${password}`, address })
    const statuses = await during(password, signIn, () => aUser(app, username, { password }))
    assert.deepEqual(statuses, [401, 403])
  })

  test('refuses the sign-in at the control interface when the default world is reset', async () => {
    const controlled = await startApp({ passwords })
    try {
      const newPassword = `Another.${fresh('Passw0rd')}`
      const body = { username: 'admin', oldPassword: adminPassword, newPassword }
      ok(await controlled.call('POST', `${users}/$actions/change-password`, { body }), 200)
      const as = `admin:${newPassword}`
      const reset = '/control/v1/worlds/default/$actions/reset'
      ok(await controlled.call('GET', '/control/v1/worlds', { as, address: '198.18.0.2' }), 200)
      const hold = holds.next(newPassword)
      // The same password by another spelling of the name: that credential is not remembered.
      const early = controlled.call('GET', '/control/v1/worlds', { as: as.toUpperCase().slice(0, 5) + as.slice(5) })
      await hold.reached
      ok(await controlled.call('POST', reset, { as, address: '198.18.0.2' }), 200)
      hold.release()
      assert.equal((await early).status, 401)
    } finally {
      await controlled.close()
    }
  })

  test('refuses a change-password with the old password when the password is reset', async () => {
    const [one, password] = await person()
    ok(await app.call('GET', `${users}/${one.extId}`, { as: one.as, address: '198.18.0.1' }), 200)
    const body = { username: one.username, oldPassword: password, newPassword: 'Stolen.Passw0rd1' }
    const hold = holds.next(password)
    const early = app.call('POST', `${users}/$actions/change-password`, { body, as: one.as, address: '198.18.0.1' })
    await hold.reached
    await act(one, 'reset-password', { newPassword: 'Another.Passw0rd1' })
    hold.release()
    assert.equal((await early).status, 409)
  })
})

describe('while a directory is being queried, the service', () => {
  async function reader(): Promise<{ directory: TestDirectory; name: string; extId: string; group: string }> {
    const directory = await aDirectory(app)
    const name = fresh('reader')
    await putGroup(app, directory, 'readers', [personIn(directory, name)])
    const group = await aGroup(app, directory, 'readers')
    await letRead(group)
    return { directory, name, group, extId: await aDirectoryUser(app, directory, name) }
  }
  async function letRead(group: string): Promise<void> {
    const body = {
      displayName: fresh('policy'),
      role: systemRoleId('Category Viewer'),
      identities: [{ identityFilter: toGroup(group) }],
      entities: [{ entityFilter: everything }],
    }
    ok(await app.call('POST', policies, { body }), 201)
  }
  const bySecret = (name: string): (() => Promise<CallResult>) => {
    const address = anAddress()
    return () => app.call('GET', categories, { as: `${name}:${adminPassword}`, address })
  }
  const deactivate = (extId: string) => async () =>
    ok(await app.call('POST', `${users}/${extId}/$actions/change-state`, { body: { status: 'INACTIVE' } }), 200)
  const put =
    ({ extId, host }: TestDirectory, fields: object) =>
    async () => {
      const path = `${directories}/${extId}`
      const body = { ...directoryBody(host.replace('.simulated', '')), ...fields }
      ok(await app.call('PUT', path, { body, ifMatch: await etagOf(app, path) }), 200)
    }
  const remove = async (path: string): Promise<void> =>
    void ok(await app.call('DELETE', path, { ifMatch: await etagOf(app, path) }), 204)

  for (const step of ['bind', 'groups'] as const) {
    const about = ({ directory, name }: Awaited<ReturnType<typeof reader>>): string =>
      step === 'bind' ? `bind ${personIn(directory, name)}` : `groups ${name}`

    test(`refuses a user who is deactivated (${step})`, async () => {
      const one = await reader()
      assert.deepEqual(await during(about(one), bySecret(one.name), deactivate(one.extId)), [401, 401])
    })

    test(`refuses a user whom a new white list leaves out (${step})`, async () => {
      const one = await reader()
      const others = { whiteListedGroups: [groupIn(one.directory, 'others')] }
      assert.deepEqual(await during(about(one), bySecret(one.name), put(one.directory, others)), [401, 401])
    })

    test(`gives no permission of a user group that is deleted (${step})`, async () => {
      const one = await reader()
      const change = () => remove(`${groups}/${one.group}`)
      assert.deepEqual(await during(about(one), bySecret(one.name), change), [403, 403])
    })

    test(`creates no user when the directory service is deleted or its white list changes (${step})`, async () => {
      for (const isDeleted of [true, false]) {
        const directory = await aDirectory(app)
        const name = fresh('first')
        await putGroup(app, directory, 'readers', [personIn(directory, name)])
        const group = await aGroup(app, directory, 'readers')
        await letRead(group)
        const change = async (): Promise<void> => {
          if (!isDeleted) return put(directory, { whiteListedGroups: [groupIn(directory, 'others')] })()
          await remove(`${groups}/${group}`)
          await remove(`${directories}/${directory.extId}`)
        }
        const held = step === 'bind' ? `bind ${personIn(directory, name)}` : `groups ${name}`
        assert.deepEqual(await during(held, bySecret(`${name}@${directory.domainName}`), change), [401, 401])
        assert.deepEqual(await app.store.findWhere(User, { idpId: directory.extId }), [])
      }
    })
  }

  test('refuses an API key that is revoked, or whose user is deactivated', async () => {
    for (const isRevoked of [true, false]) {
      const { name, extId } = await reader()
      const body = { name: 'k', keyType: 'API_KEY' }
      const key = ok(await app.call('POST', `${users}/${extId}/keys`, { body }), 201).data
      const { apiKey } = key.keyDetails
      const revoke = async () => ok(await app.call('POST', `${users}/${extId}/keys/${key.extId}/$actions/revoke`), 200)
      const signIn = () => app.call('GET', categories, { apiKey, address: anAddress() })
      assert.deepEqual(await during(`groups ${name}`, signIn, isRevoked ? revoke : deactivate(extId)), [401, 401])
    }
  })
})

describe('while a certificate is being verified, the service', () => {
  const host = 'races.simulated'
  const responder = `http://${host}/ocsp`

  for (const subject of ['provider', 'user'] as const)
    test(`refuses the certificate when the ${subject} is removed or deactivated while the OCSP responder is queried`, async () => {
      const root = await issue({ name: `CN=Root ${fresh('root')}`, isAuthority: true })
      await publish(app, host, root)
      const fields = { name: fresh('clients'), clientCaChain: root.pem, isOcspEnabled: true, ocspResponder: responder }
      const path = '/iam/v4.1.b2/authn/cert-auth-providers'
      const { data } = ok(await app.call('POST', path, { form: providerForm(fields) }), 201)
      const person = await aUser(app)
      await grant(app, 'Category Viewer', person.extId)
      const certificate = shown(await issue({ name: `CN=${person.username}`, from: root }))
      const signIn = () => app.call('GET', categories, { as: null, certificate, address: anAddress() })
      ok(await signIn(), 200)
      const change = async (): Promise<void> => {
        if (subject === 'user')
          ok(
            await app.call('POST', `${users}/${person.extId}/$actions/change-state`, { body: { status: 'INACTIVE' } }),
            200,
          )
        else {
          const own = `${path}/${data.extId}`
          ok(await app.call('DELETE', own, { ifMatch: await etagOf(app, own) }), 204)
        }
      }
      assert.deepEqual(await during(`fetch ${responder}`, signIn, change), [401, 401])
    })
})
