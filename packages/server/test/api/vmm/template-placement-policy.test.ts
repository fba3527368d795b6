import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { clustersOfTemplate } from '../../../src/domains/vmm/content/template-placement.ts'
import { ids } from '../../support/clustermgmt.ts'
import {
  allOf,
  anyOf,
  changeOf,
  made,
  post,
  succeeds,
  templatePlacementBody,
  templatePlacementPolicies,
} from '../../support/content-policies.ts'
import { aUser } from '../../support/identities.ts'
import { aCategory } from '../../support/policies.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp({ limits: { templatePlacementPolicies: 3 } })
})
after(() => app.close())

const pathOf = (extId: string): string => `${templatePlacementPolicies}/${extId}`
const remove = async (path: string): Promise<any> => succeeds(app, await app.call('DELETE', path))

describe('template placement policies', () => {
  test('a policy shows what it was created with, names who created and changed it, and counts for its categories', async () => {
    const [one, two] = [await aCategory(app), await aCategory(app)]
    const body = { ...templatePlacementBody(one, two), placementType: 'SOFT' }
    const task = await succeeds(app, await post(app, templatePlacementPolicies, body))
    assert.equal(task.operation, 'CreateTemplatePlacementPolicy')
    const [{ extId, rel }] = task.entitiesAffected
    assert.equal(rel, 'vmm:config:template-placement-policy')
    const path = pathOf(extId)
    const { data } = await app.call('GET', path)
    assert.deepEqual([data.placementType, data.contentFilter], ['SOFT', anyOf(one)])
    assert.deepEqual([data.createdBy, data.phony], [data.updatedBy, undefined])
    await app.clock.advance(1000)
    const as = await aUser(app, ['Virtual Machine Admin'])
    await succeeds(app, await changeOf(app, path, { clusterFilter: allOf(one, two) }, { as }))
    const changed = (await app.call('GET', path)).data
    assert.deepEqual([changed.createdBy, changed.clusterFilter], [data.createdBy, allOf(one, two)])
    assert.notEqual(changed.updatedBy, data.updatedBy)
    assert.ok(changed.updateTime > changed.createTime)
    const category = `/platform/v4.3/config/categories/${two}`
    const { associations } = (await app.call('GET', `${category}?$expand=associations`)).data
    assert.deepEqual(
      associations.map(({ resourceType, count }: any) => [resourceType, count]),
      [['TEMPLATE_PLACEMENT_POLICY', 1]],
    )
    assert.equal((await app.call('DELETE', category)).status, 409)
    await remove(path)
    assert.equal((await app.call('GET', path)).status, 404)
    assert.equal((await app.call('DELETE', category)).status, 204)
  })

  test('HARD, an empty filter, an unknown category, a name in use and a policy beyond the limit are refused', async () => {
    const category = await aCategory(app)
    const body = templatePlacementBody(category, category)
    const path = pathOf(await made(app, templatePlacementPolicies, body))
    const refused = async (more: object): Promise<unknown[]> => {
      const { status, errors } = await post(app, templatePlacementPolicies, {
        ...templatePlacementBody(category, category),
        ...more,
      })
      return [status, errors[0]?.code]
    }
    assert.deepEqual(await refused({ name: body.name.toUpperCase() }), [409, 'VMM-30105'])
    assert.deepEqual(await refused({ clusterFilter: anyOf(randomUUID()) }), [404, 'VMM-20005'])
    for (const more of [{ placementType: 'HARD' }, { contentFilter: anyOf() }, { clusterFilter: undefined }])
      assert.equal((await refused(more))[0], 400, JSON.stringify(more))
    const others = [
      await made(app, templatePlacementPolicies, templatePlacementBody(category, category)),
      await made(app, templatePlacementPolicies, templatePlacementBody(category, category)),
    ]
    assert.deepEqual(await refused({}), [422, 'VMM-40004'])
    for (const each of [path, ...others.map(pathOf)]) await remove(each)
  })

  test('a queued change fails when another policy has taken its name', async () => {
    const category = await aCategory(app)
    const path = pathOf(await made(app, templatePlacementPolicies, templatePlacementBody(category, category)))
    const name = `taken-${randomUUID()}`
    const other = { ...templatePlacementBody(category, category), name }
    const answers = await Promise.all([
      changeOf(app.atOnce, path, { name }),
      post(app.atOnce, templatePlacementPolicies, other),
    ])
    const ends = []
    for (const answer of answers) ends.push(answer.status === 202 ? (await app.task(answer)).status : answer.status)
    assert.equal(ends.filter((end) => end === 'SUCCEEDED').length, 1, JSON.stringify(ends))
    const named = await app.call('GET', `${templatePlacementPolicies}?$filter=name eq '${name}'`)
    assert.equal(named.total, 1)
    for (const { extId } of (await app.call('GET', templatePlacementPolicies)).data) await remove(pathOf(extId))
  })

  test('a template with the categories of a policy belongs on the native clusters that the policy matches', async () => {
    const [carried, other, ofCluster] = [await aCategory(app), await aCategory(app), await aCategory(app)]
    for (const cluster of [ids.native, ids.extern]) {
      const path = `/clustermgmt/v4.2/config/clusters/${cluster}/$actions/associate-categories`
      await succeeds(app, await post(app, path, { categories: [ofCluster] }))
    }
    const path = pathOf(await made(app, templatePlacementPolicies, templatePlacementBody(carried, ofCluster)))
    assert.deepEqual(await clustersOfTemplate(app.store, [carried, other]), [ids.native])
    assert.deepEqual(await clustersOfTemplate(app.store, [other]), [])
    await remove(path)
  })

  test('a Virtual Machine Operator reads policies, and gets 403 for every change', async () => {
    const category = await aCategory(app)
    const path = pathOf(await made(app, templatePlacementPolicies, templatePlacementBody(category, category)))
    const as = await aUser(app, ['Virtual Machine Operator'])
    assert.equal((await app.call('GET', path, { as })).status, 200)
    assert.equal((await changeOf(app, path, { description: 'x' }, { as })).status, 403)
    assert.equal((await app.call('DELETE', path, { as })).status, 403)
    await remove(path)
  })
})
