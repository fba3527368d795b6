import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiRefusal, type Client, startHyperplane } from '@hyperplane/server'

/** Code under test: a change that is repeated on the new version after somebody else has written. */
async function describe({ platform }: Client, extId: string, description: string): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const { data, etag } = await platform.getCategoryById({ path: { extId } })
    try {
      await platform.updateCategoryById({ path: { extId }, ifMatch: etag!, body: { ...data, description } })
      return attempt
    } catch (error) {
      if (!(error instanceof ApiRefusal) || error.status !== 412) throw error
    }
  }
}

test('a change with a stale entity tag is repeated', async () => {
  await using hyperplane = await startHyperplane({ seed: 'tiny' })
  const { client, control } = hyperplane
  const { data: category } = await client.platform.createCategory({ body: { key: 'team', value: 'blue' } })

  // Twice, another client writes between the GET and the PUT.
  const { data: rule } = await control.createFaultRule({
    body: {
      match: { operation: 'updateCategoryById' },
      trigger: { next: 2 },
      effect: { competingWrite: true },
    },
  })

  assert.equal(await describe(client, category.extId, 'Whoever is on call'), 3)
  const { data: changed } = await client.platform.getCategoryById({ path: { extId: category.extId } })
  assert.equal(changed.description, 'Whoever is on call')
  const { data: fired } = await control.getFaultRule({ path: { extId: rule.extId } })
  assert.equal(fired.timesFired, 2)
})
