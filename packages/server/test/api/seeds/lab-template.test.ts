/** The template of the preset `lab`. Source: behaviour vmm.md 4. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { checkInvariants } from '../../support/invariants.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'lab' } })
})
after(() => app.close())

test('the lab has the template ubuntu-base with two versions, of which the second is active', async () => {
  const templates = '/vmm/v4.2/content/templates'
  const [template, ...others] = (await app.call('GET', templates)).data
  assert.deepEqual([template.templateName, others], ['ubuntu-base', []])
  const versions = (await app.call('GET', `${templates}/${template.extId}/versions`)).data
  assert.deepEqual(
    versions.map(({ versionName, isActiveVersion }: any) => [versionName, isActiveVersion]),
    [
      ['Initial Version', false],
      ['March', true],
    ],
  )
  await checkInvariants(app)
})
