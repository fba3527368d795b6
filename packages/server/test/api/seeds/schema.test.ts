/** The format of seeds, where editors find it. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startApp } from '../../support/start-app.ts'

test('the JSON Schema of seeds is served without credentials, and equals the published one', async (t) => {
  const app = await startApp({ config: { seed: 'empty' } })
  t.after(() => app.close())
  const answer = await fetch(new URL('/docs/seed.schema.json', (await app.listen()).url))
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
  const file = fileURLToPath(new URL('../../../../../docs/reference/seed.schema.json', import.meta.url))
  assert.deepEqual(await answer.json(), JSON.parse(readFileSync(file, 'utf8')))
})
