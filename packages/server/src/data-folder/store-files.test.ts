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

function watchedDisk(): { readonly disk: Disk; readonly calls: readonly unknown[] } {
  const calls: unknown[] = []
  const recorded = (what: string) => async (path: string) => void calls.push([what, basename(path), ...stores()])
  const names = async (path: string): Promise<void> => {
    assert.equal(path, folder)
    calls.push(['names', ...stores()])
  }
  return { disk: { copy: copyFile, flush: recorded('flush'), flushFolder: names }, calls }
}

test('the copy of the first store is durable before the second store takes its place', async () => {
  const { disk, calls } = watchedDisk()
  await swapStoreFiles(files, disk)
  assert.deepEqual(calls, [
    ['flush', 'replaced.sqlite', 'old', 'restored', 'old'],
    ['names', 'old', 'restored', 'old'],
    ['names', 'restored', undefined, 'old'],
  ])
})

test('the first store stays in place when it cannot be copied', async () => {
  const { disk } = watchedDisk()
  const full = { ...disk, flush: () => Promise.reject(new Error('full')) }
  await assert.rejects(swapStoreFiles(files, full), /full/)
  assert.deepEqual(stores().slice(0, 2), ['old', 'restored'])
})

test('an empty folder gets the second store without a copy of a first one', async () => {
  rmSync(files.first)
  const { disk, calls } = watchedDisk()
  await swapStoreFiles(files, disk)
  assert.deepEqual(calls, [['names', 'restored', undefined, undefined]])
})

test('the copy becomes the first store again, durably', async () => {
  const { disk, calls } = watchedDisk()
  await swapStoreFiles(files, disk)
  await restorePrevious(files, disk)
  assert.deepEqual(calls.at(-1), ['names', 'old', undefined, undefined])
})
