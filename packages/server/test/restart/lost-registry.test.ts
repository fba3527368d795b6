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

test('a world whose making ended with the process leaves no folder, and its name is free', async () => {
  mkdirSync(at('half'), { recursive: true })
  writeFileSync(at('half', '.unlisted'), '')
  writeFileSync(at('half', 'world.sqlite'), 'half of a store')
  const app = await start()
  assert.equal(existsSync(at('half')), false)
  await aWorld(app, 'half')
  await app.close()
})

test('worlds outlive the loss of their registry: nobody takes their folders, and with the registry they are there again', async () => {
  const first = await start()
  await aWorld(first, 'precious')
  ok(await first.call('POST', categories, { world: 'precious', body: { key: 'kept', value: 'x' } }), 201)
  await first.close()
  const registry = ['', '-wal', '-shm'].map((suffix) => join(folder, `worlds.sqlite${suffix}`)).filter(existsSync)
  for (const file of registry) renameSync(file, `${file}.lost`)

  const second = await start()
  assert.equal((await second.call('GET', worlds)).total, 1, 'default alone')
  const taken = await second.call('POST', worlds, { body: { name: 'precious', preset: 'empty' } })
  assert.equal(verdict(taken), '409 PLAT-10009')
  assert.match(
    taken.errors[0]?.message ?? '',
    /worlds.precious holds what this service knows no world of: move it away/,
  )
  await second.close()

  for (const suffix of ['', '-wal', '-shm']) rmSync(join(folder, `worlds.sqlite${suffix}`), { force: true })
  for (const file of registry) renameSync(`${file}.lost`, file)
  const third = await start()
  assert.equal((await third.call('GET', `${categories}?$filter=key eq 'kept'`, { world: 'precious' })).total, 1)
  await third.close()
})
