/** Internal categories are the system's to give: no body names one. Source: behaviour platform.md 1. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { Category } from '@hyperplane/contract/platform/category'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
const [internal, system] = [randomUUID(), randomUUID()]
before(async () => {
  app = await startApp()
  await app.store.transaction(async (store) => {
    await store.insert(Category, { extId: internal, key: 'Hidden', value: 'a', type: 'INTERNAL' } as never)
    await store.insert(Category, { extId: system, key: 'Given', value: 'a', type: 'SYSTEM' } as never)
  })
})
after(() => app.close())

const cluster = seedId('cluster/hp-native-01')
const group = `/volumes/v4.2/config/volume-groups/${seedId('volume-group/vg-unused')}`
const source = { $objectType: 'vmm.v4.content.UrlSource', url: 'https://images.example.com/tagged.iso' }
const bodies: Readonly<Record<string, (extId: string) => readonly [path: string, body: object]>> = {
  'a cluster': (extId) => [
    `/clustermgmt/v4.2/config/clusters/${cluster}/$actions/associate-categories`,
    { categories: [extId] },
  ],
  'a VM': (extId) => [
    '/vmm/v4.2/ahv/config/vms',
    { name: 'tagged', memorySizeBytes: 1024 ** 3, cluster: { extId: cluster }, categories: [{ extId }] },
  ],
  'a volume group': (extId) => [`${group}/$actions/associate-category`, { categories: [{ extId }] }],
  'an image': (extId) => [
    '/vmm/v4.2/content/images',
    { name: 'tagged', type: 'ISO_IMAGE', source, categoryExtIds: [extId] },
  ],
}

for (const [carrier, bodyOf] of Object.entries(bodies)) {
  test(`${carrier} takes a system category, and no internal one, not even from an administrator`, async () => {
    const post = (extId: string) => {
      const [path, body] = bodyOf(extId)
      return app.call('POST', path, { body, requestId: randomUUID() })
    }
    const refused = await post(internal)
    assert.equal(refused.status, 404)
    assert.ok(refused.errors[0]?.message.includes(internal))
    assert.equal((await app.task(await post(system))).status, 'SUCCEEDED')
    assert.equal((await app.store.referrerCounts('Category', internal)).size, 0)
  })
}
