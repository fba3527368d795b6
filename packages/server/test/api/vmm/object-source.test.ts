/** Images and OVAs from objects of the operator's object store. Source: behaviour vmm.md 1.8, 1.11. */
import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import type { Config } from '../../../src/config/config.ts'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { ids } from '../../support/clustermgmt.ts'
import { made, rateLimitBody, rateLimitPolicies, succeeds } from '../../support/content-policies.ts'
import { anArchive, deployOva, downloadOf, ovas, readOva } from '../../support/ovas.ts'
import { aCategory } from '../../support/policies.ts'
import { accessKeyId, type S3Server, secretAccessKey, startS3Server } from '../../support/s3-server.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { inside } from '../../support/worlds.ts'

const images = '/vmm/v4.2/content/images'
const MiB = 1024 ** 2
const cluster = seedId('cluster/hp-native-01')
/** Three parts. */
const content = randomBytes(9 * MiB + 1)
const sha256 = createHash('sha256').update(content).digest('hex')

let server: S3Server
let app: TestApp
before(async () => {
  server = await startS3Server()
  app = await startApp({ config: server.config })
})
after(async () => {
  await app.close()
  await server.close()
})
beforeEach(() => {
  server.hook = () => undefined
  server.asked.length = 0
  server.objects.set('vmm-images/disks/a disk + ü%2e.qcow2', content)
})

const key = 'disks/a disk + ü%2e.qcow2'
const sourceOf = (key: string) => ({ $objectType: 'vmm.v4.content.ObjectsLiteSource', key })
const imageOf = (more: object = {}) => ({ name: 'stored', type: 'DISK_IMAGE', source: sourceOf(key), ...more })
const ovaOf = (key: string, more: object = {}) => ({
  name: 'stored',
  source: sourceOf(key),
  clusterLocationExtIds: [cluster],
  ...more,
})
const checksum = (hexDigest: string) => ({ $objectType: 'vmm.v4.content.ImageSha256Checksum', hexDigest })
const post = (path: string, body: object, of = app): Promise<CallResult> =>
  of.call('POST', path, { body, requestId: randomUUID() })

async function created(path: string, body: object, of = app): Promise<any> {
  const task = await of.task(await post(path, body, of))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return (await of.call('GET', `${path}/${task.entitiesAffected[0].extId}`)).data
}

/** Names of the files with content that lie below the world's folder. */
function filesOf({ folder }: TestApp): string[] {
  try {
    return readdirSync(join(folder, 'world/content')).sort()
  } catch {
    return []
  }
}

async function bytesOf(of: TestApp, extId: string): Promise<{ bytes: Buffer; headers: Record<string, string> }> {
  const { data } = await of.call('GET', `${images}/${extId}/file`)
  const parts: Uint8Array[] = []
  for await (const part of data.content as AsyncIterable<Uint8Array>) parts.push(part)
  return { bytes: Buffer.concat(parts), headers: data.headers }
}

/** The task fails, names bucket and key but no credentials and no host, and leaves nothing. @returns its first error */
async function failed(path: string, body: object, of = app): Promise<any> {
  const files = filesOf(of)
  const task = await of.task(await post(path, body, of))
  assert.equal(task.status, 'FAILED')
  const [error] = task.errorMessages
  const { key } = (body as ReturnType<typeof imageOf>).source
  assert.ok(error.message.includes(`${path === images ? 'vmm-images' : 'vmm-ovas'}/${key}`), error.message)
  for (const secret of [accessKeyId, secretAccessKey, '127.0.0.1'])
    assert.ok(!JSON.stringify(task).includes(secret), error.message)
  assert.equal((await of.call('GET', `${path}/${task.entitiesAffected[0].extId}`)).status, 404)
  assert.deepEqual(filesOf(of), files)
  return error
}

describe('an image from an object', () => {
  test('has the size and the bytes of the object, and a file on each cluster', async () => {
    const image = await created(
      images,
      imageOf({ checksum: checksum(sha256), clusterLocationExtIds: [cluster, ids.cloud] }),
    )
    assert.equal(image.sizeBytes, content.length)
    assert.deepEqual(image.source, sourceOf(key))
    assert.deepEqual(filesOf(app), [cluster, ids.cloud].map((each) => `${image.extId}.${each}`).sort())
    const { bytes, headers } = await bytesOf(app, image.extId)
    assert.ok(bytes.equals(content))
    assert.equal(headers['Digest'], `sha-256=${Buffer.from(sha256, 'hex').toString('base64')}`)
    const largest = Math.max(...server.asked.map(({ first, last }) => last - first + 1))
    assert.ok(largest <= 4 * MiB, `a part of ${largest} bytes`)

    const { data } = await app.call('DELETE', `${images}/${image.extId}`)
    assert.equal((await app.task(data.extId)).status, 'SUCCEEDED')
    assert.deepEqual(filesOf(app), [])
  })

  test('keeps its bytes on the second cluster when the first one loses it', async () => {
    const image = await created(images, imageOf({ clusterLocationExtIds: [cluster, ids.cloud] }))
    const { etag } = await app.call('GET', `${images}/${image.extId}`)
    const body = { name: image.name, type: image.type, clusterLocationExtIds: [ids.cloud] }
    const put = { body, ifMatch: etag as string, requestId: randomUUID() }
    assert.equal((await app.task(await app.call('PUT', `${images}/${image.extId}`, put))).status, 'SUCCEEDED')
    assert.deepEqual(filesOf(app), [`${image.extId}.${ids.cloud}`])
    assert.ok((await bytesOf(app, image.extId)).bytes.equals(content))
    await app.task(await app.call('DELETE', `${images}/${image.extId}`))
  })

  test('with a wrong checksum fails, names both digests, and leaves no file', async () => {
    const body = imageOf({ checksum: checksum('0123456789abcdef'.repeat(4)) })
    const task = await app.task(await post(images, body))
    assert.deepEqual([task.status, task.errorMessages[0].errorGroup], ['FAILED', 'CHECKSUM_MISMATCH'])
    assert.ok(task.errorMessages[0].message.includes(sha256))
    assert.deepEqual(filesOf(app), [])
  })

  test('survives a connection that breaks off', async () => {
    let breaks = 2
    server.hook = ({ first }) => (first > 0 && breaks-- > 0 ? 'break' : undefined)
    const image = await created(images, imageOf())
    assert.ok((await bytesOf(app, image.extId)).bytes.equals(content))
    await app.task(await app.call('DELETE', `${images}/${image.extId}`))
  })

  test('is copied no faster than the rate limit of its cluster', async () => {
    const category = await aCategory(app)
    const path = `/clustermgmt/v4.2/config/clusters/${cluster}/$actions/associate-categories`
    await succeeds(app, await post(path, { categories: [category] }))
    const limit = await made(app, rateLimitPolicies, { ...rateLimitBody(category), rateLimitKbps: 1000 })
    const started = await post(images, imageOf())
    await app.clock.advance((content.length / 1_000_000 - 1) * 1000)
    const taskPath = `/platform/v4.3/config/tasks/${started.data.extId}`
    const { status, progressPercentage } = (await app.call('GET', taskPath)).data
    assert.equal(status, 'RUNNING')
    assert.ok(progressPercentage > 50, String(progressPercentage))
    await app.clock.advance(2000)
    const task = (await app.call('GET', taskPath)).data
    assert.equal(task.status, 'SUCCEEDED')
    await app.task(await app.call('DELETE', `${images}/${task.entitiesAffected[0].extId}`))
    await app.task(await app.call('DELETE', `${rateLimitPolicies}/${limit}`))
  })

  test('whose file is lost answers a download with an error at once', async () => {
    const image = await created(images, imageOf())
    rmSync(join(app.folder, 'world/content', `${image.extId}.${cluster}`))
    const { status, errors } = await app.call('GET', `${images}/${image.extId}/file`)
    assert.equal(status, 503, JSON.stringify(errors))
    const body = { name: image.name, type: image.type, clusterLocationExtIds: [cluster, ids.cloud] }
    const { etag } = await app.call('GET', `${images}/${image.extId}`)
    const put = { body, ifMatch: etag as string, requestId: randomUUID() }
    const task = await app.task(await app.call('PUT', `${images}/${image.extId}`, put))
    assert.equal(task.status, 'FAILED')
    assert.match(task.errorMessages[0].message, /does not hold the content/)
    await app.task(await app.call('DELETE', `${images}/${image.extId}`))
  })

  test('is in forks of its world, and stays there when the world deletes it', async () => {
    const image = await created(images, imageOf())
    const fork = await app.call('POST', '/control/v1/worlds/default/$actions/fork', { body: { name: 'forked' } })
    assert.equal(fork.status, 201, JSON.stringify(fork.errors))
    await app.task(await app.call('DELETE', `${images}/${image.extId}`))
    assert.equal((await app.call('POST', '/control/v1/worlds/forked/$actions/reset')).status, 200)
    assert.ok((await bytesOf(inside(app, 'forked'), image.extId)).bytes.equals(content))
  })

  test('that is cancelled leaves no image and no file', async () => {
    const reached = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    server.hook = ({ first }) => {
      if (first === 0) return undefined
      reached.resolve()
      return gate.promise
    }
    const started = await post(images, imageOf(), app.atOnce)
    await reached.promise
    assert.equal(filesOf(app).length, 1)
    const path = `/platform/v4.3/config/tasks/${started.data.extId}/$actions/cancel`
    assert.equal((await app.atOnce.call('POST', path)).status, 200)
    gate.resolve()
    assert.equal((await app.task(started)).status, 'CANCELED')
    assert.deepEqual(filesOf(app), [])
  })
})

describe('an object that cannot be read', () => {
  const reasons: readonly [string, () => void, RegExp][] = [
    ['is missing', () => server.objects.set('vmm-images/other', content), /there is no such object/],
    ['is empty', () => server.objects.set('vmm-images/x', Buffer.alloc(0)), /the object is empty/],
  ]
  for (const [title, prepare, expected] of reasons)
    test(`${title}: the task says so`, async () => {
      prepare()
      const error = await failed(images, imageOf({ source: sourceOf('x') }))
      assert.deepEqual([error.code, error.errorGroup], ['VMM-50001', 'SOURCE_UNAVAILABLE'])
      assert.match(error.message, expected)
      server.objects.delete('vmm-images/x')
    })

  test('because its bucket is missing fails an OVA', async () => {
    const error = await failed(ovas, ovaOf('x.ova'))
    assert.equal(error.errorGroup, 'SOURCE_UNAVAILABLE')
    assert.match(error.message, /no such bucket/)
  })

  test('because it changes while it is read fails the task, also when its size stays', async () => {
    const other = randomBytes(content.length)
    server.hook = ({ path, first }) => {
      if (first > 0) server.objects.set(path, other)
      return undefined
    }
    assert.match((await failed(images, imageOf())).message, /changed while it was read/)
  })

  test('because the access key is wrong, or nothing answers, fails the task', async () => {
    const objectStoreKey = { accessKeyId, secretAccessKey: 'not-the-secret' }
    const denied = await startApp({ config: { ...server.config, objectStoreKey } })
    assert.match((await failed(images, imageOf(), denied)).message, /refuses access.*SignatureDoesNotMatch/)
    await denied.close()
    const gone = await startApp({ config: { ...server.config, objectStore: 'http://127.0.0.1:1' } })
    assert.match((await failed(images, imageOf(), gone)).message, /cannot be reached: it refuses the connection/)
    await gone.close()
    const closed = await startApp({ config: { ...server.config, allowAddress: [] } })
    assert.match((await failed(images, imageOf(), closed)).message, /--allow-address/)
    await closed.close()
  })
})

test('without an object store, images and OVAs from objects are refused with the option that sets one', async () => {
  const without = await startApp()
  for (const [path, body, source] of [
    [images, imageOf(), `vmm-images/${key}`],
    [ovas, ovaOf('x.ova'), 'vmm-ovas/x.ova'],
  ] as const) {
    const { status, errors } = await post(path, body, without)
    assert.deepEqual([status, errors[0]?.errorGroup], [422, 'SOURCE_UNAVAILABLE'])
    assert.match(errors[0]?.message as string, /--object-store/)
    assert.ok(errors[0]?.message.includes(source))
  }
  await without.close()
})

test('keys that would lead to another object or bucket are refused', async () => {
  server.objects.set('private/secret', content)
  for (const key of ['../private/secret', 'a/../../private/secret', '/a', './a', 'a/.', '..'])
    for (const [path, body] of [
      [images, imageOf({ source: sourceOf(key) })],
      [ovas, ovaOf(key)],
    ] as const) {
      const { status, errors } = await post(path, body)
      assert.equal(status, 400, key)
      assert.equal(errors[0]?.argumentsMap?.['attributePath'] ?? errors[0]?.attributePath, 'source/key')
    }
  assert.deepEqual(server.asked, [])
})

test('an OVA from an object has its bytes and its description, and its VM is deployed on each location', async () => {
  const bytes = await anArchive(app, cluster)
  server.objects.set('vmm-ovas/appliance.ova', bytes)

  const clusterLocationExtIds = [cluster, ids.cloud]
  const { extId } = await created(ovas, ovaOf('appliance.ova', { clusterLocationExtIds }))
  const ova = await readOva(app, extId)
  assert.deepEqual([ova.sizeBytes, ova.diskFormat, ova.parentVm], [bytes.length, 'VMDK', 'archive'])
  assert.equal(ova.checksum.hexDigest, createHash('sha256').update(bytes).digest('hex'))
  assert.ok((await downloadOf(app, extId)).bytes.equals(bytes))
  for (const location of clusterLocationExtIds) {
    const task = await app.task(await deployOva(app, extId, location))
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  }
  assert.equal(filesOf(app).length, 2)
  await app.task(await app.call('DELETE', `${ovas}/${extId}`))
  assert.deepEqual(filesOf(app), [])
})

test('an OVA for which its cluster has no room is refused before its object is read', async () => {
  server.objects.set('vmm-ovas/large.ova', content)
  const containers = await app.store.findWhere(StorageContainer, { clusterExtId: cluster })
  const { extId } = containers.find(({ name }) => name === 'SelfServiceContainer')!
  const advertise = (logicalAdvertisedCapacityBytes: number | undefined): Promise<unknown> =>
    app.store.transaction((tx) => tx.update(StorageContainer, extId, { logicalAdvertisedCapacityBytes }))
  await advertise(1)
  const task = await app.task(await post(ovas, ovaOf('large.ova')))
  await advertise(undefined)
  assert.deepEqual([task.status, task.errorMessages[0].errorGroup], ['FAILED', 'OUT_OF_STORAGE'])
  assert.deepEqual(server.asked, [{ path: 'vmm-ovas/large.ova', first: 0, last: 0 }])
  assert.deepEqual(filesOf(app), [])
})

test('an object that is no archive fails the OVA', async () => {
  server.objects.set('vmm-ovas/no.ova', randomBytes(MiB))
  assert.match((await failed(ovas, ovaOf('no.ova'))).message, /no tar archive/)
})

describe('a service that stops while it reads an object', () => {
  /** Stops at the second part and starts again. @returns the task, ended, and the world's new app */
  async function restarted(
    body: object,
    config: Partial<Config> = server.config,
  ): Promise<{ task: any; again: TestApp }> {
    const folder = mkdtempSync(join(tmpdir(), 'hyperplane-object-'))
    const first = await startApp({ folder, config: server.config })
    const reached = Promise.withResolvers<void>()
    server.hook = ({ first }) => {
      if (first === 0) return undefined
      reached.resolve()
      return new Promise(() => undefined)
    }
    const started = await post(images, body, first.atOnce)
    await reached.promise
    await first.close()
    assert.equal(filesOf(first).length, 1)
    server.hook = () => undefined
    const again = await startApp({ folder, config })
    return { task: await again.task(started.data.extId), again }
  }

  test('reads it again and creates the image', async () => {
    const { task, again } = await restarted(imageOf())
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    const { extId } = task.entitiesAffected[0]
    assert.ok((await bytesOf(again, extId)).bytes.equals(content))
    assert.deepEqual(filesOf(again), [`${extId}.${cluster}`])
    await again.close()
    rmSync(again.folder, { recursive: true })
  })

  test('fails the task if it starts without the object store', async () => {
    const { task, again } = await restarted(imageOf(), {})
    assert.deepEqual([task.status, task.errorMessages[0].errorGroup], ['FAILED', 'SOURCE_UNAVAILABLE'])
    assert.match(task.errorMessages[0].message, /--object-store/)
    assert.deepEqual(filesOf(again), [])
    await again.close()
    rmSync(again.folder, { recursive: true })
  })

  test('fails the task if the object changed between the step that measured it and the step that reads it', async () => {
    let isMeasured = false
    server.hook = ({ path }) => {
      if (isMeasured) server.objects.set(path, randomBytes(content.length))
      isMeasured = true
      return undefined
    }
    assert.match((await failed(images, imageOf())).message, /changed while it was read/)
  })
})
