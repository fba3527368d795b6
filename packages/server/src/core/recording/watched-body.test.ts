import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unreadFields, watched } from './watched-body.ts'

const body = {
  name: 'web-01',
  memory: { sizeBytes: 4, isOvercommitted: true },
  nics: [{ subnet: 'a', mac: '50:6b' }, { subnet: 'b' }],
  description: 'a web server',
}

function unreadAfter(use: (body: any) => void): string[] {
  const reads = new Set<string>()
  use(watched(body, reads))
  return unreadFields(body, reads)
}

test('lists the outermost fields that were never read', () => {
  assert.deepEqual(
    unreadAfter((seen) => [seen.name, seen.memory.sizeBytes, seen.nics.map((nic: any) => nic.subnet)]),
    ['description', 'memory/isOvercommitted', 'nics/mac'],
  )
  assert.deepEqual(
    unreadAfter(() => undefined),
    ['description', 'memory', 'name', 'nics'],
  )
})

test('storing, cloning or forwarding the body reads all of it', () => {
  for (const use of [JSON.stringify, structuredClone, (seen: any) => assert.deepEqual(seen, body)])
    assert.deepEqual(unreadAfter(use), [])
})

test('checking whether fields exist does not read them', () => {
  assert.deepEqual(
    unreadAfter((seen) => ['name' in seen, Object.hasOwn(seen, 'name'), Object.keys(seen)]),
    ['description', 'memory', 'name', 'nics'],
  )
})

test('writing to the body throws, at every depth; a spread copy can be written', () => {
  const seen: any = watched(body, new Set())
  for (const write of [
    () => (seen.name = 'web-02'),
    () => (seen.added = 1),
    () => delete seen.description,
    () => (seen.memory.sizeBytes = 8),
    () => seen.nics.push({}),
  ])
    assert.throws(write, TypeError)
  assert.deepEqual({ ...seen, name: 'web-02' }, { ...body, name: 'web-02' })
  assert.equal(seen.memory, seen.memory)
})

test('files and other objects that are not plain data stay as they are', () => {
  const content = new Uint8Array([1, 2])
  assert.equal(watched({ content }, new Set()).content, content)
})

test('decorations of the profiles never count as unread', () => {
  assert.deepEqual(unreadFields({ $objectType: 'a', $reserved: {}, name: null, kept: 1 }, new Set()), ['kept'])
})
