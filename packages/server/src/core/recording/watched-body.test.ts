import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unreadFields, watched } from './watched-body.ts'

const body = {
  name: 'web-01',
  memory: { sizeBytes: 4, isOvercommitted: true },
  nics: [{ subnet: 'a', mac: '50:6b' }, { subnet: 'b' }],
  description: 'a web server',
}

/** What nobody read, after `use` did what it does with the body. */
function unreadAfter(use: (body: any) => void): string[] {
  const reads = new Set<string>()
  use(watched(body, reads))
  return unreadFields(body, reads)
}

test('names the fields that nobody read, the outermost ones', () => {
  assert.deepEqual(
    unreadAfter((seen) => [seen.name, seen.memory.sizeBytes, seen.nics.map((nic: any) => nic.subnet)]),
    ['description', 'memory/isOvercommitted', 'nics/mac'],
  )
  assert.deepEqual(
    unreadAfter(() => undefined),
    ['description', 'memory', 'name', 'nics'],
  )
})

test('whoever stores, clones or sends the body on reads all of it', () => {
  for (const use of [JSON.stringify, structuredClone, (seen: any) => assert.deepEqual(seen, body)])
    assert.deepEqual(unreadAfter(use), [])
})

test('asking whether a field is there, and which ones are, is not reading them', () => {
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

test('files and other objects with a life of their own stay what they are', () => {
  const content = new Uint8Array([1, 2])
  assert.equal(watched({ content }, new Set()).content, content)
})

test('what the profiles add to a body is nobody’s to read', () => {
  assert.deepEqual(unreadFields({ $objectType: 'a', $reserved: {}, name: null, kept: 1 }, new Set()), ['kept'])
})
