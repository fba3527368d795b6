import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { happen, postEvent } from '../../support/events.ts'
import { aUser } from '../../support/identities.ts'
import { aNativeCluster } from '../../support/native-cluster.ts'
import { type CallOptions, startApp, type TestApp } from '../../support/start-app.ts'
import { aUser as aPerson, aRole, grant } from '../iam/people.ts'

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

test('an image without a cluster is not stored on one that its creator may not see', async () => {
  const user = await aPerson(app)
  await grant(app, { id: await aRole(app, ['Create_Image']) }, user.extId)
  const body = anImage({ clusterLocationExtIds: undefined })
  const refused = await create(body, { as: user.as })
  assert.deepEqual([refused.status, refused.errors[0]?.argumentsMap?.['attributePath']], [400, 'clusterLocationExtIds'])
  await grant(app, { id: await aRole(app, ['View_Cluster']) }, user.extId)
  assert.equal((await app.task(await create(body, { as: user.as }))).status, 'SUCCEEDED')
})

describe('creating an image', () => {
  test('an image from a URL is stored with size, owner and location, and shows a checksum only if the request had one', async () => {
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
    assert.equal(data.checksum, undefined, 'public clients would see a checksum that they did not give as a change')
  })

  test('the downloaded file has sizeBytes bytes, and its digest is accepted as the checksum of a later image from the same URL', async () => {
    const image = await smallImage()
    const digests = new Set<string>()
    for (let time = 0; time < 2; time++) {
      const { data } = await app.call('GET', `${images}/${image.extId}/file`)
      assert.equal(data.contentType, 'application/octet-stream')
      assert.equal(data.fileName, 'small')
      assert.equal(data.contentLength, image.sizeBytes)
      const { length, sha256 } = await digestOfDownload(data.content)
      assert.equal(length, image.sizeBytes)
      digests.add(sha256)
    }
    assert.equal(digests.size, 1)
    const checksum = { $objectType: 'vmm.v4.content.ImageSha256Checksum', hexDigest: [...digests][0] }
    const again = await created(anImage({ source: urlSource(image.source.url), checksum }))
    assert.deepEqual(again.checksum, checksum)
  })

  test('an image with two sources, with none, or with an unknown type of source is refused with 400', async () => {
    const both = { ...urlSource('https://images.example.com/x.iso'), extId: randomUUID() }
    for (const source of [both, undefined, { $objectType: 'vmm.v4.content.Elsewhere', url: 'https://a/bcd' }]) {
      assert.equal((await create(anImage({ source }))).status, 400)
    }
  })

  test('a creation with a wrong checksum fails, names both digests and leaves no image and no file', async () => {
    const files = app.world.collection('content.files').all()
    const before = files.size
    const task = await app.task(await create(anImage({ name: 'wrong', checksum: sha1('a'.repeat(40)) })))
    assert.equal(task.status, 'FAILED')
    assert.equal(task.errorMessages[0].errorGroup, 'CHECKSUM_MISMATCH')
    assert.match(task.errorMessages[0].message, /a{40}.*[0-9a-f]{40}/)
    assert.equal(files.size, before)
    assert.equal((await app.call('GET', `${images}?$filter=name eq 'wrong'`)).total, 0)
  })

  test('the first checksum given for a simulated URL becomes the digest of that URL', async () => {
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

  test('a creation fails and leaves nothing when the source server is unreachable or answers 404', async () => {
    await happen(app, { type: 'CONTENT_SERVER_FAILS', server: 'broken.example.com', status: 404 })
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

  test('a creation from a server that cuts downloads, or sends bytes that do not match the checksum, fails and leaves nothing', async () => {
    const server = 'faulty.example.com'
    const source = urlSource(`https://${server}/faulty.iso`)
    const digest = createHash('sha1').update('faulty').digest('hex')
    await created(anImage({ source, checksum: sha1(digest) }))
    const files = app.world.collection('content.files').all().size
    for (const [fault, group] of [
      ['CUT', 'SOURCE_UNAVAILABLE'],
      ['CORRUPT', 'CHECKSUM_MISMATCH'],
    ]) {
      await happen(app, { type: 'CONTENT_SERVER_FAILS', server, fault })
      const task = await app.task(await create(anImage({ name: 'faulty', source, checksum: sha1(digest) })))
      assert.deepEqual([task.status, task.errorMessages[0].errorGroup], ['FAILED', group], fault)
    }
    assert.equal(app.world.collection('content.files').all().size, files)
    await happen(app, { type: 'CONTENT_SERVER_RETURNS', server })
    await created(anImage({ source, checksum: sha1(digest) }))
    for (const wrong of [{ fault: 'STATUS' }, { fault: 'SLOW', status: 404 }])
      assert.equal((await postEvent(app, { type: 'CONTENT_SERVER_FAILS', server, ...wrong })).status, 400)
  })

  test('a server that requires a login gets the login of the source, and its password is never shown', async () => {
    const server = 'login.example.com'
    await happen(app, { type: 'CONTENT_SERVER_FAILS', server, fault: 'LOGIN' })
    const fetched = async (more: object) =>
      app.task(await create(anImage({ source: urlSource(`https://${server}/private.iso`, more) })))
    for (const more of [{}, { basicAuth: { username: 'me', password: 'wrong' } }]) {
      const task = await fetched(more)
      assert.equal(task.status, 'FAILED')
      assert.match(task.errorMessages[0].message, /401/)
    }
    const basicAuth = { username: 'me', password: 'Geheim-99-abc' }
    const task = await fetched({ basicAuth })
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    assert.doesNotMatch(JSON.stringify(task), /Geheim/)
    assert.doesNotMatch(JSON.stringify([...app.world.collection('content.urls').all()]), /Geheim/)
  })

  test('a server without a trusted certificate is read only by sources that allow it', async () => {
    const server = 'untrusted.example.com'
    await happen(app, { type: 'CONTENT_SERVER_FAILS', server, fault: 'UNTRUSTED' })
    const statusOf = async (shouldAllowInsecureUrl: boolean) =>
      (
        await app.task(
          await create(anImage({ source: urlSource(`https://${server}/own.iso`, { shouldAllowInsecureUrl }) })),
        )
      ).status
    assert.deepEqual([await statusOf(false), await statusOf(true)], ['FAILED', 'SUCCEEDED'])
  })

  test('a slow server sends a megabyte a second', async () => {
    const server = 'slow.example.com'
    await happen(app, { type: 'CONTENT_SERVER_FAILS', server, fault: 'SLOW' })
    const started = await create(anImage({ source: urlSource(`https://${server}/slow.iso`) }))
    const status = async () => (await app.call('GET', `/platform/v4.3/config/tasks/${started.data.extId}`)).data.status
    // ISO images have 40 MiB to 2 GiB.
    await app.clock.advance(40_000)
    assert.equal(await status(), 'RUNNING')
    await app.clock.advance(2_200_000)
    assert.equal(await status(), 'SUCCEEDED')
  })

  test('the password of a source appears in no response, list, task or table', async () => {
    const password = 'Geheim-4711-xyz'
    const source = urlSource('https://images.example.com/private.iso', { basicAuth: { username: 'me', password } })
    const started = await create(anImage({ name: 'private', source }))
    const task = await app.task(started)
    const image = await app.call('GET', `${images}/${task.entitiesAffected[0].extId}`)
    const list = await app.call('GET', images)
    for (const answer of [started.data, task, list.data]) assert.ok(!JSON.stringify(answer).includes(password))
    assert.ok(
      !JSON.stringify(
        await app.store.pending((await import('@hyperplane/contract/vmm/content/image')).Image, image.data.extId),
      ).includes(password),
    )
    const kept = await change(image.data, {
      ...writable(image.data),
      source: { ...image.data.source, basicAuth: undefined },
    })
    assert.equal((await app.task(kept)).status, 'SUCCEEDED')
  })

  test('a PUT with an empty or masked password of the source keeps the stored one, again and again', async () => {
    const url = 'https://images.example.com/kept.iso'
    const login = { username: 'me', password: 'Geheim-4712-xyz' }
    const image = await created(anImage({ name: 'kept', source: urlSource(url, { basicAuth: login }) }))
    const storedSource = async () => (await app.store.get(Image, image.extId))?.source
    const before = await storedSource()
    for (const [index, basicAuth] of [
      { username: 'me', password: '' },
      { username: 'me', password: '********' },
      { username: 'me' },
      { username: 'me', password: '' },
    ].entries()) {
      const now = (await app.call('GET', `${images}/${image.extId}`)).data
      const description = `changed ${index}`
      const body = { ...writable(now), description, source: urlSource(url, { basicAuth }) }
      assert.equal((await app.task(await change(now, body))).status, 'SUCCEEDED')
      assert.equal((await app.call('GET', `${images}/${image.extId}`)).data.description, description)
      assert.deepEqual(await storedSource(), before)
    }
    const now = (await app.call('GET', `${images}/${image.extId}`)).data
    const elsewhere = urlSource('https://elsewhere.example.com/kept.iso', { basicAuth: { ...login, password: '' } })
    assert.equal((await change(now, { ...writable(now), source: elsewhere })).status, 400)
  })

  test('an empty password is refused when no password is stored, in a creation and in a PUT', async () => {
    const url = 'https://images.example.com/open.iso'
    const withEmpty = urlSource(url, { basicAuth: { username: 'me', password: '' } })
    const refused = await create(anImage({ name: 'open', source: withEmpty }))
    assert.deepEqual([refused.status, refused.errors[0]?.attributePath], [400, 'source/basicAuth/password'])
    const image = await created(anImage({ name: 'open', source: urlSource(url) }))
    const put = await change(image, { ...writable(image), source: withEmpty })
    const [error] = put.errors
    assert.deepEqual([put.status, error?.argumentsMap?.['attributePath']], [400, 'source/basicAuth/password'])
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

  test('a creation fails when the cluster has too little free space', async () => {
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

  test('repeating a creation with the same request id creates one image', async () => {
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
      anImage({ name: '../../etc/passwd' }),
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

describe('changing and deleting an image', () => {
  test('a PUT changes name, description and categories, and with them the ETag', async () => {
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

  test('a PUT with a different type, source or checksum is 400, with the stored ones it is accepted', async () => {
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

  test('a PUT cannot remove the last cluster location of an image', async () => {
    const image = await created(anImage())
    assert.equal((await change(image, { ...writable(image), clusterLocationExtIds: [] })).status, 409)
  })

  test('adding a cluster location copies the file there, and removing the location deletes the copy', async () => {
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

  test('DELETE needs no ETag, and removes the row and the files', async () => {
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

  test('deleting an image is refused while a VM is being created from it, names the VM, and succeeds afterwards', async () => {
    let open = (): void => undefined
    const gate = new Promise<void>((resolve) => (open = resolve))
    const hung = await startApp({
      beforeStep: (definition, step) => (definition === 'vmm.create-vm' && step === 'create disks' ? gate : undefined),
    })
    const image = seedId('image/ubuntu-24.04.qcow2')
    const reference = { $objectType: 'vmm.v4.ahv.config.ImageReference', imageExtId: image }
    for (const parts of [
      { disks: [{ backingInfo: { dataSource: { reference } } }] },
      { cdRoms: [{ backingInfo: { dataSource: { reference } } }] },
    ]) {
      const making = await hung.call('POST', '/vmm/v4.2/ahv/config/vms', {
        requestId: randomUUID(),
        body: { name: 'from image', memorySizeBytes: GiB, cluster: { extId: cluster }, ...parts },
      })
      const refused = await hung.call('DELETE', `${images}/${image}`)
      assert.deepEqual([refused.status, refused.errors[0]?.code], [409, 'VMM-30104'])
      const { entitiesAffected } = (await hung.call('GET', `/platform/v4.3/config/tasks/${making.data.extId}`)).data
      assert.ok(refused.errors[0]?.message.includes(entitiesAffected[0].extId))
      open()
      assert.equal((await hung.task(making)).status, 'SUCCEEDED')
    }
    assert.equal((await hung.task(await hung.call('DELETE', `${images}/${image}`))).status, 'SUCCEEDED')
    await hung.close()
  })

  test('a VM creation from the image that is accepted before the queued delete runs makes the delete fail', async () => {
    let open = (): void => undefined
    const gate = new Promise<void>((resolve) => (open = resolve))
    const hung = await startApp({
      beforeStep: (definition, step) => {
        if (definition === 'vmm.delete-image' && step === 'recheck') return gate
        return definition === 'vmm.create-vm' && step === 'define' ? gate : undefined
      },
    })
    const image = seedId('image/centos-9.qcow2')
    const reference = { $objectType: 'vmm.v4.ahv.config.ImageReference', imageExtId: image }
    const gone = await hung.call('DELETE', `${images}/${image}`)
    const making = await hung.call('POST', '/vmm/v4.2/ahv/config/vms', {
      requestId: randomUUID(),
      body: {
        name: 'just in time',
        memorySizeBytes: GiB,
        cluster: { extId: cluster },
        disks: [{ backingInfo: { dataSource: { reference } } }],
      },
    })
    assert.deepEqual([gone.status, making.status], [202, 202])
    open()
    const [removal, creation] = [await hung.task(gone), await hung.task(making)]
    assert.equal(creation.status, 'SUCCEEDED', JSON.stringify(creation.errorMessages))
    assert.deepEqual([removal.status, removal.errorMessages[0].code], ['FAILED', 'VMM-30104'])
    assert.equal((await hung.call('GET', `${images}/${image}`)).status, 200)
    await hung.close()
  })

  test('a new location of an image is copied from a cluster that answers, or the task fails', async () => {
    const [second, third] = [seedId('cluster/cloud-1'), (await aNativeCluster(app)).extId]
    const both = await created(anImage({ clusterLocationExtIds: [cluster, second] }))
    const only = await created(anImage({ clusterLocationExtIds: [cluster] }))
    const locatedAt = async (image: any, ...clusterLocationExtIds: string[]): Promise<any> =>
      app.task(await change(image, { ...writable(image), clusterLocationExtIds }))
    await happen(app, { type: 'CLUSTER_CUT_OFF', cluster })
    const tasks = [await locatedAt(both, cluster, second, third), await locatedAt(only, cluster, second)]
    await happen(app, { type: 'CLUSTER_RETURNS', cluster })
    assert.deepEqual(
      tasks.map(({ status, errorMessages = [] }) => [status, errorMessages[0]?.code]),
      [
        ['SUCCEEDED', undefined],
        ['FAILED', 'PLAT-10009'],
      ],
    )
    const { data } = await app.call('GET', `${images}/${both.extId}`)
    assert.deepEqual(data.clusterLocationExtIds, [cluster, second, third])
  })

  test('the file of an image cannot be downloaded while every cluster that holds it is unreachable', async () => {
    const extId = seedId('image/centos-9.qcow2')
    await happen(app, { type: 'CLUSTER_CUT_OFF', cluster })
    const answer = await app.call('GET', `${images}/${extId}/file`)
    await happen(app, { type: 'CLUSTER_RETURNS', cluster })
    assert.equal(answer.status, 409)
  })
})

describe('categories and names of images', () => {
  const category = async (): Promise<string> =>
    (await app.call('POST', '/platform/v4.3/config/categories', { body: { key: 'image-test', value: randomUUID() } }))
      .data.extId
  const count = async (extId: string): Promise<number> => {
    const { associations } = (await app.call('GET', `/platform/v4.3/config/categories/${extId}?$expand=associations`))
      .data
    return associations?.find(({ resourceType }: any) => resourceType === 'IMAGE')?.count ?? 0
  }

  test("a category counts an image once however often the body lists it, and no longer after its removal or the image's deletion", async () => {
    const extId = await category()
    const image = await created(anImage({ categoryExtIds: [extId] }))
    assert.equal(await count(extId), 1)
    assert.equal((await app.task(await change(image, writable(image)))).status, 'SUCCEEDED')
    assert.equal(await count(extId), 1)
    assert.equal((await app.task(await change(image, { ...writable(image), categoryExtIds: [] }))).status, 'SUCCEEDED')
    assert.equal(await count(extId), 0)
    assert.equal((await app.task(await change(image, writable(image)))).status, 'SUCCEEDED')
    assert.equal(await count(extId), 1)
    assert.equal((await app.task(await app.call('DELETE', `${images}/${image.extId}`))).status, 'SUCCEEDED')
    assert.equal(await count(extId), 0)
    assert.equal((await app.call('DELETE', `/platform/v4.3/config/categories/${extId}`)).status, 204)
  })

  test('a creation that fails leaves no category count, and an unknown category is 404 with a vmm error code', async () => {
    const extId = await category()
    const task = await app.task(await create(anImage({ categoryExtIds: [extId], checksum: sha1('c'.repeat(40)) })))
    assert.equal(task.status, 'FAILED')
    assert.equal(await count(extId), 0)
    const unknown = randomUUID()
    const refused = await create(anImage({ categoryExtIds: [extId, unknown] }))
    assert.deepEqual([refused.status, refused.errors[0]?.code], [404, 'VMM-20005'])
    assert.equal(refused.errors[0]?.argumentsMap?.['extId'], unknown)
    assert.equal(refused.errors[0]?.argumentsMap?.['attributePath'], 'categoryExtIds[1]')
  })

  test('two images may have the same name, and a download has that name without characters that file systems refuse', async () => {
    const name = ' größe & "quoted" v1.2_x-y.iso '
    const [one, two] = [await created(anImage({ name })), await created(anImage({ name }))]
    assert.notEqual(one.extId, two.extId)
    assert.equal(one.name, name)
    const { data } = await app.call('GET', `${images}/${one.extId}/file`)
    assert.equal(data.fileName, 'grequotedv1.2_x-y.iso')
  })

  test('an image does not exist until its creation task ends, and cancelling the task leaves nothing', async () => {
    let open = (): void => undefined
    const gate = new Promise<void>((resolve) => (open = resolve))
    const hung = await startApp({
      beforeStep: (definition, step) => (definition === 'vmm.create-image' && step === 'transfer' ? gate : undefined),
    })
    const files = hung.world.collection('content.files').all().size
    const started = await hung.call('POST', images, { body: anImage({ name: 'halfway' }), requestId: randomUUID() })
    const running = async (): Promise<any> =>
      (await hung.call('GET', `/platform/v4.3/config/tasks/${started.data.extId}`)).data
    while ((await running()).progressPercentage < 10) await new Promise(setImmediate)
    const { entitiesAffected, isCancelable } = await running()
    assert.equal((await hung.call('GET', `${images}/${entitiesAffected[0].extId}`)).status, 404)
    assert.equal((await hung.call('GET', `${images}?$filter=name eq 'halfway'`)).total, 0)
    assert.equal(isCancelable, true)
    const path = `/platform/v4.3/config/tasks/${started.data.extId}/$actions/cancel`
    assert.equal((await hung.call('POST', path)).status, 200)
    open()
    assert.equal((await hung.task(started)).status, 'CANCELED')
    assert.equal(hung.world.collection('content.files').all().size, files)
    await hung.close()
  })
})

describe('permissions on images', () => {
  test('a Platform Viewer and a Backup Admin read images and their files, and every mutation is 403 without a task', async () => {
    const image = await smallImage()
    for (const role of ['Platform Viewer', 'Backup Admin', 'Project Admin'] as const) {
      const as = await aUser(app, [role])
      for (const path of ['', `/${image.extId}`, `/${image.extId}/file`])
        assert.equal((await app.call('GET', `${images}${path}`, { as })).status, 200, `${role} ${path}`)
      const tasks = (await app.call('GET', '/platform/v4.3/config/tasks')).total
      const { etag } = await app.call('GET', `${images}/${image.extId}`)
      const put = { body: writable(image), ifMatch: etag as string, requestId: randomUUID(), as }
      assert.equal((await create(anImage(), { as })).status, 403, role)
      assert.equal((await app.call('PUT', `${images}/${image.extId}`, put)).status, 403, role)
      assert.equal((await app.call('DELETE', `${images}/${image.extId}`, { as })).status, 403, role)
      assert.equal((await app.call('GET', '/platform/v4.3/config/tasks')).total, tasks)
    }
  })

  test('a Virtual Machine Viewer and a Virtual Machine Operator get 403 for images, for reads too', async () => {
    for (const role of ['Virtual Machine Viewer', 'Virtual Machine Operator'] as const) {
      const as = await aUser(app, [role])
      assert.equal((await app.call('GET', images, { as })).status, 403, role)
      assert.equal((await create(anImage(), { as })).status, 403, role)
    }
  })

  test('a Developer creates an image and owns it, but only a Virtual Machine Admin changes or deletes it', async () => {
    const as = await aUser(app, ['Developer'])
    const task = await app.task(await create(anImage({ name: 'of a developer' }), { as }))
    const { data, etag } = await app.call('GET', `${images}/${task.entitiesAffected[0].extId}`, { as })
    assert.equal(data.ownerName, as.split(':')[0])
    const put = {
      body: { ...writable(data), description: 'changed' },
      ifMatch: etag as string,
      requestId: randomUUID(),
    }
    assert.equal((await app.call('PUT', `${images}/${data.extId}`, { ...put, as })).status, 403)
    assert.equal((await app.call('DELETE', `${images}/${data.extId}`, { as })).status, 403)
    const admin = await aUser(app, ['Virtual Machine Admin'])
    const changed = await app.call('PUT', `${images}/${data.extId}`, { ...put, requestId: randomUUID(), as: admin })
    assert.equal((await app.task(changed)).status, 'SUCCEEDED')
    const removed = await app.call('DELETE', `${images}/${data.extId}`, { as: admin })
    assert.equal((await app.task(removed)).status, 'SUCCEEDED')
  })
})

describe('images of the demo seed', () => {
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
