/** Login providers: what is configured, as ways to sign in. Source: behaviour iam.md 5. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { localProviderId } from '../../../src/domains/accounts/local-provider.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { aDirectory, directories } from './directories.ts'
import { aUser, etagOf, ok } from './people.ts'

const providers = '/iam/v4.1.b2/authn/login-providers'

let app: TestApp
before(async () => void (app = await startApp()))
after(() => app.close())

test('the built-in login providers come first, and the one for service accounts supports no browser login', async () => {
  const [local, account] = (await app.call('GET', providers)).data
  assert.deepEqual(
    [local.extId, local.name, local.type, local.isBrowserLoginSupported],
    [localProviderId, 'Local', 'local', true],
  )
  assert.deepEqual([account.type, account.isBrowserLoginSupported], ['service_account', false])
})

test('a configured directory is a login provider under its own id and name', async () => {
  const directory = await aDirectory(app)
  const named = () => app.call('GET', `${providers}?$filter=extId eq '${directory.extId}'`)
  const shown = (await named()).data[0]
  assert.deepEqual(
    [shown.name, shown.type, shown.isBrowserLoginSupported],
    [directory.host.replace('.simulated', ''), 'ldap', true],
  )
  const path = `${directories}/${directory.extId}`
  ok(await app.call('DELETE', path, { ifMatch: await etagOf(app, path) }), 204)
  assert.equal((await named()).total, 0)
})

test('every signed-in user lists login providers, filtered by type, ordered by name and paged', async () => {
  const nobody = await aUser(app)
  const ldap = `${providers}?$filter=type eq Iam.Authn.IdpType'ldap'&$orderby=name desc&$limit=1`
  const page = ok(await app.call('GET', ldap, { as: nobody.as }), 200)
  assert.ok(page.data.length === 1 && (page.total ?? 0) >= 1)
  assert.equal((await app.call('GET', providers, { as: null })).status, 401)
})
