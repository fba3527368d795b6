/** Templates are copied ahead as their placement policies say. Source: behaviour vmm.md 1.10 (TemplatePlacementPolicy). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Template, TemplateVersion } from '@hyperplane/contract/vmm/content/template'
import { diskFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { ids } from '../../support/clustermgmt.ts'
import {
  changeOf,
  made,
  post,
  succeeds,
  templatePlacementBody,
  templatePlacementPolicies,
} from '../../support/content-policies.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aNativeCluster, aVm, emptyDisk, GiB, type NativeCluster, readVm } from '../../support/native-cluster.ts'
import { aCategory } from '../../support/policies.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { act, addedVersion, aTemplate, putTemplate, remove, succeeded, templates } from '../../support/templates.ts'

let app: TestApp
let cluster: NativeCluster
let source: string
before(async () => {
  app = await startApp()
  cluster = await aNativeCluster(app)
  source = (await aVm(app, cluster, { disks: [emptyDisk(3 * GiB)] })).extId
})
after(() => app.close())

const seconds = (number: number): Promise<unknown> => app.clock.advance(number * 1000)
async function aClusterCategory(...clusters: string[]): Promise<string> {
  const category = await aCategory(app)
  for (const each of clusters) {
    const path = `/clustermgmt/v4.2/config/clusters/${each}/$actions/associate-categories`
    await succeeds(app, await post(app, path, { categories: [category] }))
  }
  return category
}
const aPolicy = async (ofTemplate: string, ofCluster: string): Promise<string> =>
  `${templatePlacementPolicies}/${await made(app, templatePlacementPolicies, templatePlacementBody(ofTemplate, ofCluster))}`
const stored = (extId: string): Promise<any> => app.store.get(TemplateVersion, extId)
const locationsOf = async (version: string): Promise<string[]> => (await stored(version)).clusterLocationExtIds
const copiesOn = async (version: string, clusterExtId: string): Promise<string[]> =>
  (await stored(version)).copies
    .filter((copy: any) => copy.clusterExtId === clusterExtId)
    .map((copy: any) => copy.diskExtId)
async function placements(template: string): Promise<any[]> {
  const filter = `$filter=operation eq 'kVmTemplatePlacementEnforce'&$limit=100`
  const { data } = await app.call('GET', `/platform/v4.3/config/tasks?${filter}`)
  return (data ?? []).filter(({ entitiesAffected }: any) => entitiesAffected[0].extId === template)
}
/** While the container that gets copies on `native` advertises this size. */
async function advertised(bytes: number | undefined): Promise<void> {
  const [container] = await app.store
    .find(StorageContainer, { limit: 1000 })
    .then((all) => all.filter((each) => each.clusterExtId === ids.native && each.name.startsWith('default-container')))
  assert.ok(container !== undefined)
  await app.store.transaction((store) =>
    store.update(StorageContainer, container.extId, { logicalAdvertisedCapacityBytes: bytes }),
  )
}

test('every version of a template is copied to the clusters of a policy within 5 s, and deployments use the copies', async () => {
  const category = await aCategory(app)
  const { extId, templateVersionSpec: first } = await aTemplate(app, source, {}, { categoryExtIds: [category] })
  const second = await addedVersion(app, extId, source)
  const path = await aPolicy(category, await aClusterCategory(ids.native, ids.cloud, ids.extern))
  await seconds(30)
  for (const version of [first.extId, second])
    assert.deepEqual((await locationsOf(version)).toSorted(), [cluster.extId, ids.native, ids.cloud].toSorted())
  const tasks = await placements(extId)
  assert.deepEqual(
    tasks.map(({ status, isBackgroundTask }) => [status, isBackgroundTask]),
    [
      ['SUCCEEDED', true],
      ['SUCCEEDED', true],
    ],
  )
  assert.deepEqual(
    tasks[0].entitiesAffected.map(({ rel }: any) => rel),
    ['vmm:content:template', 'vmm:config:template-placement-policy'],
  )
  const [copy] = await copiesOn(second, ids.native)
  const task = await succeeded(app, act(app, extId, 'deploy', { clusterReference: ids.native }))
  const vm = await readVm(app, task.entitiesAffected[1].extId)
  assert.equal(vm.disks[0].backingInfo.dataSource.reference.diskExtId, copy)
  assert.equal((await copiesOn(second, ids.native)).length, 1)
  await checkInvariants(app)
  await succeeds(app, await app.call('DELETE', path))
  await succeeded(app, remove(app, `${templates}/${extId}`))
  assert.equal(await app.store.get(TemplateVersion, second), undefined)
})

test('the placement follows a new category of a template, a new version, and a change of the policy', async () => {
  const [category, ofCluster] = [await aCategory(app), await aClusterCategory(ids.cloud)]
  const path = await aPolicy(category, ofCluster)
  const { extId, templateVersionSpec: first } = await aTemplate(app, source)
  await seconds(10)
  assert.deepEqual(await locationsOf(first.extId), [cluster.extId])
  await succeeded(app, putTemplate(app, extId, { categoryExtIds: [category] }))
  await seconds(10)
  assert.deepEqual(await locationsOf(first.extId), [cluster.extId, ids.cloud])
  const second = await addedVersion(app, extId, source)
  await seconds(10)
  assert.deepEqual(await locationsOf(second), [cluster.extId, ids.cloud])
  const clusterFilter = { type: 'CATEGORIES_MATCH_ANY', categoryExtIds: [await aClusterCategory(ids.native)] }
  await succeeds(app, await changeOf(app, path, { clusterFilter }))
  await seconds(10)
  // SOFT: the copies that the policy no longer asks for stay.
  assert.deepEqual(await locationsOf(second), [cluster.extId, ids.cloud, ids.native])
  await succeeds(app, await app.call('DELETE', path))
})

test('a cluster without room fails the task, keeps no disk, and is tried again after 1, 2 and 4 minutes', async () => {
  const category = await aCategory(app)
  await advertised(1)
  const { extId, templateVersionSpec: version } = await aTemplate(app, source, {}, { categoryExtIds: [category] })
  const before = diskFacts(app.world).all().size
  const path = await aPolicy(category, await aClusterCategory(ids.native, ids.cloud))
  await seconds(20)
  const failures = async () => (await placements(extId)).filter(({ status }) => status === 'FAILED')
  assert.deepEqual(
    (await failures()).map(({ errorMessages }) => errorMessages[0].errorGroup),
    ['OUT_OF_STORAGE'],
  )
  assert.deepEqual(await locationsOf(version.extId), [cluster.extId, ids.cloud])
  assert.equal(diskFacts(app.world).all().size, before + 1)
  const counts = []
  for (const wait of [65, 60, 65, 120, 130]) {
    await seconds(wait)
    counts.push((await failures()).length)
  }
  assert.deepEqual(counts, [2, 2, 3, 3, 4])
  await advertised(undefined)
  await seconds(500)
  assert.deepEqual(await locationsOf(version.extId), [cluster.extId, ids.cloud, ids.native])
  assert.equal((await app.store.get(Template, extId))?.placementRetries, undefined)
  await succeeds(app, await app.call('DELETE', path))
})

test('a template that is deleted while its copy waits leaves no disk', async () => {
  const category = await aCategory(app)
  const { extId } = await aTemplate(app, source, {}, { categoryExtIds: [category], templateName: randomUUID() })
  const path = await aPolicy(category, await aClusterCategory(ids.native))
  const before = diskFacts(app.world).all().size
  const removal = remove(app.atOnce, `${templates}/${extId}`)
  await seconds(10)
  assert.equal((await app.task(await removal)).status, 'SUCCEEDED')
  await seconds(10)
  assert.ok(diskFacts(app.world).all().size < before)
  await checkInvariants(app)
  await succeeds(app, await app.call('DELETE', path))
})
