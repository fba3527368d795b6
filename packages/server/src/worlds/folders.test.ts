import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
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
  for (const name of ['known', 'unknown']) folders.settle(name)
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
