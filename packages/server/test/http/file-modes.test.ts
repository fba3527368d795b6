/** Only the owner can read the files of the data folder, whatever the umask and the modes of earlier files are. */
import assert from 'node:assert/strict'
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { http } from '../support/http.ts'
import { startApp, type TestApp } from '../support/start-app.ts'
import { aWorld, worlds } from '../support/worlds.ts'

const skip = process.platform === 'win32' && 'no modes there'

let folder: string
let umask: number
let app: TestApp | undefined
beforeEach(() => {
  umask = process.umask(0)
  folder = join(mkdtempSync(join(tmpdir(), 'hyperplane-modes-')), 'data')
})
afterEach(async () => {
  await app?.close()
  process.umask(umask)
  rmSync(join(folder, '..'), { recursive: true, force: true })
})

/** Everybody may read certificates; only the owner may write them. */
const forbiddenIn = (path: string): number =>
  /^(?:worlds\/[^/]+\/)?tls\/(?:ca|[^/]*cert)\.pem$/.test(path) ? 0o022 : 0o077

/** Paths of files that others may read or write, with their modes. */
function open(): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'foreign.txt')
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => (lstatSync(path).mode & forbiddenIn(relative(folder, path))) !== 0)
    .map((path) => `${relative(folder, path)} ${(lstatSync(path).mode & 0o777).toString(8)}`)
}

/** Writes every type of file: stores, journals, copies, objects of backups, certificates. */
async function use(): Promise<TestApp> {
  const used = await startApp({ folder, config: { http: false }, logLevel: 'silent' })
  app = used
  const { url } = await used.listen()
  await http(url, '/api/platform/v4.3/config/categories')
  await used.call('GET', `${worlds}/default/journal`)
  await aWorld(used, 'other')
  await used.call('POST', `${worlds}/other/$actions/fork`, { body: { name: 'copy' } })
  await used.call('POST', '/platform/v4.3/config/categories', { world: 'other', body: { key: 'k', value: 'v' } })
  return used
}

test('with a umask of 0 and a folder that is open to everybody, only the owner can read the files', {
  skip,
}, async () => {
  mkdirSync(folder, { mode: 0o777 })
  const used = await use()
  assert.deepEqual(open(), [])
  await used.call('POST', `${worlds}/other/$actions/reset`)
  await used.call('POST', `${worlds}/default/$actions/reset`)
  assert.deepEqual(open(), [])
  await used.close()
  assert.deepEqual(open(), [])
})

test('a start restricts the modes of its own files; foreign files keep theirs', { skip }, async () => {
  await (await use()).close()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o777 : 0o666)
  writeFileSync(join(folder, 'foreign.txt'), 'of the operator', { mode: 0o644 })
  app = await startApp({ folder, config: { http: false }, logLevel: 'silent' })
  await app.listen()
  assert.deepEqual(
    open().filter((path) => !path.startsWith('worlds/')),
    [],
  )
  // The folder of a closed world is inaccessible to others; the modes of its stores are restricted nevertheless.
  assert.equal(lstatSync(join(folder, 'worlds')).mode & 0o077, 0)
  assert.deepEqual(
    open().filter((path) => path.includes('.sqlite') && !path.includes('found.sqlite')),
    [],
  )
  for (const name of ['other', 'copy']) await app.call('GET', '/platform/v4.3/config/categories', { world: name })
  assert.deepEqual(open(), [])
  assert.equal(lstatSync(join(folder, 'foreign.txt')).mode & 0o777, 0o644)
})
