/** Versions that are not served. Source: behaviour conventions 15. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../support/start-app.ts'

test('a version that is not served is 404 with the served ones named', async () => {
  const app = await startApp()
  try {
    const result = await app.call('GET', '/clustermgmt/v4.9/config/clusters')
    assert.deepEqual([result.status, result.errors[0]?.code], [404, 'PLAT-10001'])
    assert.match(result.errors[0]?.message ?? '', /v4\.2 and v4\.0/)
  } finally {
    await app.close()
  }
})

test('served loosely, the nearest version of the same major answers, and says so', async () => {
  const app = await startApp({ config: { versions: 'loose' } })
  try {
    for (const [asked, served] of [
      ['v4.9', 'v4.2'],
      ['v4.1', 'v4.2'],
      ['v4.0.b1', 'v4.0'],
    ]) {
      const result = await app.call('GET', `/clustermgmt/${asked}/config/clusters?$limit=1`)
      assert.equal(result.status, 200, asked)
      assert.deepEqual(result.warnings, [`Version ${asked} is not served; ${served} answered.`])
    }
    assert.equal((await app.call('GET', '/clustermgmt/v5.0/config/clusters')).status, 404)
    assert.deepEqual((await app.call('GET', '/clustermgmt/v4.2/config/clusters?$limit=1')).warnings, [])
  } finally {
    await app.close()
  }
})
