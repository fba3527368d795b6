/** What is written can be found and opened again, and nothing else can. Source: behaviour platform.md 8; 14, statement 34. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ObjectStore, Place } from '../../../drivers/object-store.ts'
import { aboutKey, aboutPart, decrypt, keyIdOf } from './cipher.ts'
import { completeName, folderOf, type Manifest } from './format.ts'
import { findRestorePoints } from './reader.ts'
import { writeRestorePoint } from './writer.ts'

const place: Place = { kind: 'cluster', clusterExtId: 'c' }
const backupKey = Buffer.alloc(32, 7)
const domainManager = {
  extId: 'm',
  config: { name: 'manager', size: 'SMALL', buildInfo: {} },
  network: {},
} as unknown as Manifest['domainManager']

/** A place in memory. */
function memory(): { store: ObjectStore; objects: Map<string, Uint8Array> } {
  const objects = new Map<string, Uint8Array>()
  const store: ObjectStore = {
    list: async (_place, prefix) =>
      [...objects]
        .filter(([key]) => key.startsWith(prefix))
        .map(([key, content]) => ({ key, sizeBytes: content.byteLength })),
    get: async (_place, key) => objects.get(key) as Uint8Array,
    put: async (_place, key, content) => void objects.set(key, content),
    remove: async (_place, key) => void objects.delete(key),
  }
  return { store, objects }
}

const write = (store: ObjectStore, restorePointExtId: string, creationTime: string, ...texts: string[]) =>
  writeRestorePoint(
    { store, place },
    {
      restorePointExtId,
      creationTime,
      productVersion: '1.0.0',
      domainManager,
      backupKey,
      parts: texts.map((text) => ({ content: Buffer.from(text), rows: { Vm: 1 } })),
    },
  )

test('a restore point is found whole, newest first, and opens with the backup key', async () => {
  const { store, objects } = memory()
  await write(store, 'older', '2026-01-01T00:00:00.000000Z', 'x')
  const written = await write(store, 'newer', '2026-01-02T00:00:00.000000Z', 'web-01', 'db-01')
  const { manifests, warnings } = await findRestorePoints({ store, place })
  assert.deepEqual([manifests.map((manifest) => manifest.restorePointExtId), warnings], [['newer', 'older'], []])
  assert.deepEqual(manifests[0], written)
  assert.equal(written.key.id, keyIdOf(backupKey))
  const dataKey = decrypt(backupKey, Buffer.from(written.key.wrapped, 'base64'), aboutKey('newer'))
  const part = (index: number) => objects.get(`${folderOf('m', 'newer')}/${written.parts[index]?.name}`) as Uint8Array
  assert.equal(decrypt(dataKey, part(0), aboutPart('newer', 0)).toString(), 'web-01')
  assert.throws(() => decrypt(dataKey, part(1), aboutPart('newer', 0)), 'parts cannot change places')
  assert.throws(
    () => decrypt(Buffer.alloc(32, 8), Buffer.from(written.key.wrapped, 'base64'), aboutKey('newer')),
    'another backup key',
  )
})

test('the bytes at the place tell nothing of what is in the parts', async () => {
  const { store, objects } = memory()
  await write(store, 'p', '2026-01-01T00:00:00.000000Z', 'a very secret name')
  for (const content of objects.values()) assert.doesNotMatch(Buffer.from(content).toString('latin1'), /secret name/)
})

test('a writer that stops at any object leaves no restore point, and harms no other', async () => {
  for (let failing = 1; failing <= 4; failing++) {
    const { store } = memory()
    await write(store, 'whole', '2026-01-01T00:00:00.000000Z', 'x')
    let puts = 0
    const breaking: ObjectStore = {
      ...store,
      put: (at, key, content) => (++puts === failing ? Promise.reject(new Error('cut')) : store.put(at, key, content)),
    }
    await assert.rejects(write(breaking, 'cut', '2026-01-02T00:00:00.000000Z', 'a', 'b'))
    const { manifests, warnings } = await findRestorePoints({ store, place })
    assert.deepEqual([manifests.map((manifest) => manifest.restorePointExtId), warnings], [['whole'], []])
  }
})

test('what is damaged is left out with a warning', async () => {
  const { store, objects } = memory()
  await write(store, 'p', '2026-01-01T00:00:00.000000Z', 'x')
  objects.set(`${folderOf('m', 'p')}/${completeName}`, Buffer.from('0'.repeat(64)))
  const { manifests, warnings } = await findRestorePoints({ store, place })
  assert.deepEqual([manifests.length, warnings.length], [0, 1])
})
