import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { Vm } from '@hyperplane/contract/vmm/vm'
import { seedId } from '../../../src/domains/seed.ts'
import { type CallOptions, startApp, type TestApp } from '../../support/start-app.ts'

const images = '/vmm/v4.2/content/images'
const cluster = seedId('cluster/hp-native-01')
const GiB = 1024 ** 3

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const urlSource = (url: string, more: object = {}): object => ({
  $objectType: 'vmm.v4.content.UrlSource',
  url,
  ...more,
})
const sha1 = (hexDigest: string): object => ({ $objectType: 'vmm.v4.content.ImageSha1Checksum', hexDigest })
const anImage = (more: object = {}): object => ({
  name: 'an image',
  type: 'ISO_IMAGE',
  source: urlSource('https://images.example.com/an-image.iso'),
  ...more,
})
const create = (body: object, options: CallOptions = {}) =>
  app.call('POST', images, { body, requestId: randomUUID(), ...options })

async function created(body: object): Promise<any> {
  const task = await app.task(await create(body))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return (await app.call('GET', `${images}/${task.entitiesAffected[0].extId}`)).data
}

async function change(image: any, body: object): Promise<any> {
  const read = await app.call('GET', `${images}/${image.extId}`)
  return app.call('PUT', `${images}/${image.extId}`, { body, ifMatch: read.etag as string, requestId: randomUUID() })
}

const writable = ({ name, description, type, source, checksum, categoryExtIds, clusterLocationExtIds }: any): any => ({
  name,
  description,
  type,
  source,
  checksum,
  ...(categoryExtIds && { categoryExtIds }),
  clusterLocationExtIds,
})

async function digestOfDownload(content: AsyncIterable<Uint8Array>): Promise<{ length: number; sha256: string }> {
  const hash = createHash('sha256')
  let length = 0
  for await (const bytes of content) {
    length += bytes.length
    hash.update(bytes)
  }
  return { length, sha256: hash.digest('hex') }
}

/** A URL behind which a small image lies, so that its bytes can be read in a test. */
async function smallImage(): Promise<any> {
  for (let number = 0; ; number++) {
    const image = await created(
      anImage({ name: 'small', source: urlSource(`https://images.example.com/small-${number}.iso`) }),
    )
    if (image.sizeBytes < 200 * 1024 ** 2) return image
  }
}

describe('creation', () => {
  test('an image from a URL is stored with size, owner, place and the SHA-256 of its content', async () => {
    const started = await create(anImage({ name: 'first', description: 'two\nlines' }))
    const task = await app.task(started)
    assert.equal(task.operation, 'kImageCreate')
    assert.deepEqual(
      task.entitiesAffected.map(({ rel }: any) => rel),
      ['vmm:content:image'],
    )
    assert.deepEqual(
      task.subSteps.map(({ name }: any) => name),
      ['resolve source', 'reserve bytes', 'transfer', 'verify checksum', 'store'],
    )
    const { data } = await app.call('GET', `${images}/${task.entitiesAffected[0].extId}`)
    assert.ok(data.sizeBytes >= 40 * 1024 ** 2 && data.sizeBytes <= 2 * GiB)
    assert.equal(data.ownerName, 'admin')
    assert.deepEqual(data.clusterLocationExtIds, [cluster])
    assert.equal(data.source.shouldAllowInsecureUrl, false)
    assert.match(data.checksum.hexDigest, /^[0-9a-f]{64}$/)
  })

  test('what a download gives has the length of sizeBytes and the digest of the checksum, each time', async () => {
    const image = await smallImage()
    for (let time = 0; time < 2; time++) {
      const { data } = await app.call('GET', `${images}/${image.extId}/file`)
      assert.equal(data.contentType, 'application/octet-stream')
      assert.equal(data.fileName, 'small')
      assert.equal(data.contentLength, image.sizeBytes)
      assert.deepEqual(await digestOfDownload(data.content), {
        length: image.sizeBytes,
        sha256: image.checksum.hexDigest,
      })
    }
  })

  test('an image with two sources, with none, or with an unknown type of source is refused with 400', async () => {
    const both = { ...urlSource('https://images.example.com/x.iso'), extId: randomUUID() }
    for (const source of [both, undefined, { $objectType: 'vmm.v4.content.Elsewhere', url: 'https://a/bcd' }]) {
      assert.equal((await create(anImage({ source }))).status, 400)
    }
  })

  test('a bucket as source is refused as not implemented', async () => {
    const source = { $objectType: 'vmm.v4.content.ObjectsLiteSource', key: 'key' }
    assert.equal((await create(anImage({ source }))).status, 501)
  })

  test('a wrong checksum ends FAILED, names both digests and leaves no image and no bytes', async () => {
    const files = app.world.collection('content.files').all()
    const before = files.size
    const task = await app.task(await create(anImage({ name: 'wrong', checksum: sha1('a'.repeat(40)) })))
    assert.equal(task.status, 'FAILED')
    assert.equal(task.errorMessages[0].errorGroup, 'CHECKSUM_MISMATCH')
    assert.match(task.errorMessages[0].message, /a{40}.*[0-9a-f]{40}/)
    assert.equal(files.size, before)
    assert.equal((await app.call('GET', `${images}?$filter=name eq 'wrong'`)).total, 0)
  })

  test('the first checksum that is given for a URL is its digest from then on', async () => {
    const source = urlSource('https://images.example.com/told.iso')
    const digest = createHash('sha1').update('told').digest('hex')
    assert.equal((await created(anImage({ source, checksum: sha1(digest) }))).checksum.hexDigest, digest)
    await created(anImage({ source, checksum: sha1(digest) }))
    const other = await app.task(
      await create(anImage({ source, checksum: sha1(createHash('sha1').update('x').digest('hex')) })),
    )
    assert.equal(other.status, 'FAILED')
    assert.match(other.errorMessages[0].message, new RegExp(digest))
  })

  test('a server that cannot be reached, or that answers 404, ends FAILED and leaves nothing', async () => {
    await app.world.collection('content.faults').put('broken.example.com', { status: 404 })
    for (const host of [
      'files.invalid',
      'unreachable.example.com',
      'does-not-exist.example.com',
      'broken.example.com',
    ]) {
      const task = await app.task(
        await create(anImage({ name: 'lost', source: urlSource(`https://${host}/lost.iso`) })),
      )
      assert.equal(task.status, 'FAILED')
      assert.equal(task.errorMessages[0].code, 'VMM-50001')
    }
    assert.equal((await app.call('GET', `${images}?$filter=name eq 'lost'`)).total, 0)
  })

  test('the password of a source is in no answer, list, task or table', async () => {
    const password = 'Geheim-4711-xyz'
    const source = urlSource('https://images.example.com/private.iso', { basicAuth: { username: 'me', password } })
    const started = await create(anImage({ name: 'private', source }))
    const task = await app.task(started)
    const image = await app.call('GET', `${images}/${task.entitiesAffected[0].extId}`)
    const list = await app.call('GET', images)
    for (const answer of [started.data, task, list.data]) assert.ok(!JSON.stringify(answer).includes(password))
    assert.ok(
      !JSON.stringify(
        await app.store.pending((await import('@hyperplane/contract/vmm/image')).Image, image.data.extId),
      ).includes(password),
    )
    const kept = await change(image.data, {
      ...writable(image.data),
      source: { ...image.data.source, basicAuth: undefined },
    })
    assert.equal((await app.task(kept)).status, 'SUCCEEDED')
  })

  test('a disk of a VM is copied with its size, onto its cluster; an unknown disk is 404', async () => {
    const [vm] = await app.store.find(Vm)
    assert.ok(vm !== undefined)
    const disk = vm.disks?.[0] as any
    const source = { $objectType: 'vmm.v4.content.VmDiskSource', extId: disk.extId }
    const image = await created(anImage({ name: 'copy', type: 'DISK_IMAGE', source }))
    assert.equal(image.sizeBytes, disk.backingInfo.diskSizeBytes)
    assert.deepEqual(image.clusterLocationExtIds, [vm.cluster?.extId])
    assert.equal(image.source.extId, disk.extId)
    const unknown = await create(anImage({ source: { ...source, extId: randomUUID() } }))
    assert.equal(unknown.status, 404)
    assert.equal(unknown.errors[0]?.code, 'VMM-20005')
  })

  test('more than the cluster has room for ends FAILED', async () => {
    const extId = seedId('image/windows-2022.qcow2')
    const container = (
      await app.call('GET', "/clustermgmt/v4.2/config/storage-containers?$filter=name eq 'SelfServiceContainer'")
    ).data[0]
    const { StorageContainer } = await import('@hyperplane/contract/clustermgmt/storage-container')
    const limit = (logicalAdvertisedCapacityBytes: number | undefined) =>
      app.store.transaction((tx) => tx.update(StorageContainer, container.extId, { logicalAdvertisedCapacityBytes }))
    await limit(1)
    const task = await app.task(await create(anImage({ name: 'too large' })))
    await limit(undefined)
    assert.equal(task.status, 'FAILED')
    assert.equal(task.errorMessages[0].errorGroup, 'OUT_OF_STORAGE')
    assert.equal((await app.call('GET', `${images}/${extId}`)).status, 200)
  })

  test('the same request id makes one image', async () => {
    const requestId = randomUUID()
    const [one, two] = [await create(anImage(), { requestId }), await create(anImage(), { requestId })]
    assert.equal(one.data.extId, two.data.extId)
    assert.equal((await app.task(one)).numberOfEntitiesAffected, 1)
  })

  test('hostile bodies are refused with a path and store nothing', async () => {
    const { total } = await app.call('GET', images)
    const bodies = [
      anImage({ name: 'x'.repeat(257) }),
      anImage({ name: 'bell\u0007' }),
      anImage({ name: '' }),
      anImage({ type: 'FLOPPY' }),
      anImage({ sizeBytes: -1, surprise: true }),
      anImage({ categoryExtIds: ['../../etc'] }),
      anImage({ clusterLocationExtIds: [randomUUID()] }),
      anImage({ source: urlSource('file:///etc/passwd') }),
    ]
    for (const body of bodies) {
      const answer = await create(body)
      assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status} ${JSON.stringify(body).slice(0, 80)}`)
    }
    const deep = `${'('.repeat(500)}name eq 'a'${')'.repeat(500)}`
    assert.equal((await app.call('GET', `${images}?$filter=${encodeURIComponent(deep)}`)).status, 400)
    assert.equal((await app.call('GET', images)).total, total)
  })
})

describe('change and removal', () => {
  test('name, description and categories change; the tag changes with them', async () => {
    const image = await created(anImage({ name: 'before' }))
    const category = seedId('category/Environment/Test')
    const first = await app.call('GET', `${images}/${image.extId}`)
    const body = { ...writable(image), name: 'after', description: 'new', categoryExtIds: [category] }
    const answer = await change(image, body)
    assert.equal((await app.task(answer)).status, 'SUCCEEDED')
    const { data, etag } = await app.call('GET', `${images}/${image.extId}`)
    assert.deepEqual([data.name, data.description, data.categoryExtIds], ['after', 'new', [category]])
    assert.deepEqual([data.type, data.sizeBytes, data.source], [image.type, image.sizeBytes, image.source])
    assert.notEqual(etag, first.etag)
    const stale = await app.call('PUT', `${images}/${image.extId}`, {
      body,
      ifMatch: first.etag as string,
      requestId: randomUUID(),
    })
    assert.equal(stale.status, 412)
    const missing = await app.call('PUT', `${images}/${image.extId}`, { body, requestId: randomUUID() })
    assert.equal(missing.status, 428)
  })

  test('another type, source or checksum is 400, the same ones are accepted', async () => {
    const image = await created(anImage())
    for (const other of [
      { type: 'DISK_IMAGE' },
      { source: urlSource('https://images.example.com/other.iso') },
      { checksum: sha1('b'.repeat(40)) },
    ]) {
      assert.equal((await change(image, { ...writable(image), ...other })).status, 400)
    }
    assert.equal((await app.task(await change(image, writable(image)))).status, 'SUCCEEDED')
    const { source: _, checksum: __, ...bare } = writable(image)
    assert.equal((await app.task(await change(image, bare))).status, 'SUCCEEDED')
    assert.deepEqual((await app.call('GET', `${images}/${image.extId}`)).data.source, image.source)
  })

  test('the last location cannot be removed', async () => {
    const image = await created(anImage())
    assert.equal((await change(image, { ...writable(image), clusterLocationExtIds: [] })).status, 409)
  })

  test('a further location gets a copy, and loses it again', async () => {
    const image = await created(anImage())
    const second = seedId('cluster/cloud-1')
    const files = app.world.collection('content.files')
    assert.equal(
      (await app.task(await change(image, { ...writable(image), clusterLocationExtIds: [cluster, second] }))).status,
      'SUCCEEDED',
    )
    assert.ok(files.get(`${image.extId}/${second}`) !== undefined)
    assert.equal(
      (await app.task(await change(image, { ...writable(image), clusterLocationExtIds: [second] }))).status,
      'SUCCEEDED',
    )
    assert.ok(files.get(`${image.extId}/${cluster}`) === undefined)
    assert.deepEqual((await app.call('GET', `${images}/${image.extId}`)).data.clusterLocationExtIds, [second])
    const extern = seedId('cluster/hp-extern-01')
    assert.equal((await change(image, { ...writable(image), clusterLocationExtIds: [extern] })).status, 400)
  })

  test('delete needs no tag, and takes row and files', async () => {
    const image = await created(anImage())
    const [one, two] = [
      await app.call('DELETE', `${images}/${image.extId}`),
      await app.call('DELETE', `${images}/${image.extId}`),
    ]
    assert.equal((await app.task(one)).operation, 'kImageDelete')
    if (two.status === 202) assert.equal((await app.task(two)).errorMessages[0].code, 'VMM-20005')
    assert.equal((await app.call('GET', `${images}/${image.extId}`)).status, 404)
    assert.equal(app.world.collection('content.files').get(`${image.extId}/${cluster}`), undefined)
  })

  test('a file is not given while no cluster that holds it can be reached', async () => {
    const faults = app.world.collection<object>('hardware.faults')
    const extId = seedId('image/centos-9.qcow2')
    await faults.put(cluster, { isDown: true })
    const answer = await app.call('GET', `${images}/${extId}/file`)
    await faults.remove(cluster)
    assert.equal(answer.status, 409)
  })
})

describe('lists and the demo', () => {
  test('the demo holds its four images with their sizes and the category of the first', async () => {
    const { data } = await app.call(
      'GET',
      `${images}?$filter=clusterLocationExtIds/any(c:c eq '${cluster}') and name ne null&$limit=100`,
    )
    const sizes = Object.fromEntries(data.map(({ name, type, sizeBytes }: any) => [name, `${type} ${sizeBytes / GiB}`]))
    assert.equal(sizes['ubuntu-24.04.qcow2'], 'DISK_IMAGE 2')
    assert.equal(sizes['centos-9.qcow2'], 'DISK_IMAGE 2')
    assert.equal(sizes['windows-2022.qcow2'], 'DISK_IMAGE 10')
    assert.equal(sizes['ubuntu-24.04-live.iso'], 'ISO_IMAGE 1')
    const dev = seedId('category/Environment/Dev')
    const carriers = await app.call('GET', `${images}?$filter=categoryExtIds/any(c:c eq '${dev}')&$select=name`)
    assert.deepEqual(
      carriers.data.map(({ name }: any) => name),
      ['ubuntu-24.04.qcow2'],
    )
  })
})
