/** Worlds over the control interface, for tests. */
import assert from 'node:assert/strict'
import type { CallResult, TestApp } from './start-app.ts'

export const worlds = '/control/v1/worlds'

/** The same app with its calls redirected to this world, for helpers that take one app. */
export const inside = (app: TestApp, world: string): TestApp => {
  const call: TestApp['call'] = (method, path, options) => app.call(method, path, { world, ...options })
  return Object.assign(Object.create(app), { call })
}

/** Creates a world; default preset `empty`. */
export async function aWorld(app: TestApp, name: string, more: object = {}): Promise<CallResult> {
  const made = await app.call('POST', worlds, { body: { name, preset: 'empty', ...more } })
  assert.equal(made.status, 201, JSON.stringify(made.errors))
  return made
}
