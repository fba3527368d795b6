/** Source: behaviour platform.md 8; 14, statement 34. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { sealerWith } from '../core/access/secrets.ts'
import { type ObjectStore, ObjectStoreError, type Place } from '../drivers/object-store.ts'
import { newDataKey, unwrapDataKey } from './cipher.ts'
import { BackupFault, completeName, folderOf, type Manifest, manifestName, plainPartBytes, sha256 } from './format.ts'
import { type Line, packParts } from './pack.ts'
import { readRestorePoint } from './read.ts'
import { findRestorePoints } from './reader.ts'
import { backupSealer, reseal } from './reseal.ts'
import { type BackupRow, type EntityRow, entityLine, metaLine } from './rows.ts'
import { Unpacker } from './unpack.ts'
import { writeRestorePoint } from './writer.ts'

const place: Place = { kind: 'cluster', clusterExtId: 'c' }
const backupKey = Buffer.alloc(32, 7)
const domainManager = {
  extId: 'm',
  config: { name: 'manager', size: 'SMALL', buildInfo: {} },
  network: {},
} as unknown as Manifest['domainManager']

function memory(): { store: ObjectStore; objects: Map<string, Uint8Array> } {
  const objects = new Map<string, Uint8Array>()
  const store: ObjectStore = {
    list: async (_place, prefix) =>
      [...objects]
        .filter(([key]) => key.startsWith(prefix))
        .map(([key, content]) => ({ key, sizeBytes: content.byteLength, modifiedTime: 0 })),
    get: async (_place, key) => {
      const content = objects.get(key)
      if (content === undefined) throw new ObjectStoreError('noSuchObject', key)
      return content
    },
    put: async (_place, key, content) => void objects.set(key, content),
    remove: async (_place, key) => void objects.delete(key),
  }
  return { store, objects }
}

const vm = (extId: string, more: object = {}): Line => ({
  section: 'manager',
  kind: 'Vm',
  pieces: entityLine('Vm', 3, false, JSON.stringify({ extId, ...more })),
})
const fact: Line = { section: 'world', kind: 'Fact', pieces: entityLine('Fact', 1, false, '{"extId":"f"}') }

const write = (store: ObjectStore, restorePointExtId: string, creationTime: string, ...lines: Line[]) => {
  const dataKey = newDataKey()
  return writeRestorePoint(
    { store, place },
    {
      restorePointExtId,
      creationTime,
      productVersion: '1.0.0',
      domainManager,
      backupKey,
      dataKey,
      parts: packParts(lines, dataKey, restorePointExtId),
    },
  )
}

const read = async (store: ObjectStore, manifest: Manifest, key = backupKey): Promise<string[]> => {
  const found: string[] = []
  for await (const { section, row } of readRestorePoint({ store, place }, manifest, key))
    found.push(`${section} ${JSON.stringify(row)}`)
  return found
}

const corrupt = (part: string) => (error: unknown) =>
  error instanceof BackupFault && error.fault === 'corrupt' && error.message.includes(part)

test('finds complete restore points, newest first, and reads their rows in order', async () => {
  const { store } = memory()
  await write(store, 'older', '2026-01-01T00:00:00.000000Z', vm('x'))
  const tenant: Line = { section: 'manager', kind: 'meta', pieces: metaLine('tenant', 't') }
  const written = await write(store, 'newer', '2026-01-02T00:00:00.000000Z', tenant, vm('web-01'), fact)
  const { manifests, warnings } = await findRestorePoints({ store, place })
  assert.deepEqual([manifests.map((manifest) => manifest.restorePointExtId), warnings], [['newer', 'older'], []])
  assert.deepEqual(manifests[0], written)
  assert.deepEqual(
    written.parts.map(({ name, section, rows }) => [name, section, rows]),
    [
      ['part-00001', 'manager', { meta: 1, Vm: 1 }],
      ['part-00002', 'world', { Fact: 1 }],
    ],
  )
  assert.deepEqual(await read(store, manifests[0] as Manifest), [
    'manager {"kind":"meta","name":"tenant","value":"t"}',
    'manager {"kind":"Vm","version":3,"document":{"extId":"web-01"}}',
    'world {"kind":"Fact","version":1,"document":{"extId":"f"}}',
  ])
})

test('rows may be larger than parts: incompressible content is read back unchanged', async () => {
  const { store } = memory()
  const texts = Array.from({ length: 3 }, () => randomBytes(plainPartBytes).toString('base64'))
  const manifest = await write(store, 'p', '2026-01-01T00:00:00.000000Z', ...texts.map((text) => vm('a', { text })))
  assert.ok(manifest.parts.length > 4)
  const rows: BackupRow[] = []
  for await (const { row } of readRestorePoint({ store, place }, manifest, backupKey)) rows.push(row)
  assert.deepEqual(
    rows.map((row) => (row as EntityRow).document['text']),
    texts,
  )
})

test('counting rows finds the same faults as reading them', async () => {
  const { store, objects } = memory()
  const tenant: Line = { section: 'manager', kind: 'meta', pieces: metaLine('tenant', 't') }
  const lines = [tenant, vm('a', { text: randomBytes(plainPartBytes).toString('base64') }), vm('b'), fact]
  const manifest = await write(store, 'p', '2026-01-01T00:00:00.000000Z', ...lines)
  const count = (counted: Manifest): void => {
    const unpacker = new Unpacker(counted, unwrapDataKey(backupKey, manifest))
    for (const { name } of counted.parts) unpacker.count(objects.get(`${folderOf('m', 'p')}/${name}`) as Uint8Array)
    unpacker.end()
  }
  count(manifest)
  const [first, ...others] = manifest.parts as [Manifest['parts'][number], ...Manifest['parts']]
  assert.throws(() => count({ ...manifest, parts: [{ ...first, rows: { meta: 2 } }, ...others] }), corrupt(first.name))
  assert.throws(() => count({ ...manifest, parts: [first] }), corrupt('part-00001'))
})

test('the stored bytes reveal no content', async () => {
  const { store, objects } = memory()
  await write(store, 'p', '2026-01-01T00:00:00.000000Z', vm('a very secret name'))
  for (const content of objects.values()) assert.doesNotMatch(Buffer.from(content).toString('latin1'), /secret name/)
})

test('a writer that fails at any object leaves no restore point and harms no other', async () => {
  for (let failing = 1; failing <= 4; failing++) {
    const { store } = memory()
    await write(store, 'complete', '2026-01-01T00:00:00.000000Z', vm('x'))
    let puts = 0
    const breaking: ObjectStore = {
      ...store,
      put: (at, key, content) => (++puts === failing ? Promise.reject(new Error('cut')) : store.put(at, key, content)),
    }
    await assert.rejects(write(breaking, 'cut', '2026-01-02T00:00:00.000000Z', vm('a'), fact))
    const { manifests, warnings } = await findRestorePoints({ store, place })
    assert.deepEqual([manifests.map((manifest) => manifest.restorePointExtId), warnings], [['complete'], []])
  }
})

test('the error for a changed bit, a missing part or a swapped part names the part', async () => {
  const { store, objects } = memory()
  const manifest = await write(store, 'p', '2026-01-01T00:00:00.000000Z', vm('x'), fact)
  const key = (index: number) => `${folderOf('m', 'p')}/${manifest.parts[index]?.name}`
  const [first, second] = [objects.get(key(0)) as Buffer, objects.get(key(1)) as Buffer]
  const flipped = Buffer.from(first)
  flipped[20] = (flipped[20] as number) ^ 1
  objects.set(key(0), flipped)
  await assert.rejects(read(store, manifest), corrupt('part-00001'))
  objects.set(key(0), second)
  await assert.rejects(read(store, manifest), corrupt('part-00001'))
  objects.set(key(0), first)
  objects.delete(key(1))
  await assert.rejects(read(store, manifest), corrupt('part-00002'))
})

test('a forged manifest does not open, even with matching digests', async () => {
  const { store, objects } = memory()
  const manifest = await write(store, 'p', '2026-01-01T00:00:00.000000Z', vm('x'), fact)
  const replace = (changed: Manifest): void => {
    const bytes = Buffer.from(JSON.stringify(changed))
    objects.set(`${folderOf('m', 'p')}/${manifestName}`, bytes)
    objects.set(`${folderOf('m', 'p')}/${completeName}`, Buffer.from(sha256(bytes)))
  }
  for (const changed of [
    { ...manifest, parts: manifest.parts.slice(0, 1) },
    { ...manifest, creationTime: '2026-01-03T00:00:00.000000Z' },
    { ...manifest, domainManager: { ...domainManager, config: { ...domainManager.config, name: 'other' } } },
  ]) {
    replace(changed)
    const [found] = (await findRestorePoints({ store, place })).manifests
    await assert.rejects(read(store, found as Manifest), corrupt('manifest.json'))
  }
  replace(manifest)
  const [found] = (await findRestorePoints({ store, place })).manifests
  assert.equal((await read(store, found as Manifest)).length, 2, 'spaces in the file do not matter')
})

test('a wrong backup key is distinguished from damage', async () => {
  const { store } = memory()
  const manifest = await write(store, 'p', '2026-01-01T00:00:00.000000Z', vm('x'))
  await assert.rejects(
    read(store, manifest, Buffer.alloc(32, 8)),
    (error: unknown) => error instanceof BackupFault && error.fault === 'keyMismatch',
  )
})

test('a damaged restore point is left out with a warning', async () => {
  const { store, objects } = memory()
  await write(store, 'p', '2026-01-01T00:00:00.000000Z', vm('x'))
  objects.set(`${folderOf('m', 'p')}/${completeName}`, Buffer.from('0'.repeat(64)))
  const { manifests, warnings } = await findRestorePoints({ store, place })
  assert.deepEqual([manifests.length, warnings.length], [0, 1])
})

test('a restore point that is retired during the reading is left out and hides no other', async () => {
  const { store } = memory()
  await write(store, 'retired', '2026-01-01T00:00:00.000000Z', vm('x'))
  await write(store, 'kept', '2026-01-02T00:00:00.000000Z', vm('x'))
  const get: ObjectStore['get'] = (at, key) => {
    if (key.includes('/retired/')) throw new ObjectStoreError('noSuchObject', key)
    return store.get(at, key)
  }
  const { manifests, warnings } = await findRestorePoints({ store: { ...store, get }, place })
  assert.deepEqual([manifests.map(({ restorePointExtId }) => restorePointExtId), warnings.length], [['kept'], 1])
})

test('secrets are resealed with the key of the restore point, and then with the key of another instance', async () => {
  const [old, fresh] = [sealerWith(Buffer.alloc(32, 1), 'old'), sealerWith(Buffer.alloc(32, 2), 'fresh')]
  const kind = { kind: 'Target', secrets: [['logins', 'password']] }
  const about = 'Target/t/logins/password'
  const document = { extId: 't', logins: [{ password: { $sealed: old.seal('one', about) } }, {}] }
  const { store } = memory()
  const manifest = await write(store, 'p', '2026-01-01T00:00:00.000000Z', vm('x'))
  const inBackup = backupSealer(unwrapDataKey(backupKey, manifest))
  reseal(kind, document, old, inBackup)
  reseal(kind, document, inBackup, fresh)
  assert.equal(fresh.open(document.logins[0]?.password?.$sealed as string, about), 'one')

  const task = {
    extId: 'k',
    runner: { input: old.seal('{}', 'task/k/input'), outputs: old.seal('{}', 'task/k/outputs') },
  }
  reseal({ kind: 'Task', secrets: [] }, task, old, fresh)
  assert.equal(fresh.open(task.runner.input, 'task/k/input'), '{}')
})
