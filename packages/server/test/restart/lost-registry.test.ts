/** What a start makes of folders that the registry of worlds does not list: half-made ones go, all others stay. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ok, verdict } from '../api/iam/people.ts'
import { startApp } from '../support/start-app.ts'
import { aWorld, worlds } from '../support/worlds.ts'

const categories = '/platform/v4.3/config/categories'

let folder: string
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hyperplane-lost-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

const start = () => startApp({ folder, config: { seed: 'empty' }, logLevel: 'silent' })
const at = (...path: string[]): string => join(folder, 'worlds', ...path)

test('a world whose creation was killed leaves no folder, and its name is free', async () => {
  await (await start()).close()
  mkdirSync(at('half'), { recursive: true })
  writeFileSync(at('half', '.unlisted'), '')
  writeFileSync(at('half', 'world.sqlite'), 'half of a store')
  const app = await start()
  assert.equal(existsSync(at('half')), false)
  await aWorld(app, 'half')
  await app.close()
})

test('a start without the registry of worlds is refused while their folders are there; with it they answer again', async () => {
  const first = await start()
  await aWorld(first, 'precious')
  ok(await first.call('POST', categories, { world: 'precious', body: { key: 'kept', value: 'x' } }), 201)
  await first.close()
  const registry = ['', '-wal', '-shm'].map((suffix) => join(folder, `worlds.sqlite${suffix}`)).filter(existsSync)
  for (const file of registry) renameSync(file, `${file}.lost`)

  const refusal =
    /worlds\.sqlite is (missing|empty), and .+worlds holds the worlds half, precious: put the registry back, or move/
  await assert.rejects(start(), refusal)
  writeFileSync(join(folder, 'worlds.sqlite'), '')
  await assert.rejects(start(), refusal)
  assert.ok(existsSync(at('precious', 'world.sqlite')))

  for (const suffix of ['', '-wal', '-shm']) rmSync(join(folder, `worlds.sqlite${suffix}`), { force: true })
  for (const file of registry) renameSync(`${file}.lost`, file)
  const third = await start()
  assert.equal((await third.call('GET', `${categories}?$filter=key eq 'kept'`, { world: 'precious' })).total, 1)
  await third.close()
})

test('a folder that the registry does not list is not changed, and no new world can have its name', async () => {
  mkdirSync(at('stranger'), { recursive: true })
  writeFileSync(at('stranger', 'world.sqlite'), 'a store of somebody')
  const app = await start()
  const taken = await app.call('POST', worlds, { body: { name: 'stranger', preset: 'empty' } })
  assert.equal(verdict(taken), '409 PLAT-10009')
  assert.match(
    taken.errors[0]?.message ?? '',
    /worlds.stranger exists, but this service knows no world in it: move it away/,
  )
  await app.close()
})
