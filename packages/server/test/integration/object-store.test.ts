/** The client of real S3 services keeps what `ObjectStore` promises. Source: behaviour platform.md 7, 8. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createAddressGuard } from '../../src/core/access/address-guard.ts'
import { realClock } from '../../src/core/time/clock.ts'
import { type BucketPlace, type ObjectStore, ObjectStoreError } from '../../src/drivers/object-store.ts'
import { createS3ContentStore } from '../../src/drivers/s3/content-store.ts'
import { createS3ObjectStore } from '../../src/drivers/s3/object-store.ts'
import { accessKeyId, bucket, domain, type S3Server, secretAccessKey, startS3Server } from './s3-server.ts'

let server: S3Server
let store: ObjectStore
before(async () => {
  server = await startS3Server()
  const guard = createAddressGuard({ allowed: ['127.0.0.0/8'], resolve: async () => ['127.0.0.1'] })
  store = createS3ObjectStore({ guard, real: realClock })
})
after(() => server.remove())

const place = (more: Partial<BucketPlace> = {}): BucketPlace => ({
  kind: 'bucket',
  endpoint: '127.0.0.1',
  port: server.port,
  bucket,
  region: 'us-east-1',
  style: 'path',
  accessKeyId,
  secretAccessKey,
  certificate: server.certificate,
  skipsCertificateValidation: false,
  ...more,
})

const fault = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof ObjectStoreError, String(error))
  assert.doesNotMatch(`${error.message} ${error.stack}`, new RegExp(secretAccessKey))
  return error.fault
}

test('an object is put, listed with size and time, read and removed; putting it again replaces it', async () => {
  assert.deepEqual(await store.list(place(), 'a/'), [])
  await store.put(place(), 'a/one', Buffer.from('1'))
  await store.put(place(), 'a/one', Buffer.from('one'))
  await store.put(place(), 'b/two', Buffer.from('two'))
  const [one, ...others] = await store.list(place(), 'a/')
  assert.deepEqual([one?.key, one?.sizeBytes, others], ['a/one', 3, []])
  assert.ok(Math.abs((one?.modifiedTime ?? 0) - Date.now()) < 60_000)
  assert.equal(Buffer.from(await store.get(place(), 'a/one')).toString(), 'one')
  await store.remove(place(), 'a/one')
  await store.remove(place(), 'a/one')
  assert.equal(await fault(store.get(place(), 'a/one')), 'noSuchObject')
})

test('more objects than a page of a list are all listed', async () => {
  // The server shows files that others put there: a thousand uploads would prove no more.
  const folder = join(server.folder, bucket, 'many')
  mkdirSync(folder)
  for (let index = 0; index < 1050; index++) writeFileSync(join(folder, String(index)), 'x')
  assert.equal((await store.list(place(), 'many/')).length, 1050)
})

test('an object that is too large for one request is uploaded in several, and read back complete', async () => {
  const content = randomBytes(12 * 1024 * 1024 + 1)
  await store.put(place(), 'large', content)
  assert.ok(content.equals(await store.get(place(), 'large')))
})

test('the bucket name may be a part of the host name', async () => {
  await store.put(place({ endpoint: domain, style: 'host' }), 'by-host', Buffer.from('x'))
  assert.equal((await store.list(place(), 'by-host')).length, 1)
  assert.ok(readdirSync(join(server.folder, bucket)).includes('by-host'))
})

test('wrong keys, a missing bucket, an untrusted certificate and a closed port have different errors', async () => {
  const put = (more: Partial<BucketPlace>) => fault(store.put(place(more), 'x', Buffer.from('x')))
  const list = (more: Partial<BucketPlace>) => fault(store.list(place(more), ''))
  for (const ask of [put, list]) {
    assert.equal(await ask({ secretAccessKey: 'not-the-secret-of-this-key' }), 'accessDenied')
    assert.equal(await ask({ accessKeyId: 'NOBODYKNOWSTHISKEY' }), 'accessDenied')
    assert.equal(await ask({ bucket: 'no-such-bucket' }), 'noSuchBucket')
    const { certificate: _, ...trusting } = place()
    assert.equal(await fault(store.list(trusting, '')), 'tlsFailed')
    assert.equal(await ask({ port: 1 }), 'unreachable')
  }
  const { accessKeyId: _, ...anonymous } = place()
  assert.equal(await fault(store.list(anonymous, '')), 'accessDenied')
})

test('validation of the certificate can be disabled', async () => {
  const { certificate: _, ...trusting } = place({ skipsCertificateValidation: true })
  await store.list(trusting, '')
})

test('an object is read in parts, under its own name, for as long as it does not change', async () => {
  const guard = createAddressGuard({ allowed: ['127.0.0.0/8'], resolve: async () => ['127.0.0.1'] })
  const { kind: _, bucket: __, ...service } = place()
  const object = { bucket, key: 'images/a disk + ü%2e.img' }
  for (const style of [service, { ...service, endpoint: domain, style: 'host' } as const]) {
    const content = randomBytes(1000)
    await store.put(place(), object.key, content)
    const objects = createS3ContentStore(style, { guard, real: realClock })
    const { sizeBytes, version } = await objects.look(object)
    assert.equal(sizeBytes, 1000)
    const { signal } = new AbortController()
    const read = (first: number, last: number) => objects.read(object, version, { first, last }, signal)
    assert.ok(content.subarray(10, 20).equals(await read(10, 19)))
    assert.ok(content.subarray(999).equals(await read(999, 999)))
    await store.put(place(), object.key, randomBytes(1000))
    await assert.rejects(read(0, 9), /the object changed while it was read/)
    await assert.rejects(objects.look({ bucket, key: 'absent' }), /there is no such object/)
    await store.put(place(), 'empty', Buffer.alloc(0))
    await assert.rejects(objects.look({ bucket, key: 'empty' }), /the object is empty/)
  }
  const objects = createS3ContentStore(service, { guard, real: realClock })
  await assert.rejects(objects.look({ bucket: 'vmm-images', key: 'x' }), /no such bucket/)
  const strange = createS3ContentStore({ ...service, secretAccessKey: 'wrong' }, { guard, real: realClock })
  await assert.rejects(strange.look(object), /refuses access/)
})

test('an address that is not allowed is not called', async () => {
  const guarded = createS3ObjectStore({ guard: createAddressGuard({ allowed: [] }), real: realClock })
  await assert.rejects(guarded.list(place(), ''), /--allow-address/)
})
