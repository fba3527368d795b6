import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { realClock } from '../../core/time/clock.ts'
import type { Place } from '../object-store.ts'
import { createObjectStore } from './object-store.ts'
import { type Bucket, digestOf, type S3Service } from './place-doors.ts'
import { openSimulatedWorld } from './world.ts'

test('a bucket whose name leads out of the folder of its world is refused', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'hyperplane-places-'))
  try {
    const put = async () => undefined
    const stage = () => ({ applied: put(), durable: put() })
    const facts = { load: async () => [], put, stage, remove: put }
    const world = await openSimulatedWorld(facts, realClock, 'seed')
    await world
      .collection<S3Service>('objectStore.services')
      .put('one', { addresses: ['s3.one'], certificate: 'public' })
    const store = createObjectStore(world, { folder: join(parent, 'world') })
    const at = async (bucket: string): Promise<Place> => {
      const keys = { key: digestOf('secret') }
      await world.collection<Bucket>('objectStore.buckets').put(bucket, { service: 'one', keys })
      const access = { accessKeyId: 'key', secretAccessKey: 'secret', style: 'path' as const }
      const where = {
        kind: 'bucket' as const,
        endpoint: 's3.one',
        region: 'r',
        bucket,
        skipsCertificateValidation: true,
      }
      return { ...where, ...access } as Place
    }
    const content = Buffer.from('of a backup')
    for (const bucket of ['../../outside', '..', 'a/b', '']) {
      const place = await at(bucket)
      for (const asked of [
        () => store.put(place, 'part', content),
        () => store.get(place, 'part'),
        () => store.list(place, ''),
        () => store.remove(place, 'part'),
      ])
        await assert.rejects(asked, { fault: 'noSuchBucket' }, bucket)
    }
    assert.deepEqual(readdirSync(parent), [])
    const good = await at('demo-backups.1')
    await store.put(good, 'part', content)
    assert.equal(String(await store.get(good, 'part')), 'of a backup')
  } finally {
    rmSync(parent, { recursive: true, force: true })
  }
})
