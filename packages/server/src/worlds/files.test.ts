import assert from 'node:assert/strict'
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { shareFiles } from './files.ts'

let parent: string
before(() => {
  parent = mkdtempSync(join(tmpdir(), 'hyperplane-files-'))
})
after(() => rmSync(parent, { recursive: true }))

function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(parent, 'world-'))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
    utimesSync(join(folder, name), 1000, 1000)
  }
  return folder
}
const target = (): string => join(mkdtempSync(join(parent, 'copy-')), 'world')
const filesIn = (folder: string): string[] =>
  (readdirSync(folder, { recursive: true }) as string[]).filter((name) => statSync(join(folder, name)).isFile()).sort()

test('a copy has the files of its moment: a file that is replaced or removed later stays in it', () => {
  const from = folderOf({ 'a/one': '1', 'a/two': '2', 'b/three.uploading': 'half' })
  const to = target()
  shareFiles(from, to)
  writeFileSync(join(from, 'a/one.uploading'), 'new')
  renameSync(join(from, 'a/one.uploading'), join(from, 'a/one'))
  rmSync(join(from, 'a/two'))
  assert.deepEqual(filesIn(to), ['a/one', 'a/two'])
  assert.deepEqual([readFileSync(join(to, 'a/one'), 'utf8'), readFileSync(join(to, 'a/two'), 'utf8')], ['1', '2'])
})

test('a file that vanishes during the copy is left out, and a missing folder is no error', () => {
  const from = folderOf({ vanishing: '1', staying: '2' })
  const to = target()
  shareFiles(from, to, (source, copy) => {
    if (String(source).endsWith('vanishing')) rmSync(source as string)
    linkSync(source, copy)
  })
  assert.deepEqual(filesIn(to), ['staying'])
  assert.doesNotThrow(() => shareFiles(join(parent, 'nowhere'), target()))
})

test('without hard links a file is copied with its time', () => {
  const from = folderOf({ one: '1' })
  const to = target()
  shareFiles(from, to, () => {
    throw Object.assign(new Error('no'), { code: 'EPERM' })
  })
  assert.equal(readFileSync(join(to, 'one'), 'utf8'), '1')
  assert.equal(statSync(join(to, 'one')).mtimeMs, 1_000_000)
  assert.notEqual(statSync(join(to, 'one')).ino, statSync(join(from, 'one')).ino)
})
