import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import type { Disk } from './disk.ts'
import { restorePrevious, type StoreFiles, storeFiles, swapStoreFiles } from './store-files.ts'

let folder: string
let files: StoreFiles
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hyperplane-exchange-'))
  files = storeFiles(folder)
  writeFileSync(files.first, 'old')
  writeFileSync(files.second, 'restored')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const contentOf = (file: string): string | undefined => (existsSync(file) ? readFileSync(file, 'utf8') : undefined)
const stores = (): readonly (string | undefined)[] => [files.first, files.second, files.kept].map(contentOf)

/** Tells what it is asked for, and what the stores are by then. */
function watchedDisk(): { readonly disk: Disk; readonly asked: readonly unknown[] } {
  const asked: unknown[] = []
  const told = (what: string) => async (path: string) => void asked.push([what, basename(path), ...stores()])
  const names = async (path: string): Promise<void> => {
    assert.equal(path, folder)
    asked.push(['names', ...stores()])
  }
  return { disk: { copy: copyFile, flush: told('flush'), flushFolder: names }, asked }
}

test('the first store is kept on the disk, with its name, before the second takes its place', async () => {
  const { disk, asked } = watchedDisk()
  await swapStoreFiles(files, disk)
  assert.deepEqual(asked, [
    ['flush', 'replaced.sqlite', 'old', 'restored', 'old'],
    ['names', 'old', 'restored', 'old'],
    ['names', 'restored', undefined, 'old'],
  ])
})

test('where it cannot be kept nothing takes its place', async () => {
  const { disk } = watchedDisk()
  const full = { ...disk, flush: () => Promise.reject(new Error('full')) }
  await assert.rejects(swapStoreFiles(files, full), /full/)
  assert.deepEqual(stores().slice(0, 2), ['old', 'restored'])
})

test('in an empty folder there is nothing to keep', async () => {
  rmSync(files.first)
  const { disk, asked } = watchedDisk()
  await swapStoreFiles(files, disk)
  assert.deepEqual(asked, [['names', 'restored', undefined, undefined]])
})

test('what was kept is the first store again when its name is on the disk', async () => {
  const { disk, asked } = watchedDisk()
  await swapStoreFiles(files, disk)
  await restorePrevious(files, disk)
  assert.deepEqual(asked.at(-1), ['names', 'old', undefined, undefined])
})
