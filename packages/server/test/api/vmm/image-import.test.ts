import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, beforeEach, describe, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { ids } from '../../support/clustermgmt.ts'
import { filesOf, images, post, succeeds } from '../../support/content-policies.ts'
import { happen } from '../../support/events.ts'
import { aFault, removeFault, unavailable } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { type CallOptions, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
beforeEach(async () => {
  await app?.close()
  app = await startApp()
})
after(() => app.close())

const [golden, rescue] = [seedId('image/golden-2019.qcow2'), seedId('image/rescue.iso')]
const importing = (
  imagesExtIds: readonly string[],
  options: CallOptions = {},
  clusterExtId: string = ids.native,
): Promise<CallResult> => post(app, `${images}/$actions/import`, { clusterExtId, imagesExtIds }, options)

describe('import', () => {
  test('images that only the cluster has become images of the caller, with their ids, names, types and sizes', async () => {
    const as = await aUser(app, ['Developer'])
    assert.equal((await app.call('GET', `${images}/${golden}`, { as })).status, 404)
    const task = await succeeds(app, await importing([golden, rescue], { as }))
    assert.equal(task.operation, 'kImageImport')
    assert.deepEqual(
      task.entitiesAffected.map(({ extId, name, rel }: any) => [extId, name, rel]),
      [
        [golden, 'golden-2019.qcow2', 'vmm:content:image'],
        [rescue, 'rescue.iso', 'vmm:content:image'],
      ],
    )
    assert.deepEqual(
      task.subSteps.map(({ name }: any) => name),
      ['read metadata', 'adopt', 'store'],
    )
    const { data } = await app.call('GET', `${images}/${golden}`, { as })
    assert.deepEqual([data.name, data.type, data.sizeBytes], ['golden-2019.qcow2', 'DISK_IMAGE', 2 * 1024 ** 3])
    assert.deepEqual([data.ownerName, data.clusterLocationExtIds], [as.split(':')[0], [ids.native]])
    assert.equal((await app.call('GET', `${images}/${rescue}`)).data.type, 'ISO_IMAGE')
    const file = await app.call('GET', `${images}/${rescue}/file`, { as })
    assert.equal(file.data.contentLength, 1024 ** 3)
  })

  test('ids that the cluster does not have, and images of this manager, are 404, all of them listed', async () => {
    const [unknown, own] = [randomUUID(), seedId('image/centos-9.qcow2')]
    const { total } = await app.call('GET', images)
    const refused = await importing([golden, unknown, own])
    assert.equal(refused.status, 404)
    assert.deepEqual(
      refused.errors.map(({ code, argumentsMap }) => [code, argumentsMap?.['extId'], argumentsMap?.['attributePath']]),
      [
        ['VMM-20005', unknown, 'imagesExtIds[1]'],
        ['VMM-20005', own, 'imagesExtIds[2]'],
      ],
    )
    assert.equal((await importing([golden], {}, ids.cloud)).status, 404)
    assert.equal((await importing([golden], {}, randomUUID())).status, 404)
    assert.equal((await app.call('GET', images)).total, total)
    await succeeds(app, await importing([golden]))
    assert.equal((await importing([golden])).status, 404)
  })

  test('an empty list, an image named twice and more than 100 images are 400; a caller without the right gets 403', async () => {
    for (const wrong of [[], [golden, golden], Array.from({ length: 101 }, () => randomUUID()), ['../../etc']])
      assert.equal((await importing(wrong)).status, 400)
    const as = await aUser(app, ['Platform Viewer'])
    assert.equal((await importing([golden], { as })).status, 403)
  })

  test('an import that fails is undone: only the cluster has the images, and they can be imported again', async () => {
    const { total } = await app.call('GET', images)
    const rule = await aFault(app, { driverCall: { driver: 'contentSource', method: 'adopt' } }, unavailable, {
      nth: 2,
    })
    const task = await app.task(await importing([golden, rescue]))
    assert.equal(task.status, 'FAILED')
    await removeFault(app, rule)
    assert.equal((await app.call('GET', images)).total, total)
    assert.deepEqual(filesOf(app, golden), [ids.native])
    await succeeds(app, await importing([golden, rescue]))
  })

  test('a cluster that does not answer refuses the import with 503', async () => {
    await happen(app, { type: 'CLUSTER_CUT_OFF', cluster: ids.native })
    assert.equal((await importing([golden])).status, 503)
  })

  test('of two concurrent imports of one image, one is accepted', async () => {
    const answers = await Promise.all([importing([golden]), importing([golden])])
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [202, 404])
  })
})
