/** Files of a data folder that are lost while the service is stopped: errors name them and the remedies, and nothing is recreated. */
import assert from 'node:assert/strict'
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { StartRefusal } from '../../../src/core/start-refusal.ts'
import { loadingMark } from '../../../src/store/loading-mark.ts'
import { fillingMark } from '../../../src/worlds/seeding-mark.ts'
import { startApp, type TestApp, type TestSettings } from '../../support/start-app.ts'
import { aWorld, worlds } from '../../support/worlds.ts'

const categories = '/platform/v4.3/config/categories'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hyperplane-lost-'))
})
const apps = new Set<TestApp>()
afterEach(async () => {
  for (const app of apps) await app.close()
  apps.clear()
  rmSync(folder, { recursive: true, force: true })
})

async function start(config: TestSettings['config'] = {}): Promise<TestApp> {
  const app = await startApp({ folder, config: { seed: 'empty', ...config }, logLevel: 'silent' })
  apps.add(app)
  return app
}
const remember = async (app: TestApp, world?: string): Promise<void> => {
  const body = { key: 'kept', value: 'x' }
  assert.equal((await app.call('POST', categories, { body, ...(world === undefined ? {} : { world }) })).status, 201)
}
const remembered = async (app: TestApp, world?: string): Promise<number | undefined> =>
  (await app.call('GET', `${categories}?$filter=key eq 'kept'`, world === undefined ? {} : { world })).total
const lose = {
  deleted: (file: string) => rmSync(file),
  emptied: (file: string) => truncateSync(file),
}
const refusedWith =
  (...parts: readonly RegExp[]) =>
  (error: unknown) => {
    assert.ok(error instanceof StartRefusal, String(error))
    assert.doesNotMatch(error.message, /\n/)
    for (const part of parts) assert.match(error.message, part)
    return true
  }
const filesIn = (path: string): string[] => readdirSync(path, { recursive: true }).map(String).sort()

for (const [how, loseFile] of Object.entries(lose)) {
  const fault = how === 'deleted' ? /world\.sqlite is missing/ : /world\.sqlite is empty/

  test(`a start whose store was ${how} is refused with the remedies, changes nothing, and works when the store is back`, async () => {
    const first = await start()
    await remember(first)
    await first.close()
    const store = join(folder, 'world.sqlite')
    copyFileSync(store, `${folder}.copy`)
    loseFile(store)
    const before = filesIn(folder)
    for (const seed of ['empty', 'demo'] as const)
      await assert.rejects(
        start({ seed }),
        refusedWith(fault, /restore --from PLACE --point ID --data /, /--seed in an empty folder/),
      )
    assert.deepEqual(filesIn(folder), before)
    copyFileSync(`${folder}.copy`, store)
    rmSync(`${folder}.copy`)
    const again = await start()
    assert.equal(await remembered(again), 1)
    await again.close()
  })

  for (const kept of ['master.key', 'worlds.sqlite'])
    test(`a folder with only ${kept} left, and the store ${how}, is not filled again`, async () => {
      await (await start()).close()
      const store = join(folder, 'world.sqlite')
      loseFile(store)
      for (const entry of readdirSync(folder))
        if (entry !== kept && entry !== 'world.sqlite') rmSync(join(folder, entry), { recursive: true })
      await assert.rejects(start(), refusedWith(fault))
    })

  test(`a world whose store was ${how} answers 503 with the remedies; other worlds work, and a reset recreates it`, async () => {
    const first = await start()
    for (const name of ['hurt', 'whole']) {
      await aWorld(first, name)
      await remember(first, name)
    }
    await first.close()
    loseFile(join(folder, 'worlds', 'hurt', 'world.sqlite'))
    const app = await start()
    assert.equal(await remembered(app, 'whole'), 1)
    for (let asked = 0; asked < 2; asked++) {
      const refused = await app.call('GET', categories, { world: 'hurt' })
      assert.equal(refused.status, 503)
      assert.match(refused.errors[0]?.message ?? '', fault)
      assert.match(refused.errors[0]?.message ?? '', /Reset it.+or delete it.+restore a copy/)
    }
    const { data } = await app.call('GET', `${worlds}/hurt`)
    assert.equal(data.state, 'FAILED')
    assert.equal((await app.call('POST', `${worlds}/hurt/$actions/reset`)).status, 200)
    assert.equal(await remembered(app, 'hurt'), 0)
    await app.close()
  })
}

test('a world whose folder is gone answers 503 and can be deleted', async () => {
  const first = await start()
  await aWorld(first, 'gone')
  await first.close()
  rmSync(join(folder, 'worlds', 'gone'), { recursive: true })
  const app = await start()
  assert.equal((await app.call('GET', categories, { world: 'gone' })).status, 503)
  assert.equal((await app.call('DELETE', `${worlds}/gone`)).status, 204)
  assert.equal((await app.call('GET', worlds)).total, 1)
  await app.close()
})

test('the next request reports a store that was lost while its world was closed', async () => {
  const app = await start()
  await aWorld(app, 'resting')
  await app.worlds.get('resting')?.rest()
  rmSync(join(folder, 'worlds', 'resting', 'world.sqlite'))
  assert.equal((await app.call('GET', categories, { world: 'resting' })).status, 503)
  await app.close()
})

test('a first start that was interrupted before seeding continues by itself', async () => {
  writeFileSync(join(folder, 'master.key'), `${Buffer.alloc(32, 3).toString('base64')}\n`)
  writeFileSync(join(folder, 'world.sqlite'), '')
  writeFileSync(fillingMark(folder), '')
  const app = await start()
  await remember(app)
  assert.equal(existsSync(fillingMark(folder)), false)
  await app.close()
})

test('a store that is torn because the machine stopped while it was loaded is filled again', async () => {
  const first = await start()
  await remember(first)
  await first.close()
  const store = join(folder, 'world.sqlite')
  truncateSync(store, 100_000)
  for (const mark of [loadingMark(store), fillingMark(folder)]) writeFileSync(mark, '')
  const second = await start()
  await remember(second)
  assert.equal(existsSync(loadingMark(store)), false)
  await second.close()
})

test('a first start with a refused seed leaves a folder that the next start fills', async () => {
  await assert.rejects(start({ seed: { text: 'vmz: 3\n' } }), /vmz/)
  const app = await start()
  await remember(app)
  await app.close()
})

test('a start reports a lost master key, and a running service does not create a new one for another world', async () => {
  const first = await start()
  const key = join(folder, 'master.key')
  const content = readFileSync(key)
  rmSync(key)
  const made = await first.call('POST', worlds, { body: { name: 'late', preset: 'empty' } })
  assert.equal(made.status, 503)
  assert.match(made.errors[0]?.message ?? '', /master key .+ is missing: put it back/)
  assert.equal(existsSync(key), false)
  await first.close()
  await assert.rejects(start(), refusedWith(/master key .+ is missing: put it back/))
  writeFileSync(key, content)
  await (await start()).close()
})

test('a master key that is lost together with the store is not recreated', async () => {
  await (await start()).close()
  for (const name of ['master.key', 'world.sqlite']) rmSync(join(folder, name))
  await assert.rejects(start(), refusedWith(/world\.sqlite is missing/))
  assert.equal(existsSync(join(folder, 'master.key')), false)
})
