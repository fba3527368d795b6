/** A copy of a world is flushed to the disk before anything depends on it. Source: decision worlds-and-their-control. */
import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import type { Disk } from '../../../src/data-folder/disk.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { aWorld, worlds } from '../../support/worlds.ts'

const categories = '/platform/v4.3/config/categories'

/** Records requested flushes, and waits for `before`. */
class WatchedDisk implements Disk {
  readonly asked: string[] = []
  before: (what: string, path: string) => unknown = () => undefined
  readonly copy = copyFile
  readonly flush = (file: string): Promise<void> => this.#told('flush', file)
  readonly flushFolder = (folder: string): Promise<void> => this.#told('flushFolder', folder)

  async #told(what: string, path: string): Promise<void> {
    await this.before(what, path)
    this.asked.push(`${what} ${basename(path)}`)
  }
}

let parent: string
let disk: WatchedDisk
let app: TestApp
beforeEach(async () => {
  parent = mkdtempSync(join(tmpdir(), 'hyperplane-copies-'))
  disk = new WatchedDisk()
  app = await startApp({ folder: join(parent, 'data'), config: { seed: 'empty' }, disk, logLevel: 'silent' })
})
afterEach(async () => {
  await app.close()
  rmSync(parent, { recursive: true, force: true })
})

const post = (world: string, value: string): Promise<CallResult> =>
  app.call('POST', categories, { world, body: { key: 'team', value } })
const valuesIn = async (world: string, of = app): Promise<string[]> =>
  (await of.call('GET', `${categories}?$filter=key eq 'team'`, { world })).data.map(({ value }: any) => value)
const reset = (world: string): Promise<CallResult> => app.call('POST', `${worlds}/${world}/$actions/reset`)
const fork = (world: string, name: string): Promise<CallResult> =>
  app.call('POST', `${worlds}/${world}/$actions/fork`, { body: { name } })

/** Delays this flush. @returns a promise of its request, and a function that lets it finish */
function held(what: string, name: string): { readonly begun: Promise<void>; readonly release: () => void } {
  const begun = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  disk.before = (asked, path) => {
    if (asked !== what || basename(path) !== name) return undefined
    begun.resolve()
    return released.promise
  }
  return { begun: begun.promise, release: released.resolve }
}

/** The files that would exist after a power failure at this moment. */
async function afterwards<T>(work: (app: TestApp) => Promise<T>): Promise<T> {
  const folder = join(mkdtempSync(join(parent, 'image-')), 'data')
  cpSync(app.folder, folder, { recursive: true, filter: (source) => basename(source) !== 'lock' })
  const next = await startApp({ folder, config: { seed: 'empty' }, logLevel: 'silent' })
  try {
    return await work(next)
  } finally {
    await next.close()
  }
}

test('a fork is listed and answered when both its stores and their names are on the disk', async () => {
  await aWorld(app, 'origin')
  const { begun, release } = held('flushFolder', 'copy')
  disk.asked.length = 0
  let answered = false
  const forked = fork('origin', 'copy').then((result) => {
    answered = true
    return result
  })
  await begun
  assert.deepEqual([...disk.asked].sort(), ['flush seed.sqlite', 'flush world.sqlite'])
  assert.equal((await app.call('GET', `${worlds}/copy`)).status, 404)
  assert.equal(await afterwards(async (next) => (await next.call('GET', `${worlds}/copy`)).status), 404)
  assert.equal(answered, false)
  release()
  assert.equal((await forked).status, 201)
  assert.deepEqual(disk.asked.slice(2), ['flushFolder copy'])
})

test('a reset removes the present state after the next one is on the disk', async () => {
  await aWorld(app, 'stirred')
  await post('stirred', 'later')
  const { begun, release } = held('flush', 'world.sqlite.new')
  const answer = reset('stirred')
  await begun
  assert.deepEqual(await afterwards((next) => valuesIn('stirred', next)), ['later'])
  release()
  assert.equal((await answer).status, 200)
  assert.deepEqual(await valuesIn('stirred'), [])
})

test('the next start removes unfinished copies', async () => {
  await aWorld(app, 'stirred')
  const { begun, release } = held('flush', 'world.sqlite.new')
  const answer = reset('stirred')
  await begun
  let copy = ''
  await afterwards(async (next) => {
    copy = join(next.folder, 'worlds', 'stirred', 'world.sqlite.new')
    assert.deepEqual(await valuesIn('stirred', next), [])
  })
  release()
  assert.equal((await answer).status, 200)
  assert.equal(existsSync(copy), false)
})

test('a reset answers when the name of the next state is on the disk', async () => {
  await aWorld(app, 'stirred')
  await post('stirred', 'later')
  const { begun, release } = held('flushFolder', 'stirred')
  let answered = false
  const answer = reset('stirred').then((result) => {
    answered = true
    return result
  })
  await begun
  const folder = join(app.folder, 'worlds', 'stirred')
  assert.deepEqual(
    ['world.sqlite', 'world.sqlite.new'].map((name) => existsSync(join(folder, name))),
    [true, false],
  )
  assert.deepEqual(await afterwards((next) => valuesIn('stirred', next)), [])
  assert.equal(answered, false)
  release()
  assert.equal((await answer).status, 200)
})

test('a store that an export still reads is deleted durably before its write-ahead log', async () => {
  await aWorld(app, 'read')
  const exported = await app.call('GET', `${worlds}/read/seed`)
  const reader = exported.data.content[Symbol.asyncIterator]()
  await reader.next()
  await post('read', 'later')
  const file = join(app.folder, 'worlds', 'read', 'world.sqlite')
  const found: boolean[][] = []
  disk.before = (what) => what === 'flushFolder' && found.push([file, `${file}-wal`].map((each) => existsSync(each)))
  assert.equal((await reset('read')).status, 200)
  assert.deepEqual(found[0], [false, true])
  await reader.return()
})

test('a world whose baseline cannot be flushed continues unchanged', async () => {
  await aWorld(app, 'stirred')
  await post('stirred', 'later')
  disk.before = (_, path) => {
    if (path.endsWith('.new')) throw Object.assign(new Error('full'), { code: 'ENOSPC' })
  }
  const { status, errors } = await reset('stirred')
  assert.equal(status, 503)
  assert.match(errors[0]?.message ?? '', /full/)
  assert.deepEqual(await valuesIn('stirred'), ['later'])
  disk.before = () => undefined
  assert.equal((await reset('stirred')).status, 200)
  assert.deepEqual(await valuesIn('stirred'), [])
})

test('the baseline of a new world gets its name after it is on the disk', async () => {
  const names: boolean[] = []
  disk.before = (what, path) =>
    what === 'flush' && path.endsWith('seed.sqlite.new') && names.push(existsSync(join(dirname(path), 'seed.sqlite')))
  disk.asked.length = 0
  await aWorld(app, 'new')
  assert.deepEqual(names, [false])
  assert.deepEqual(disk.asked, ['flush seed.sqlite.new', 'flushFolder new'])
})
