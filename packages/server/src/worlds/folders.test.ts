import assert from 'node:assert/strict'
import fs, { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { ApiError } from '../core/api-error.ts'
import { createWorldFolders } from './folders.ts'

let parent: string
before(() => {
  parent = mkdtempSync(join(tmpdir(), 'hyperplane-folders-'))
})
after(() => rmSync(parent, { recursive: true }))

const newFolders = () => {
  const place = mkdtempSync(join(parent, 'worlds-'))
  return { place, folders: createWorldFolders(place), later: () => createWorldFolders(place) }
}

test('the next start deletes an unfinished folder and keeps a settled one, whether its world is known or not', () => {
  const { folders, later } = newFolders()
  for (const name of ['unfinished', 'known', 'unknown']) folders.begin(name)
  for (const name of ['known', 'unknown']) {
    writeFileSync(join(folders.of(name), 'world.sqlite'), 'whole')
    folders.settle(name)
  }
  assert.deepEqual(
    later().tidy((key) => key === 'known'),
    [folders.of('unknown')],
  )
  assert.deepEqual(
    [existsSync(folders.of('unfinished')), existsSync(folders.of('known')), existsSync(folders.of('unknown'))],
    [false, true, true],
  )
})

test('a folder marked for removal stays, without its mark, while the registry knows its world', () => {
  const { folders, later } = newFolders()
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

test('the next start deletes removals and uploads that a crash interrupted', () => {
  const { place, folders } = newFolders()
  for (const name of ['.removed-1-gone', '.incoming-x1']) mkdirSync(join(place, name))
  assert.deepEqual(
    folders.tidy(() => false),
    [],
  )
  assert.deepEqual(readdirSync(place), [])
})

test('a new world does not take over the folder of an unknown one: 409 names the folder', () => {
  const { folders } = newFolders()
  mkdirSync(folders.of('lost'))
  writeFileSync(join(folders.of('lost'), 'world.sqlite'), 'precious')
  assert.throws(
    () => folders.begin('Lost'),
    ({ status, message }: ApiError) => status === 409 && message.includes(folders.of('lost')),
  )
})

test('an empty folder without a mark, left by a crash, does not block its name', () => {
  const { folders, later } = newFolders()
  mkdirSync(folders.of('early'))
  assert.deepEqual(
    later().tidy(() => false),
    [],
  )
  assert.equal(later().begin('early'), folders.of('early'))
})

test('no folder remains when the mark cannot be written', (t) => {
  const { folders } = newFolders()
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
