/** Directory services: what is accepted, what is never shown, search and connection status. Source: behaviour iam.md 4, 13. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { digestOf } from '../../../src/drivers/simulated/place-doors.ts'
import { http } from '../../support/http.ts'
import { adminPassword, startApp, type TestApp } from '../../support/start-app.ts'
import {
  aDirectory,
  aGroup,
  behave,
  directories,
  directoryBody,
  groups,
  openLdap,
  personIn,
  putGroup,
  putUser,
} from './directories.ts'
import { aUser, etagOf, fresh, grant, ok, users, verdict } from './people.ts'

let app: TestApp
let url: string
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
})
after(() => app.close())

const create = (body: object) => app.call('POST', directories, { body })
const faultsOf = (result: { errors: readonly { argumentsMap?: Record<string, string> }[] }) =>
  result.errors.map((error) => error.argumentsMap?.['attributePath']).sort()

/** The header that shows which names the request speaks. */
const marks = { spec: 'SVC-Request-Id', public: 'NTNX-Request-Id' } as const

for (const profile of ['spec', 'public'] as const) {
  test(`createDirectoryService answers 201; the password is in no answer, in the ${profile} profile`, async () => {
    const call = (path: string, body?: object) =>
      http(url, `/api${path}`, {
        headers: { [marks[profile]]: randomUUID() },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      })
    const created = await call(directories, directoryBody(fresh('shown')))
    assert.equal(created.status, 201, created.text)
    const { extId, groupSearchType, serviceAccount } = created.json.data
    assert.equal(groupSearchType, 'NON_RECURSIVE')
    assert.equal(serviceAccount.username, 'svc')
    const select = `${directories}?$select=serviceAccount/username,name`
    const reads = await Promise.all([`${directories}/${extId}`, directories, select].map((path) => call(path)))
    for (const { status, text } of [created, ...reads]) {
      assert.ok(status < 300, text)
      const unmasked = profile === 'public' ? text.replaceAll('"password":"********"', '') : text
      assert.ok(!text.includes(adminPassword) && !text.includes('$sealed') && !unmasked.includes('"password"'), text)
    }
  })
}

test('a name or domain of another directory service is refused, in any case', async () => {
  const body = directoryBody(fresh('twice'))
  ok(await create(body), 201)
  const sameName = await create({ ...directoryBody(fresh('other')), name: body.name.toUpperCase() })
  assert.equal(verdict(sameName), '409 IAM-20013')
  assert.match(
    sameName.errors[0]?.message ?? '',
    new RegExp(`Failed to create directory service as directory service with name ${body.name.toUpperCase()} already`),
  )
  const sameDomain = await create({ ...directoryBody(fresh('other')), domainName: body.domainName.toUpperCase() })
  assert.equal(verdict(sameDomain), '409 IAM-20013')
})

test('of twenty concurrent creations with one name, one succeeds', async () => {
  const name = fresh('race')
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, index) => create({ ...directoryBody(name), domainName: `${name}-${index}.test` })),
  )
  assert.deepEqual(results.map(verdict).sort(), ['201', ...Array(19).fill('409 IAM-20013')])
})

test('every fault of a body is reported with its path', async () => {
  const result = await create({
    name: fresh('faults'),
    url: 'http://ad.simulated',
    secondaryUrls: ['ldap://ad.simulated/dc=example', 'ldap://user@ad.simulated', 'ldap://ad.simulated:389'],
    domainName: 'faults.test',
    directoryType: 'OPEN_LDAP',
    serviceAccount: { username: 'svc' },
    whiteListedGroups: ['cn=good,dc=test', 'plain name', 'bad='],
  })
  assert.equal(result.status, 400)
  assert.deepEqual(faultsOf(result), [
    'openLdapConfiguration',
    'secondaryUrls[0]',
    'secondaryUrls[1]',
    'serviceAccount/password',
    'url',
    'whiteListedGroups[2]',
  ])
})

test('an Active Directory refuses an OpenLDAP configuration, and an OpenLDAP needs a complete one', async () => {
  const layout = openLdap('dc=layout,dc=test')
  const active = await create(directoryBody(fresh('ad'), { openLdapConfiguration: layout }))
  assert.deepEqual([active.status, faultsOf(active)], [400, ['openLdapConfiguration']])
  const partial = { userConfiguration: layout.userConfiguration }
  const open = { directoryType: 'OPEN_LDAP', openLdapConfiguration: partial }
  assert.equal((await create(directoryBody(fresh('open'), open))).status, 400)
  ok(await create(directoryBody(fresh('open'), { ...open, openLdapConfiguration: layout })), 201)
})

describe('an address inside this machine is refused', () => {
  const refused = [
    'ldap://127.0.0.1',
    'ldap://127.0.0.1:389',
    'ldaps://[::1]',
    'ldap://localhost',
    'ldap://169.254.169.254',
    'ldap://[::ffff:127.0.0.1]',
  ]
  for (const address of refused) {
    test(`${address}, as primary and as secondary server`, async () => {
      const first = await create(directoryBody(fresh('guard'), { url: address }))
      assert.deepEqual([first.status, faultsOf(first)], [400, ['url']])
      const second = await create(directoryBody(fresh('guard'), { secondaryUrls: [address] }))
      assert.deepEqual([second.status, faultsOf(second)], [400, ['secondaryUrls[0]']])
      assert.match(second.errors[0]?.message ?? '', /--allow-address/)
    })
  }
})

test('a directory that rejects the service account is refused, one that does not answer is stored with a warning', async () => {
  const wrong = await create(directoryBody(fresh('wrong'), { serviceAccount: { username: 'svc', password: 'wrong' } }))
  assert.equal(verdict(wrong), '400 IAM-20021')
  assert.match(wrong.errors[0]?.message ?? '', /invalid credentials/)
  const name = fresh('absent')
  await app.world.collection('directory.hosts').put(`${name}.simulated`, { fault: 'down' })
  const absent = ok(await create(directoryBody(name)), 201)
  assert.match(absent.warnings.join(), /does not answer now \(time-out/)
})

test('a secondary server is used when the first does not answer', async () => {
  const name = fresh('spare')
  await app.world.collection('directory.hosts').put(`${name}.simulated`, { fault: 'down' })
  const created = ok(await create(directoryBody(name, { secondaryUrls: [`ldap://${name}-2.simulated`] })), 201)
  assert.deepEqual(created.warnings, [])
})

test('a PUT without the password keeps it for the next bind, and cannot change type or domain', async () => {
  const directory = await aDirectory(app)
  const path = `${directories}/${directory.extId}`
  const { serviceAccount: _, ...rest } = directoryBody(directory.host.replace('.simulated', ''))
  for (const body of [{ ...rest, serviceAccount: { username: 'svc' } }, rest]) {
    ok(await app.call('PUT', path, { body, ifMatch: await etagOf(app, path) }), 200)
    const query = { query: 'svc', searchedAttributes: ['sAMAccountName'] }
    ok(await app.call('POST', `${path}/$actions/search`, { body: query }), 200)
  }
  const changed = { ...rest, domainName: 'other.test', directoryType: 'OPEN_LDAP' }
  const refused = await app.call('PUT', path, { body: changed, ifMatch: await etagOf(app, path) })
  assert.deepEqual([refused.status, faultsOf(refused)], [400, ['directoryType', 'domainName', 'openLdapConfiguration']])
  const wrong = { ...rest, serviceAccount: { username: 'svc', password: 'wrong' } }
  assert.equal(verdict(await app.call('PUT', path, { body: wrong, ifMatch: await etagOf(app, path) })), '400 IAM-20021')
  assert.equal((await app.call('PUT', path, { body: rest })).status, 428)
  assert.equal((await app.call('PUT', path, { body: rest, ifMatch: '"stale"' })).status, 412)
})

test('deleting a directory service that groups or users reference is 409 with counts, and 204 afterwards', async () => {
  const directory = await aDirectory(app)
  const path = `${directories}/${directory.extId}`
  const group = await aGroup(app, directory, 'testers')
  const refused = await app.call('DELETE', path, { ifMatch: await etagOf(app, path) })
  assert.equal(refused.status, 409)
  assert.match(refused.errors[0]?.message ?? '', /in use by 1 user groups/)
  ok(await app.call('DELETE', `${groups}/${group}`, { ifMatch: await etagOf(app, `${groups}/${group}`) }), 204)
  ok(await app.call('DELETE', path, { ifMatch: await etagOf(app, path) }), 204)
  const gone = await app.call('GET', path)
  assert.equal(verdict(gone), '404 IAM-20004')
  assert.match(gone.errors[0]?.message ?? '', /Directory service not found/)
})

test('a directory service with users is not deleted', async () => {
  const directory = await aDirectory(app)
  const path = `${directories}/${directory.extId}`
  ok(await app.call('POST', users, { body: { userType: 'LDAP', username: fresh('u'), idpId: directory.extId } }), 201)
  const refused = await app.call('DELETE', path, { ifMatch: await etagOf(app, path) })
  assert.deepEqual([refused.status, /1 users/.test(refused.errors[0]?.message ?? '')], [409, true])
})

describe('search', () => {
  const search = (extId: string, body: object, as?: string) =>
    app.call('POST', `${directories}/${extId}/$actions/search`, { body, ...(as === undefined ? {} : { as }) })

  test('finds users and groups by whole values, or by parts of them', async () => {
    const directory = await aDirectory(app)
    await putUser(app, directory, {
      name: 'zoe',
      distinguishedName: personIn(directory, 'zoe'),
      displayName: 'Zoe Zebra',
    })
    await putGroup(app, directory, 'zebras', [])
    const found = ok(await search(directory.extId, { query: 'zeb', isWildcardSearch: true }), 200)
    assert.equal(found.data.domainName, directory.domainName)
    assert.deepEqual(found.data.searchResults, [
      {
        entityType: 'user',
        name: personIn(directory, 'zoe'),
        attributes: [
          { name: 'cn', values: ['Zoe Zebra'] },
          { name: 'sAMAccountName', values: ['zoe'] },
          { name: 'distinguishedName', values: [personIn(directory, 'zoe')] },
        ],
      },
      {
        entityType: 'group',
        name: `cn=zebras,ou=groups,${directory.base}`,
        attributes: [
          { name: 'cn', values: ['zebras'] },
          { name: 'distinguishedName', values: [`cn=zebras,ou=groups,${directory.base}`] },
        ],
      },
    ])
    const whole = ok(
      await search(directory.extId, {
        query: 'ZOE',
        searchedAttributes: ['samaccountname'],
        returnedAttributes: ['CN'],
      }),
      200,
    )
    assert.deepEqual(
      whole.data.searchResults.map((one: any) => one.attributes),
      [[{ name: 'cn', values: ['Zoe Zebra'] }]],
    )
  })

  test('returns the first hundred of more rows, and says that there are more', async () => {
    const directory = await aDirectory(app)
    for (let index = 0; index < 101; index++) await putGroup(app, directory, `many-${index}`, [])
    const body = JSON.stringify({ query: 'many', isWildcardSearch: true })
    const found = await http(url, `/api${directories}/${directory.extId}/$actions/search`, { method: 'POST', body })
    assert.equal(found.json.data.searchResults.length, 100)
    assert.ok(found.json.metadata.flags.some((flag: any) => flag.name === 'isTruncated' && flag.value))
  })

  test('treats an LDAP filter in the query as text and finds no row', async () => {
    const directory = await aDirectory(app)
    for (const query of ['*)(uid=*', '*', '(cn=*)', 'a)(|(cn=*', '\\2a']) {
      assert.deepEqual(ok(await search(directory.extId, { query }), 200).data.searchResults ?? [], [], query)
    }
  })

  test('neither returns nor compares secret attributes, in any case', async () => {
    const directory = await aDirectory(app)
    for (const name of [
      'userPassword',
      'UNICODEPWD',
      'ntPwdHistory',
      'lmPwdHistory',
      'krbPrincipalKey',
      'ms-Mcs-AdmPwd',
    ]) {
      const shown = await search(directory.extId, { query: 'a', returnedAttributes: ['cn', name] })
      assert.deepEqual([shown.status, faultsOf(shown)], [400, ['returnedAttributes[1]']])
      const compared = await search(directory.extId, { query: 'a', searchedAttributes: [name] })
      assert.deepEqual([compared.status, faultsOf(compared)], [400, ['searchedAttributes[0]']])
    }
    for (const name of ['*', '+', 'userPassword;binary', '2.5.4.35', 'cn)(uid'])
      assert.equal((await search(directory.extId, { query: 'a', returnedAttributes: [name] })).status, 400, name)
  })

  test('names the cause when the directory does not answer, and is refused to users who may only view the directory', async () => {
    const directory = await aDirectory(app)
    await behave(app, directory, { fault: 'tls' })
    const failed = await search(directory.extId, { query: 'a' })
    assert.equal(verdict(failed), '400 IAM-20021')
    assert.match(failed.errors[0]?.message ?? '', /TLS/)
    const viewer = await aUser(app)
    await grant(app, 'Platform Viewer', viewer.extId)
    assert.equal((await search(directory.extId, { query: 'a' }, viewer.as)).status, 403)
    ok(await app.call('GET', `${directories}/${directory.extId}`, { as: viewer.as }), 200)
  })
})

describe('verify-connection-status', () => {
  const verify = (extId: string, username: string, password: string) =>
    app.call('POST', `${directories}/${extId}/$actions/verify-connection-status`, { body: { username, password } })

  test('binds with the given credentials and stores none of them', async () => {
    const directory = await aDirectory(app)
    await putUser(app, directory, {
      name: 'tester',
      distinguishedName: personIn(directory, 'tester'),
      password: digestOf('Other.Secret1'),
    })
    const before = await etagOf(app, `${directories}/${directory.extId}`)
    const verified = ok(await verify(directory.extId, personIn(directory, 'tester'), 'Other.Secret1'), 200)
    assert.match(verified.data.message, /connection.*successful/)
    assert.equal(await etagOf(app, `${directories}/${directory.extId}`), before)
  })

  test('reports a wrong password as invalid credentials and locks nobody out', async () => {
    const directory = await aDirectory(app)
    for (let attempt = 0; attempt < 6; attempt++) {
      const refused = await verify(directory.extId, 'admin', 'wrong')
      assert.equal(verdict(refused), '400 IAM-20021')
      assert.match(refused.errors[0]?.message ?? '', /invalid credentials/)
    }
    ok(await app.call('GET', directories), 200)
  })

  test('reports a server that is down as a time-out', async () => {
    const directory = await aDirectory(app)
    await behave(app, directory, { fault: 'down' })
    const failed = await verify(directory.extId, 'svc', adminPassword)
    assert.equal(verdict(failed), '400 IAM-20021')
    assert.match(failed.errors[0]?.message ?? '', /time-out/)
  })
})

test('only Central Admin and Super Admin write directory services; a Platform Admin reads, searches and verifies', async () => {
  const platform = await aUser(app)
  await grant(app, 'Platform Admin', platform.extId)
  const central = await aUser(app)
  await grant(app, 'Central Admin', central.extId)
  const directory = await aDirectory(app)
  const body = directoryBody(fresh('roles'))
  assert.equal((await app.call('POST', directories, { body, as: platform.as })).status, 403)
  ok(await app.call('POST', directories, { body, as: central.as }), 201)
  const query = { query: 'svc' }
  ok(await app.call('POST', `${directories}/${directory.extId}/$actions/search`, { body: query, as: platform.as }), 200)
})
