import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { ids } from '../../support/clustermgmt.ts'
import {
  allOf,
  anyOf,
  changeOf,
  filesOf,
  imageBody,
  images,
  locationsOf,
  made,
  placementBody,
  placementPolicies,
  post,
  rateLimitBody,
  rateLimitPolicies,
  succeeds,
} from '../../support/content-policies.ts'
import { happen } from '../../support/events.ts'
import { aFault, removeFault, unavailable } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { aNativeCluster, aVm, emptyDisk, postVm } from '../../support/native-cluster.ts'
import { aCategory } from '../../support/policies.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { failed, send } from '../../support/vm-parts.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const { native, cloud } = ids
const seconds = (number: number): Promise<unknown> => app.clock.advance(number * 1000)
const associate = async (cluster: string, ...categories: string[]): Promise<void> => {
  const path = `/clustermgmt/v4.2/config/clusters/${cluster}/$actions/associate-categories`
  await succeeds(app, await post(app, path, { categories }))
}
async function aClusterCategory(...clusters: string[]): Promise<string> {
  const category = await aCategory(app)
  for (const cluster of clusters) await associate(cluster, category)
  return category
}
/** An image of 1,800 MiB, a size that follows from its URL, on these clusters; with a category of its own. */
async function anImage(...clusters: string[]): Promise<{ extId: string; category: string }> {
  const category = await aCategory(app)
  const body = { ...imageBody('governed'), categoryExtIds: [category], clusterLocationExtIds: clusters }
  return { extId: await made(app, images, body), category }
}
const aPolicy = async (imageCategory: string, clusterCategory: string, more: object = {}): Promise<string> => {
  const body = { ...placementBody(imageCategory, clusterCategory), ...more }
  return `${placementPolicies}/${await made(app, placementPolicies, body)}`
}
const remove = async (path: string): Promise<any> => succeeds(app, await app.call('DELETE', path))
const idOf = (path: string): string => path.split('/').at(-1) as string
const statuses = async (image: string): Promise<any[]> =>
  (await app.call('GET', `${images}/${image}`)).data.placementPolicyStatus ?? []
const verdicts = async (image: string): Promise<string[]> =>
  (await statuses(image)).map(({ complianceStatus, enforcementMode }) => `${complianceStatus} ${enforcementMode}`)
const placements = async (image: string): Promise<any[]> => {
  const { data } = await app.call(
    'GET',
    `/platform/v4.3/config/tasks?$filter=operation eq 'kImagePlacementEnforce'&$limit=100`,
  )
  return (data ?? []).filter(({ entitiesAffected }: any) => entitiesAffected[0].extId === image)
}

describe('enforcement', () => {
  test('a HARD policy moves an image: it disappears from the other cluster, and is COMPLIANT', async () => {
    const image = await anImage(native)
    const before = await app.call('GET', `${images}/${image.extId}`)
    const path = await aPolicy(image.category, await aClusterCategory(cloud))
    assert.deepEqual(await verdicts(image.extId), ['NON_COMPLIANT ENFORCING'])
    await seconds(5)
    assert.deepEqual(await locationsOf(app, image.extId), [cloud])
    assert.deepEqual(filesOf(app, image.extId), [cloud])
    const [status] = await statuses(image.extId)
    assert.deepEqual(status, {
      placementPolicyExtId: idOf(path),
      complianceStatus: 'COMPLIANT',
      enforcementMode: 'ENFORCING',
      policyClusterExtIds: [cloud],
      enforcedClusterExtIds: [cloud],
      conflictingPolicyExtIds: [],
    })
    assert.notEqual((await app.call('GET', `${images}/${image.extId}`)).etag, before.etag)
    const [task] = await placements(image.extId)
    assert.deepEqual([task.status, task.isBackgroundTask], ['SUCCEEDED', true])
    assert.deepEqual(
      task.entitiesAffected.map(({ rel }: any) => rel),
      ['vmm:content:image', 'vmm:images:config:placement-policy'],
    )
    await remove(path)
    assert.deepEqual(await statuses(image.extId), [])
    await seconds(60)
    assert.deepEqual(await locationsOf(app, image.extId), [cloud])
  })

  test('a SOFT policy adds copies and removes none', async () => {
    const image = await anImage(native)
    const path = await aPolicy(image.category, await aClusterCategory(cloud), { placementType: 'SOFT' })
    await seconds(5)
    assert.deepEqual(await locationsOf(app, image.extId), [native, cloud])
    assert.deepEqual(await verdicts(image.extId), ['COMPLIANT ENFORCING'])
    await remove(path)
  })

  test('an image that gets the category, and a cluster that gets it, are enforced within 5 s', async () => {
    const [imageCategory, clusterCategory] = [await aCategory(app), await aCategory(app)]
    const path = await aPolicy(imageCategory, clusterCategory, { placementType: 'SOFT' })
    const image = await anImage(native)
    await succeeds(app, await changeOf(app, `${images}/${image.extId}`, { categoryExtIds: [imageCategory] }))
    await seconds(5)
    assert.deepEqual(await locationsOf(app, image.extId), [native])
    assert.deepEqual(await verdicts(image.extId), ['NON_COMPLIANT ENFORCEMENT_FAILED'])
    await associate(cloud, clusterCategory)
    await seconds(5)
    assert.deepEqual(await locationsOf(app, image.extId), [native, cloud])
    await remove(path)
  })

  test('MATCH_ALL selects images with all categories, MATCH_ANY those with one', async () => {
    const [one, two, clusterCategory] = [await aCategory(app), await aCategory(app), await aClusterCategory(cloud)]
    const [first, both] = [await anImage(native), await anImage(native)]
    const carrying = async (extId: string, ...categoryExtIds: string[]): Promise<unknown> =>
      succeeds(app, await changeOf(app, `${images}/${extId}`, { categoryExtIds }))
    await carrying(first.extId, one)
    await carrying(both.extId, one, two)
    const path = await aPolicy(one, clusterCategory, { placementType: 'SOFT', imageEntityFilter: allOf(one, two) })
    await seconds(5)
    assert.deepEqual(await locationsOf(app, first.extId), [native])
    assert.deepEqual(await locationsOf(app, both.extId), [native, cloud])
    await succeeds(app, await changeOf(app, path, { imageEntityFilter: anyOf(one, two) }))
    await seconds(5)
    assert.deepEqual(await locationsOf(app, first.extId), [native, cloud])
    await remove(path)
  })

  test('two HARD policies with disjoint clusters list each other as conflicting, and nothing moves', async () => {
    const image = await anImage(native)
    const one = await aPolicy(image.category, await aClusterCategory(cloud), { enforcementState: 'SUSPENDED' })
    const two = await aPolicy(image.category, await aClusterCategory(native))
    await succeeds(app, await changeOf(app, one, 'resume'))
    await seconds(10)
    assert.deepEqual(await locationsOf(app, image.extId), [native])
    assert.deepEqual(await verdicts(image.extId), [
      'NON_COMPLIANT ENFORCEMENT_FAILED',
      'NON_COMPLIANT ENFORCEMENT_FAILED',
    ])
    const conflicts = (await statuses(image.extId)).map((each) => [
      each.placementPolicyExtId,
      each.conflictingPolicyExtIds,
    ])
    assert.deepEqual(conflicts, [
      [idOf(one), [idOf(two)]],
      [idOf(two), [idOf(one)]],
    ])
    assert.deepEqual(await placements(image.extId), [])
    await remove(two)
    await seconds(5)
    assert.deepEqual(await locationsOf(app, image.extId), [cloud])
    await remove(one)
  })

  test('two HARD policies that share a cluster leave the image there alone', async () => {
    const image = await anImage(native)
    const one = await aPolicy(image.category, await aClusterCategory(cloud, native))
    await seconds(5)
    assert.deepEqual((await locationsOf(app, image.extId)).toSorted(), [native, cloud].toSorted())
    const two = await aPolicy(image.category, await aClusterCategory(cloud))
    await seconds(5)
    assert.deepEqual(await locationsOf(app, image.extId), [cloud])
    assert.deepEqual(await verdicts(image.extId), ['COMPLIANT ENFORCING', 'COMPLIANT ENFORCING'])
    await remove(one)
    await remove(two)
  })

  test('a cluster that does not answer gets its copy when it returns, and the last copy stays until then', async () => {
    const image = await anImage(native)
    const category = await aClusterCategory(cloud)
    await happen(app, { type: 'CLUSTER_CUT_OFF', cluster: cloud })
    const path = await aPolicy(image.category, category)
    await seconds(70)
    assert.deepEqual(await locationsOf(app, image.extId), [native])
    assert.deepEqual(await verdicts(image.extId), ['NON_COMPLIANT ENFORCEMENT_FAILED'])
    await happen(app, { type: 'CLUSTER_RETURNS', cluster: cloud })
    await seconds(5)
    assert.deepEqual(await locationsOf(app, image.extId), [cloud])
    await remove(path)
  })

  test('a cluster without room fails the task, which is tried again after 1, 2 and 4 minutes', async () => {
    const image = await anImage(cloud)
    const container = await app.store.findOne(StorageContainer, { clusterExtId: native, name: 'SelfServiceContainer' })
    assert.ok(container !== undefined)
    const { extId, logicalAdvertisedCapacityBytes } = container
    const advertise = (bytes: number | undefined): Promise<unknown> =>
      app.store.transaction((tx) => tx.update(StorageContainer, extId, { logicalAdvertisedCapacityBytes: bytes }))
    await advertise(1)
    const path = await aPolicy(image.category, await aClusterCategory(native))
    await seconds(30)
    const tasks = await placements(image.extId)
    assert.deepEqual(
      tasks.map(({ status, errorMessages }) => [status, errorMessages[0].errorGroup]),
      [['FAILED', 'OUT_OF_STORAGE']],
    )
    assert.deepEqual(filesOf(app, image.extId), [cloud])
    const counts = []
    for (const wait of [40, 60, 65]) {
      await seconds(wait)
      counts.push((await placements(image.extId)).length)
    }
    assert.deepEqual(counts, [2, 2, 3])
    await advertise(logicalAdvertisedCapacityBytes)
    await seconds(200)
    assert.deepEqual(await locationsOf(app, image.extId), [cloud])
    await succeeds(app, await changeOf(app, path, { description: 'changed' }))
    await seconds(5)
    assert.deepEqual(await locationsOf(app, image.extId), [native])
    await remove(path)
  })

  test('placements that always fail do not stop the placement of other images', async () => {
    const [clusterCategory, imageCategory] = [await aClusterCategory(native), await aCategory(app)]
    const container = await app.store.findOne(StorageContainer, { clusterExtId: native, name: 'SelfServiceContainer' })
    assert.ok(container !== undefined)
    const { extId, logicalAdvertisedCapacityBytes } = container
    const advertise = (bytes: number | undefined): Promise<unknown> =>
      app.store.transaction((tx) => tx.update(StorageContainer, extId, { logicalAdvertisedCapacityBytes: bytes }))
    const failing: string[] = []
    for (let index = 0; index < 16; index++) {
      const body = { ...imageBody(randomUUID()), categoryExtIds: [imageCategory], clusterLocationExtIds: [cloud] }
      failing.push(await made(app, images, body))
    }
    const other = await anImage(native)
    await advertise(1)
    const paths = [
      await aPolicy(imageCategory, clusterCategory),
      await aPolicy(other.category, await aClusterCategory(cloud)),
    ]
    await seconds(200)
    assert.deepEqual(await locationsOf(app, other.extId), [cloud])
    for (const image of failing) assert.deepEqual(filesOf(app, image), [cloud])
    for (const path of paths) await remove(path)
    await advertise(logicalAdvertisedCapacityBytes)
    for (const image of failing) await remove(`${images}/${image}`)
  })

  test('a copy respects the rate limit of its cluster', async () => {
    const image = await anImage(native)
    const clusterCategory = await aClusterCategory(cloud)
    const limit = await made(app, rateLimitPolicies, rateLimitBody(clusterCategory))
    const path = await aPolicy(image.category, clusterCategory)
    const { sizeBytes } = (await app.call('GET', `${images}/${image.extId}`)).data
    const needed = sizeBytes / 10_000_000
    await seconds(needed - 0.1)
    assert.deepEqual(await locationsOf(app, image.extId), [native])
    // The enforcement starts within 5 s.
    await seconds(5.2)
    assert.deepEqual(await locationsOf(app, image.extId), [cloud])
    await remove(`${rateLimitPolicies}/${limit}`)
    await remove(path)
  })
})

describe('a PUT during a placement', () => {
  test('a PUT of the name, accepted while a policy copies the image, keeps the copy', async () => {
    const image = await anImage(native)
    const clusterCategory = await aClusterCategory(cloud)
    const limit = await made(app, rateLimitPolicies, rateLimitBody(clusterCategory))
    const path = await aPolicy(image.category, clusterCategory, { placementType: 'SOFT' })
    await seconds(6)
    assert.equal((await placements(image.extId))[0].status, 'RUNNING')
    const started = await changeOf(app, `${images}/${image.extId}`, { name: 'renamed' })
    await seconds(300)
    await succeeds(app, started)
    assert.deepEqual(await locationsOf(app, image.extId), [native, cloud])
    assert.equal((await placements(image.extId)).length, 1)
    await remove(path)
    await remove(`${rateLimitPolicies}/${limit}`)
  })
})

describe('suspend and resume', () => {
  test('a suspended policy moves nothing, and moves again when it is resumed', async () => {
    const image = await anImage(native)
    const path = await aPolicy(image.category, await aClusterCategory(cloud))
    const task = await succeeds(app, await changeOf(app, path, 'suspend'))
    assert.equal(task.operation, 'SuspendPlacementPolicy')
    assert.equal((await app.call('GET', path)).data.enforcementState, 'SUSPENDED')
    await seconds(60)
    assert.deepEqual(await locationsOf(app, image.extId), [native])
    assert.deepEqual(await statuses(image.extId), [])
    assert.equal((await changeOf(app, path, 'suspend')).status, 409)
    await succeeds(app, await changeOf(app, path, 'resume'))
    assert.equal((await changeOf(app, path, 'resume')).status, 409)
    await seconds(5)
    assert.deepEqual(await locationsOf(app, image.extId), [cloud])
    await remove(path)
  })

  test('running copies go on after a suspension, or are cancelled where the request says so', async () => {
    const clusterCategory = await aClusterCategory(cloud)
    const limit = await made(app, rateLimitPolicies, rateLimitBody(clusterCategory))
    for (const shouldCancelRunningTasks of [false, true]) {
      const image = await anImage(native)
      const path = await aPolicy(image.category, clusterCategory, { placementType: 'SOFT' })
      await seconds(6)
      assert.equal((await placements(image.extId))[0].status, 'RUNNING')
      const { etag } = await app.call('GET', path)
      const options = { ifMatch: etag as string }
      await succeeds(app, await post(app, `${path}/$actions/suspend`, { shouldCancelRunningTasks }, options))
      await seconds(300)
      const [task, ...others] = await placements(image.extId)
      assert.deepEqual([task.status, others], [shouldCancelRunningTasks ? 'CANCELED' : 'SUCCEEDED', []])
      assert.deepEqual(filesOf(app, image.extId).length, shouldCancelRunningTasks ? 1 : 2)
      await remove(path)
    }
    await remove(`${rateLimitPolicies}/${limit}`)
  })

  test('a PUT with another enforcement state is 400, and a PUT without one keeps the stored state', async () => {
    const path = await aPolicy(await aCategory(app), await aCategory(app))
    assert.equal((await changeOf(app, path, { enforcementState: 'SUSPENDED' })).status, 400)
    await succeeds(app, await changeOf(app, path, 'suspend'))
    await succeeds(app, await changeOf(app, path, { enforcementState: undefined, description: 'kept' }))
    const { data } = await app.call('GET', path)
    assert.deepEqual([data.enforcementState, data.description], ['SUSPENDED', 'kept'])
    const withoutTag = await post(app, `${path}/$actions/resume`, {})
    assert.equal(withoutTag.status, 428)
    await remove(path)
  })
})

describe('VMs and new images', () => {
  const diskOf = (imageExtId: string) => ({
    backingInfo: { dataSource: { reference: { $objectType: 'vmm.v4.ahv.config.ImageReference', imageExtId } } },
  })

  test('a VM with a disk from an image that a HARD policy keeps off its cluster ends FAILED; SOFT copies it', async () => {
    const cluster = await aNativeCluster(app)
    const image = await anImage(native)
    const clusterCategory = await aClusterCategory(native)
    const hard = await aPolicy(image.category, clusterCategory)
    await seconds(5)
    const task = await app.task(await postVm(app, cluster, { disks: [diskOf(image.extId)] }))
    assert.equal(task.status, 'FAILED')
    assert.equal(task.errorMessages[0].errorGroup, 'IMAGE_PLACEMENT_FORBIDDEN')
    const { name } = (await app.call('GET', hard)).data
    assert.ok(task.errorMessages[0].message.includes(name))
    assert.deepEqual(filesOf(app, image.extId), [native])
    const {
      extId: vm,
      disks: [disk],
    } = await aVm(app, cluster, { disks: [emptyDisk()] })
    const reference = diskOf(image.extId)
    for (const [method, part] of [
      ['POST', 'disks'],
      ['PUT', `disks/${disk.extId}`],
      ['POST', 'cd-roms'],
    ] as const) {
      const { errorMessages } = await failed(app, send(app, method, `${vm}/${part}`, reference))
      assert.equal(errorMessages[0].errorGroup, 'IMAGE_PLACEMENT_FORBIDDEN', part)
    }
    assert.deepEqual(filesOf(app, image.extId), [native])
    await succeeds(app, await changeOf(app, hard, { placementType: 'SOFT' }))
    await succeeds(app, await postVm(app, cluster, { disks: [diskOf(image.extId)] }))
    assert.deepEqual(await locationsOf(app, image.extId), [native, cluster.extId])
    await remove(hard)
  })

  test('a creation that fails between the copies of two images leaves neither copy', async () => {
    const cluster = await aNativeCluster(app)
    const made = [await anImage(native), await anImage(native)]
    const second = { $objectType: 'control.v1.NthTrigger', nth: 2 }
    const rule = await aFault(app, { driverCall: { driver: 'contentSource', method: 'copy' } }, unavailable, second)
    const disks = made.map(({ extId }) => diskOf(extId))
    const task = await app.task(await postVm(app, cluster, { disks }))
    await removeFault(app, rule)
    assert.equal(task.status, 'FAILED')
    for (const { extId } of made) assert.deepEqual(filesOf(app, extId), [native])
    await succeeds(app, await postVm(app, cluster, { disks }))
  })

  test('a disk whose new content cannot be created leaves no copy of its image', async () => {
    const cluster = await aNativeCluster(app)
    const image = await anImage(native)
    const {
      extId: vm,
      disks: [disk],
    } = await aVm(app, cluster, { disks: [emptyDisk()] })
    const rule = await aFault(app, { driverCall: { driver: 'hypervisor', method: 'createDisk' } }, unavailable)
    await failed(app, send(app, 'PUT', `${vm}/disks/${disk.extId}`, diskOf(image.extId)))
    await removeFault(app, rule)
    assert.deepEqual(filesOf(app, image.extId), [native])
    await succeeds(app, await send(app, 'PUT', `${vm}/disks/${disk.extId}`, diskOf(image.extId)))
    assert.deepEqual(await locationsOf(app, image.extId), [native, cluster.extId])
  })

  test('a new image without a location is stored on a cluster that its placement policies choose', async () => {
    const category = await aCategory(app)
    for (const cluster of [native, cloud]) {
      const path = await aPolicy(category, await aClusterCategory(cluster))
      const image = await made(app, images, { ...imageBody(randomUUID()), categoryExtIds: [category] })
      assert.deepEqual(await locationsOf(app, image), [cluster])
      await remove(path)
    }
  })
})

describe('policies', () => {
  test('a policy is created ACTIVE, and a name in use, an unknown category and a broken filter are refused', async () => {
    const [one, two] = [await aCategory(app), await aCategory(app)]
    const body = placementBody(one, two)
    const path = `${placementPolicies}/${await made(app, placementPolicies, body)}`
    const { data } = await app.call('GET', path)
    assert.deepEqual([data.enforcementState, data.ownerName], ['ACTIVE', 'admin'])
    const { total } = await app.call('GET', placementPolicies)
    const refused = async (more: object): Promise<unknown[]> => {
      const { status, errors } = await post(app, placementPolicies, { ...placementBody(one, two), ...more })
      return [status, errors[0]?.code]
    }
    assert.deepEqual(await refused({ name: body.name.toUpperCase() }), [409, 'VMM-30105'])
    assert.deepEqual(await refused({ imageEntityFilter: anyOf(one, randomUUID()) }), [404, 'VMM-20005'])
    for (const more of [
      { placementType: 'MEDIUM' },
      { imageEntityFilter: undefined },
      { clusterEntityFilter: anyOf() },
      { clusterEntityFilter: anyOf(...Array.from({ length: 101 }, () => randomUUID())) },
      { name: 'bell\u0007' },
    ])
      assert.equal((await refused(more))[0], 400, JSON.stringify(more).slice(0, 60))
    assert.equal((await app.call('GET', placementPolicies)).total, total)
    const suspended = `${placementPolicies}?$filter=enforcementState eq 'SUSPENDED'`
    assert.equal((await app.call('GET', suspended)).total, 0)
    assert.equal((await app.call('DELETE', `/platform/v4.3/config/categories/${one}`)).status, 409)
    await remove(path)
  })

  test('a Project Admin reads policies, a Consumer creates them; neither changes or suspends one', async () => {
    const path = await aPolicy(await aCategory(app), await aCategory(app))
    const body = placementBody(await aCategory(app), await aCategory(app))
    for (const [role, status] of [
      ['Project Admin', 403],
      ['Consumer', 202],
    ] as const) {
      const as = await aUser(app, [role])
      assert.equal((await app.call('GET', path, { as })).status, 200)
      assert.equal((await post(app, placementPolicies, body, { as })).status, status)
      assert.equal((await changeOf(app, path, { description: 'x' }, { as })).status, 403)
      assert.equal((await changeOf(app, path, 'suspend', { as })).status, 403)
      assert.equal((await app.call('DELETE', path, { as })).status, 403)
    }
    const as = await aUser(app, ['Virtual Machine Admin'])
    assert.equal((await changeOf(app, path, 'suspend', { as })).status, 403)
    await succeeds(app, await changeOf(app, path, { description: 'x' }, { as }))
    await remove(path)
  })
})
