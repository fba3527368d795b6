/** Directories over real LDAP: sign-in, groups, search and faults against slapd. Source: behaviour iam.md 4, 13. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { systemRoleId } from '../../src/domains/iam/catalogue/system-roles.ts'
import { directories, groups } from '../api/iam/directories.ts'
import { categories, etagOf, everything, fresh, ok, policies, users, verdict } from '../api/iam/people.ts'
import { http } from '../support/http.ts'
import { startApp, type TestApp } from '../support/start-app.ts'
import { startServer } from './server-process.ts'
import { addGroup, addPerson, adGroup, adPerson, groupIn, password, personIn, type Slapd, startSlapd } from './slapd.ts'

const minute = 60_000

let slapd: Slapd
let app: TestApp
let openLdap: string
let active: string
before(async () => {
  slapd = await startSlapd()
  app = await startApp({ config: { allowAddress: ['127.0.0.0/8'], seed: 'empty' } })
  openLdap = await aDirectory()
  active = await aDirectory({
    url: slapd.url,
    domainName: 'ad.test',
    directoryType: 'ACTIVE_DIRECTORY',
    openLdapConfiguration: undefined,
    groupSearchType: 'RECURSIVE',
    serviceAccount: { username: adPerson('svc'), password },
  })
})
after(async () => {
  await app?.close()
  await slapd?.stop()
})

const layout = {
  userConfiguration: {
    userObjectClass: 'inetOrgPerson',
    userSearchBase: 'ou=people,dc=example,dc=com',
    usernameAttribute: 'uid',
  },
  userGroupConfiguration: {
    groupObjectClass: 'groupOfNames',
    groupSearchBase: 'ou=groups,dc=example,dc=com',
    groupMemberAttribute: 'member',
    groupMemberAttributeValue: 'dn',
  },
}
const bodyOf = (fields: object = {}) => {
  const name = fresh('ldap')
  return {
    name,
    url: slapd.url,
    domainName: `${name}.test`,
    directoryType: 'OPEN_LDAP',
    openLdapConfiguration: layout,
    serviceAccount: { username: personIn('svc'), password },
    ...fields,
  }
}
const aDirectory = async (fields: object = {}): Promise<string> => {
  const created = ok(await app.call('POST', directories, { body: bodyOf(fields) }), 201)
  assert.deepEqual(created.warnings, [])
  return created.data.extId
}
const domainOf = async (extId: string): Promise<string> =>
  (await app.call('GET', `${directories}/${extId}`)).data.domainName
const aUserOf = async (idpId: string, username: string): Promise<string> =>
  ok(await app.call('POST', users, { body: { userType: 'LDAP', username, idpId } }), 201).data.extId

async function letGroupRead(idpId: string, distinguishedName: string): Promise<void> {
  const group = ok(await app.call('POST', groups, { body: { groupType: 'LDAP', idpId, distinguishedName } }), 201)
  const body = {
    displayName: fresh('policy'),
    role: systemRoleId('Category Viewer'),
    identities: [{ identityFilter: { user: { group: { eq: group.data.extId } } } }],
    entities: [{ entityFilter: everything }],
  }
  ok(await app.call('POST', policies, { body }), 201)
}

let network = 0
const visit = async (name: string, secret = password): Promise<number> =>
  (await app.call('GET', categories, { as: `${name}:${secret}`, address: `203.0.113.${++network}` })).status
const search = (body: object, extId = openLdap) => app.call('POST', `${directories}/${extId}/$actions/search`, { body })
const verify = (body: object, extId = openLdap) =>
  app.call('POST', `${directories}/${extId}/$actions/verify-connection-status`, { body })

describe('sign-in', () => {
  test('a user of an OpenLDAP signs in with Basic; five minutes after removal from the group, the permission is gone', async () => {
    const name = fresh('member')
    await addPerson(slapd, name)
    await addGroup(slapd, `of-${name}`, [personIn(name)])
    await letGroupRead(openLdap, groupIn(`of-${name}`).toUpperCase())
    const login = `${name}@${await domainOf(openLdap)}`
    assert.equal(await visit(login), 200)
    assert.equal(await visit(login, 'wrong'), 401)
    const [user] = (await app.call('GET', `${users}?$filter=username eq '${name}'`)).data
    assert.deepEqual(
      [user.creationType, user.displayName, user.idpId],
      ['SERVICEDEFINED', `${name} of the test`, openLdap],
    )
    await slapd.set(groupIn(`of-${name}`), 'member', [personIn('svc')])
    assert.equal(await visit(login), 200)
    await app.clock.advance(5 * minute)
    assert.equal(await visit(login), 403)
  })

  test('a user of an Active Directory is found by account and principal name; nested groups are found through memberOf', async () => {
    await letGroupRead(active, adGroup('operators'))
    assert.equal(await visit('alice@ad.test'), 200)
    assert.equal(await visit('AD\\alice'), 200)
    assert.equal(await visit('nested@ad.test'), 200)
  })

  test('an account that the Active Directory has disabled does not sign in, although its password is right', async () => {
    ok(await verify({ username: adPerson('closed'), password }, active), 200)
    assert.equal(await visit('closed@ad.test'), 401)
  })

  test('an empty password is 401 and is not sent to a server, also in a status check', async () => {
    const name = fresh('empty')
    await addPerson(slapd, name)
    await aUserOf(openLdap, name)
    await slapd.binds()
    assert.equal(await visit(name, ''), 401)
    assert.equal((await verify({ username: personIn(name), password: '' })).status, 400)
    assert.deepEqual(await slapd.binds(), [])
    assert.equal(await visit(name), 403)
    assert.deepEqual(await slapd.binds(), [personIn('svc'), personIn(name), personIn('svc')])
  })

  test('a name in the syntax of a filter or of a distinguished name matches no user', async () => {
    const domain = await domainOf(openLdap)
    for (const name of ['*', 'svc)(uid=*', 'sv*', 'svc,ou=people', '*)(objectClass=*', '\\73vc', 'svc\u0000'])
      assert.equal(await visit(`${name}@${domain}`), 401, name)
  })
})

describe('groups', () => {
  test('nested groups count if the directory service follows them, and cycles end', async () => {
    await addPerson(slapd, 'deep')
    await addGroup(slapd, 'circle-a', [personIn('deep')])
    await addGroup(slapd, 'circle-b', [groupIn('circle-a')])
    await addGroup(slapd, 'circle-c', [groupIn('circle-b')])
    await slapd.set(groupIn('circle-a'), 'member', [personIn('deep'), groupIn('circle-c')])
    const recursive = await aDirectory({ groupSearchType: 'RECURSIVE' })
    for (const idpId of [recursive, openLdap]) await letGroupRead(idpId, groupIn('circle-c'))
    assert.equal(await visit(`deep@${await domainOf(recursive)}`), 200)
    assert.equal(await visit(`deep@${await domainOf(openLdap)}`), 401)
  })

  test('a group with ten thousand members is one group: its members sign in, and a search shows it without them', async () => {
    await addPerson(slapd, 'crowd')
    const members = Array.from({ length: 9999 }, (_, index) => personIn(`absent-${index}`))
    await addGroup(slapd, 'crowded', [...members, personIn('crowd')])
    await letGroupRead(openLdap, groupIn('crowded'))
    assert.equal(await visit(`crowd@${await domainOf(openLdap)}`), 200)
    const found = ok(await search({ query: 'crowded' }), 200).data.searchResults
    assert.deepEqual(
      found.map((one: any) => [one.entityType, one.name]),
      [['group', groupIn('crowded')]],
    )
    const all = await search({ query: 'crowded', returnedAttributes: ['member'] })
    assert.equal(all.data.searchResults[0].attributes[0].values.length, 10_000)
  })

  test('a user in more groups than a page holds is in all of them', async () => {
    await addPerson(slapd, 'joiner')
    for (let index = 0; index < 1100; index++) await addGroup(slapd, `club-${index}`, [personIn('joiner')])
    await letGroupRead(openLdap, groupIn('club-1099'))
    assert.equal(await visit(`joiner@${await domainOf(openLdap)}`), 200)
  })

  test('with an allowlist only its members sign in', async () => {
    await addPerson(slapd, 'inside')
    await addPerson(slapd, 'outside')
    await addGroup(slapd, 'white', [personIn('inside')])
    const idpId = await aDirectory({ whiteListedGroups: [groupIn('WHITE')] })
    for (const name of ['inside', 'outside']) await aUserOf(idpId, name)
    const domain = await domainOf(idpId)
    assert.deepEqual([await visit(`inside@${domain}`), await visit(`outside@${domain}`)], [403, 401])
  })

  test('createUserGroup refuses a group that the directory does not have', async () => {
    const create = (distinguishedName: string) =>
      app.call('POST', groups, { body: { groupType: 'LDAP', idpId: openLdap, distinguishedName } })
    assert.equal((await create(groupIn('nowhere'))).status, 400)
    assert.equal((await create(personIn('svc'))).status, 400)
    await addGroup(slapd, 'some\\, where', [personIn('svc')])
    ok(await create('CN=Some\\2C Where,OU=groups,dc=example,dc=com'), 201)
  })
})

describe('search', () => {
  test('finds users and groups of both kinds of directory, by whole values or by parts', async () => {
    await addPerson(slapd, 'seeker')
    const whole = ok(await search({ query: 'seeker', searchedAttributes: ['uid', 'mail'] }), 200).data.searchResults
    assert.deepEqual(whole, [
      {
        entityType: 'user',
        name: personIn('seeker'),
        attributes: [
          { name: 'cn', values: ['seeker of the test'] },
          { name: 'uid', values: ['seeker'] },
          { name: 'mail', values: ['seeker@example.com'] },
          { name: 'distinguishedName', values: [personIn('seeker')] },
        ],
      },
    ])
    const part = ok(await search({ query: 'perat', isWildcardSearch: true, returnedAttributes: ['cn'] }, active), 200)
    assert.deepEqual(
      part.data.searchResults.map((one: any) => [one.entityType, one.name]),
      [['group', adGroup('operators')]],
    )
  })

  test('the text is literal: a text that looks like a filter matches only equal values', async () => {
    await addPerson(slapd, 'star*(1)')
    for (const query of ['*)(uid=*', '*', 'star*', '(uid=*)', '\\2a'])
      assert.deepEqual(ok(await search({ query, searchedAttributes: ['uid'] }), 200).data.searchResults, [], query)
    const exact = ok(await search({ query: 'star*(1)', searchedAttributes: ['uid'] }), 200)
    assert.equal(exact.data.searchResults.length, 1)
    const part = ok(await search({ query: '*(1)', searchedAttributes: ['uid'], isWildcardSearch: true }), 200)
    assert.equal(part.data.searchResults.length, 1)
  })

  test('a password is not shown and not compared, although this server would return it', async () => {
    assert.equal((await search({ query: 'svc', returnedAttributes: ['userPassword'] })).status, 400)
    assert.equal((await search({ query: password, searchedAttributes: ['userpassword'] })).status, 400)
  })

  test('a search returns at most a hundred entries', async () => {
    for (let index = 0; index < 101; index++) await addGroup(slapd, `plenty-${index}`, [personIn('svc')])
    const { url } = await app.listen()
    const body = JSON.stringify({ query: 'plenty', isWildcardSearch: true })
    const found = await http(url, `/api${directories}/${openLdap}/$actions/search`, { method: 'POST', body })
    assert.equal(found.json.data.searchResults.length, 100)
    assert.ok(found.json.metadata.flags.some((flag: any) => flag.name === 'isTruncated' && flag.value))
  })
})

describe('connection status', () => {
  test('a right password is a success, a wrong one is invalid credentials', async () => {
    assert.match(ok(await verify({ username: personIn('svc'), password }), 200).data.message, /connection.*successful/)
    const wrong = await verify({ username: personIn('svc'), password: 'wrong' })
    assert.equal(verdict(wrong), '400 IAM-20021')
    assert.match(wrong.errors[0]?.message ?? '', /invalid credentials/)
    const name = await verify({ username: 'svc', password })
    assert.match(name.errors[0]?.message ?? '', /distinguished name/)
  })

  test('a certificate of an unknown authority is reported as a TLS fault; createDirectoryService reports it as a warning', async () => {
    const created = ok(await app.call('POST', directories, { body: bodyOf({ url: slapd.secureUrl }) }), 201)
    assert.match(created.warnings.join(), /TLS/)
    const failed = await verify({ username: personIn('svc'), password }, created.data.extId)
    assert.equal(verdict(failed), '400 IAM-20021')
    assert.match(failed.errors[0]?.message ?? '', /TLS: /)
  })

  test('a closed port and an unknown host name are reported as such', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as { port: number }
    closed.close()
    await once(closed, 'close')
    const refused = ok(await app.call('POST', directories, { body: bodyOf({ url: `ldap://127.0.0.1:${port}` }) }), 201)
    assert.match(refused.warnings.join(), /connection refused/)
    const unknown = ok(await app.call('POST', directories, { body: bodyOf({ url: 'ldap://directory.invalid' }) }), 201)
    assert.match(unknown.warnings.join(), /DNS/)
  })

  test('an update without the password keeps the stored one, and the second server replaces a stopped first one', async () => {
    const extId = await aDirectory()
    const path = `${directories}/${extId}`
    const domainName = await domainOf(extId)
    const { name } = (await app.call('GET', path)).data
    const body = bodyOf({
      name,
      domainName,
      url: 'ldap://127.0.0.1:1',
      secondaryUrls: [slapd.url],
      serviceAccount: { username: personIn('svc') },
    })
    const updated = ok(await app.call('PUT', path, { body, ifMatch: await etagOf(app, path) }), 200)
    assert.deepEqual(updated.warnings, [])
    ok(await search({ query: 'svc', searchedAttributes: ['uid'] }, extId), 200)
  })

  test('a stopped server is reported as a time-out; local users still sign in, its own users get 401', async () => {
    await aUserOf(openLdap, fresh('waiting'))
    const domain = await domainOf(openLdap)
    slapd.hold()
    try {
      const waiting = Promise.all([verify({ username: personIn('svc'), password }), visit(`svc@${domain}`)])
      ok(await app.call('GET', users), 200)
      const [status, signIn] = await waiting
      assert.equal(verdict(status), '400 IAM-20021')
      assert.match(status.errors[0]?.message ?? '', /time-out: no answer within 5 s/)
      assert.equal(signIn, 401)
    } finally {
      slapd.goOn()
    }
  })
})

describe('a malicious directory', () => {
  /** Answers whatever is asked with these bytes. */
  async function liar(hex: string): Promise<Server> {
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.write(Buffer.from(hex, 'hex')))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  const lies = [
    ['a reference that is longer than its message', '300702010273640401'],
    ['an entry that is longer than its message', '300c02010264070400306430640400'],
    ['a length below nothing', '3084ffffffff020102'],
    ['nine thousand messages in one', '30050201016400'.repeat(9000)],
    ['another protocol', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n').toString('hex')],
  ] as const
  for (const [what, hex] of lies) {
    test(`${what}: 400 with the cause, and the service keeps working`, async () => {
      const server = await liar(hex)
      const { port } = server.address() as { port: number }
      const created = ok(
        await app.call('POST', directories, { body: bodyOf({ url: `ldap://127.0.0.1:${port}` }) }),
        201,
      )
      assert.match(created.warnings.join(), /does not answer now/)
      const failed = await verify({ username: personIn('svc'), password }, created.data.extId)
      assert.equal(verdict(failed), '400 IAM-20021')
      ok(await app.call('GET', users), 200)
      server.close()
    })
  }
})

test('the service as a process prints the allowed networks, and signs in over LDAPS with an authority from NODE_EXTRA_CA_CERTS', async () => {
  const server = await startServer(['--allow-address', '127.0.0.1', '--seed', 'empty'], {
    NODE_EXTRA_CA_CERTS: slapd.authorityFile,
  })
  try {
    assert.ok(
      server.log.some((line) => line.includes('allowAddress') && line.includes('127.0.0.1')),
      server.log.join(),
    )
    const post = async (path: string, body: object) =>
      http(server.url, `/api${path}`, { method: 'POST', body: JSON.stringify(body) })
    const body = bodyOf({ url: slapd.secureUrl })
    const created = await post(directories, body)
    assert.equal(created.status, 201, created.text)
    assert.ok(!created.text.includes('does not answer'), created.text)
    await addPerson(slapd, 'secure')
    const user = { userType: 'LDAP', username: 'secure', idpId: created.json.data.extId }
    const { extId } = (await post(users, user)).json.data
    const own = (as: string) => http(server.url, `/api${users}/${extId}`, { as })
    assert.equal((await own(`secure@${body.domainName}:${password}`)).status, 200)
    assert.equal((await own(`secure@${body.domainName}:wrong`)).status, 401)
  } finally {
    await server.stop()
  }
})

test('without --allow-address a directory on this machine is refused', async () => {
  const closed = await startApp({ config: { seed: 'empty' } })
  const refused = await closed.call('POST', directories, { body: bodyOf() })
  assert.equal(refused.status, 400)
  assert.match(refused.errors[0]?.message ?? '', /loopback address.*--allow-address/)
  await closed.close()
})
