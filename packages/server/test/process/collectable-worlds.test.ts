/** A removed world must be collectable; this process can run the garbage collector on demand. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { compiledSources } from '../support/compiled.ts'

const support = new URL('../support/', import.meta.url)
const program = `
  const { startApp } = await import(${JSON.stringify(new URL('start-app.ts', support).href)})
  const removals = Promise.withResolvers()
  const app = await startApp({ config: { seed: 'empty' }, worldsGone: removals.resolve })
  const worlds = '/control/v1/worlds'
  const parts = []
  async function used(name) {
    await app.call('POST', worlds, { body: { name, preset: 'empty' } })
    await app.call('POST', '/platform/v4.3/config/categories', { world: name, body: { key: 'k', value: 'v' } })
    await app.call('GET', worlds + '/' + name + '/journal')
    const world = app.worlds.get(name)
    const { store, runner, clock, world: simulated, dispatch } = world.current
    for (const [part, held] of Object.entries({ world, instance: world.current, store, runner, clock, simulated, dispatch }))
      parts.push([name + ' ' + part, new WeakRef(held)])
  }
  const names = ['one', 'two', 'three']
  for (const name of names) await used(name)
  await app.call('POST', worlds + '/two/$actions/reset')
  for (const name of names) await app.call('DELETE', worlds + '/' + name)
  await removals.promise
  for (let pass = 0; pass < 3; pass++) {
    await new Promise(setImmediate)
    await gc({ type: 'major', execution: 'async', flavor: 'last-resort' })
  }
  const held = parts.filter(([, part]) => part.deref() !== undefined).map(([name]) => name)
  console.log(JSON.stringify({ parts: parts.length, held }))
  await app.close()
`

test('nothing references a removed world: not the process, the control interface, the journal or a timer', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--expose-gc', '--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program],
    { env: { ...process.env, ...compiledSources } },
  )
  assert.deepEqual(JSON.parse(stdout), { parts: 21, held: [] })
})
