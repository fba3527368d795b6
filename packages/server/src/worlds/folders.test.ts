import assert from 'node:assert/strict'
import fs, { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createWorldFolders } from './folders.ts'

let parent: string
before(() => {
  parent = mkdtempSync(join(tmpdir(), 'hyperplane-folders-'))
})
after(() => rmSync(parent, { recursive: true }))

const some = () => {
  const place = mkdtempSync(join(parent, 'worlds-'))
  return { place, folders: createWorldFolders(place), later: () => createWorldFolders(place) }
}

test('a folder that is half made goes at the next start; one that is settled stays, whether its world is known or not', () => {
  const { folders, later } = some()
  for (const name of ['half', 'known', 'unknown']) folders.begin(name)
  for (const name of ['known', 'unknown']) {
    writeFileSync(join(folders.of(name), 'world.sqlite'), 'whole')
    folders.settle(name)
  }
  assert.deepEqual(
    later().tidy((key) => key === 'known'),
    [folders.of('unknown')],
  )
  assert.deepEqual(
    [existsSync(folders.of('half')), existsSync(folders.of('known')), existsSync(folders.of('unknown'))],
    [false, true, true],
  )
})

test('a folder that was to go stays while the registry knows its world, and loses its mark', () => {
  const { folders, later } = some()
  folders.begin('staying')
  folders.settle('staying')
  folders.release('staying')
  later().tidy(() => true)
  assert.deepEqual(readdirSync(folders.of('staying')), [])
  folders.release('staying')
  assert.deepEqual(
    later().tidy(() => false),
    [],
  )
  assert.equal(existsSync(folders.of('staying')), false)
})

test('what was on its way out, or in, when the process died goes at the next start', () => {
  const { place, folders } = some()
  for (const name of ['.removed-1-gone', '.incoming-x1']) mkdirSync(join(place, name))
  assert.deepEqual(
    folders.tidy(() => false),
    [],
  )
  assert.deepEqual(readdirSync(place), [])
})

test('a folder that no world is known of is not taken for a new one: 409 names it', () => {
  const { folders } = some()
  mkdirSync(folders.of('lost'))
  writeFileSync(join(folders.of('lost'), 'world.sqlite'), 'precious')
  assert.throws(
    () => folders.begin('Lost'),
    ({ status, message }: any) => status === 409 && message.includes(folders.of('lost')),
  )
})

test('a folder that the process made and died before it bore the mark keeps its name from nobody', () => {
  const { folders, later } = some()
  mkdirSync(folders.of('early'))
  assert.deepEqual(
    later().tidy(() => false),
    [],
  )
  assert.equal(later().begin('early'), folders.of('early'))
})

test('where the mark cannot be written there is no folder either', (t) => {
  const { folders } = some()
  const full = t.mock.method(fs, 'writeFileSync', () => {
    throw Object.assign(new Error('full'), { code: 'ENOSPC' })
  })
  syncBuiltinESMExports()
  try {
    assert.throws(() => folders.begin('unmarked'), { code: 'ENOSPC' })
  } finally {
    full.mock.restore()
    syncBuiltinESMExports()
  }
  assert.equal(existsSync(folders.of('unmarked')), false)
  folders.begin('unmarked')
})
