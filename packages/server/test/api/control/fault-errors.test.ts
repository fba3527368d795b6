/** Each error of the catalogue can be injected, and equals the real one. Source: reference faults.md; golden errors. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { controlErrors } from '@hyperplane/contract/control/errors'
import { type ErrorDefinition, errorCatalogue } from '@hyperplane/contract/error-catalogue'
import { faults, postCategory, postFault } from '../../support/faults.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
})
after(() => app.close())

test('any error of the catalogue is answered with its status, code, group and message', async () => {
  const catalogue: Readonly<Record<string, ErrorDefinition>> = errorCatalogue
  for (const [key, { code, status, message, group = key }] of Object.entries(catalogue)) {
    if (Object.hasOwn(controlErrors, key)) continue
    const names = [...message.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string)
    const effect = { error: key, arguments: Object.fromEntries(names.map((name) => [name, `<${name}>`])) }
    const made = await postFault(app, { match: { operation: 'createCategory' }, effect })
    assert.equal(made.status, 201, `${key}: ${JSON.stringify(made.errors)}`)
    const { status: answered, errors } = await postCategory(app)
    const [error] = errors
    const told = message.replaceAll(/\{(\w+)\}/g, '<$1>')
    assert.deepEqual([answered, error?.code, error?.errorGroup, error?.message], [status, code, group, told], key)
    assert.equal((await app.call('DELETE', `${faults}/${made.data.extId}`)).status, 204)
  }
})
